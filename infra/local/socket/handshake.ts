import type { IncomingMessage } from "node:http";
import { type Grant, grantOf, judge } from "../gateway/authorizer.ts";
import { allValues, type Exchange, lastValue } from "../gateway/exchange.ts";
import { Fault, FrontFault } from "../gateway/fault.ts";
import { type InvokingHost, invokeWithin } from "../gateway/host.ts";
import { checkHeaderSize, checkStage, headerList, newExchange, readTarget } from "../gateway/request.ts";
import { isRecord } from "../template/intrinsics.ts";
import { authorizeEvent, type ConnectionFacts, connectEvent } from "./events.ts";
import type { SocketModel } from "./model.ts";

const authorizerTimeoutMs = 29_000;

/** A handshake that is refused: what the client gets instead of a connection. */
export class Refusal extends Error {
  readonly status: number;
  /** Why, for the log; the client never sees it. */
  readonly reason: string;

  constructor(status: number, message: string, reason: string = message) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/**
 * Reads the request that opens a connection. Throws a Refusal for one that is no handshake (RFC 6455 4.2.1), is larger
 * than the gateway takes, or asks for another stage or a path.
 */
export function readHandshake(message: IncomingMessage, { stage }: SocketModel, nowMs: number): Exchange {
  const headers = headerList(message);
  const exchange = tried(() => {
    const target = readTarget(message.url ?? "/");
    checkHeaderSize(headers);
    checkStage(target, stage);
    return newExchange(message, target, Buffer.alloc(0), nowMs);
  });
  if (exchange.path !== "/") throw new Refusal(403, "Forbidden", "a WebSocket API has no paths");
  const key = allValues(headers, "sec-websocket-key");
  const isHandshake =
    message.method === "GET" &&
    lastValue(headers, "upgrade")?.toLowerCase() === "websocket" &&
    lastValue(headers, "sec-websocket-version") === "13" &&
    key.length === 1 &&
    /^[+/0-9A-Za-z]{22}==$/.test(key[0] ?? "");
  if (!isHandshake) throw new Refusal(400, "Bad Request", "no handshake of WebSocket version 13");
  return exchange;
}

/** Turns refusals of the front of the service into a Refusal. */
function tried<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FrontFault) throw new Refusal(cause.status, cause.message);
    throw cause;
  }
}

/** Lets the authorizer judge a handshake; its words are part of every event of the connection. Throws a Refusal. */
export async function authorize(host: InvokingHost, model: SocketModel, facts: ConnectionFacts): Promise<void> {
  const { authorizer } = model;
  if (authorizer === undefined) return;
  const { headers, query } = facts.handshake;
  const missing = authorizer.identity_sources.find(({ place, name }) => {
    const value = place === "header" ? lastValue(headers, name) : query.findLast(([key]) => key === name)?.[1];
    return (value ?? "") === "";
  });
  if (missing !== undefined) throw new Refusal(401, "Unauthorized", `${missing.name} is missing`);
  const { partition, region, account_id, api_id, stage } = model;
  const methodArn = `arn:${partition}:execute-api:${region}:${account_id}:${api_id}/${stage}/$connect`;
  const event = authorizeEvent(model, facts, methodArn);
  const startedMs = host.now();
  const answer = await invokeWithin(host, authorizer.function_arn, { given: event }, authorizerTimeoutMs).catch(
    (cause: unknown) => {
      throw new Refusal(500, "Internal server error", `the authorizer gave no answer: ${String(cause)}`);
    },
  );
  const grant = judged(answer, methodArn);
  const integrationLatency = host.now() - startedMs;
  facts.authorizer = { ...grant.values, principalId: grant.principal_id, integrationLatency };
}

function judged(answer: { payload: unknown; functionError?: string }, methodArn: string): Grant {
  try {
    const grant = grantOf(answer);
    const verdict = judge(grant, methodArn);
    if (verdict === "allow") return grant;
    throw new Refusal(403, "Forbidden", `the policy of the authorizer: ${verdict}`);
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause;
    const message = cause.status === 401 ? "Unauthorized" : "Internal server error";
    throw new Refusal(cause.status, message, cause.message);
  }
}

/** Runs the route `$connect`; returns the subprotocol that it chose. Throws a Refusal when it refuses. */
export async function connect(
  host: InvokingHost,
  model: SocketModel,
  facts: ConnectionFacts,
): Promise<string | undefined> {
  const integration = model.routes.get("$connect");
  if (integration === undefined) return undefined;
  const { function_arn, timeout_ms } = integration;
  const event = { given: connectEvent(model, facts) };
  const answer = await invokeWithin(host, function_arn, event, timeout_ms).catch((cause: unknown) => {
    throw new Refusal(500, "Internal server error", `$connect gave no answer: ${String(cause)}`);
  });
  const payload = isRecord(answer.payload) ? answer.payload : {};
  const status = payload["statusCode"];
  if (answer.functionError !== undefined || typeof status !== "number") {
    throw new Refusal(502, "Internal server error", `$connect failed: ${JSON.stringify(answer.payload)}`);
  }
  if (status < 200 || status > 299) throw new Refusal(status, status === 429 ? "Too Many Requests" : "Forbidden");
  const headers = Object.entries(isRecord(payload["headers"]) ? payload["headers"] : {});
  const [, protocol] = headers.find(([name]) => name.toLowerCase() === "sec-websocket-protocol") ?? [];
  return typeof protocol === "string" ? protocol : undefined;
}
