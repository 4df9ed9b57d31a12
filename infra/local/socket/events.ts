import { commonLogTime } from "../gateway/context.ts";
import { type Exchange, type HeaderList, lastValue, newExtendedRequestId, newRequestId } from "../gateway/exchange.ts";
import { eventHeaders, multiValues, singleValues } from "../gateway/proxy-event.ts";
import type { SocketModel } from "./model.ts";

/** Facts in every event of a connection. */
export interface ConnectionFacts {
  readonly id: string;
  /** The request that opens it. */
  readonly handshake: Exchange;
  readonly connected_ms: number;
  /** Answer of the authorizer: every event of the connection has it. */
  authorizer?: Readonly<Record<string, string | number>>;
}

/** The ids of one event, which its answer repeats. */
interface Occasion {
  readonly routeKey: string;
  readonly eventType: "CONNECT" | "MESSAGE" | "DISCONNECT";
  readonly nowMs: number;
}

type Event = Record<string, unknown>;

function requestContext(
  model: SocketModel,
  { id, handshake, connected_ms, authorizer }: ConnectionFacts,
  { routeKey, eventType, nowMs }: Occasion,
): Record<string, unknown> {
  return {
    routeKey,
    ...(authorizer !== undefined && { authorizer }),
    eventType,
    extendedRequestId: newExtendedRequestId(),
    requestTime: commonLogTime(nowMs),
    messageDirection: "IN",
    stage: model.stage,
    connectedAt: connected_ms,
    requestTimeEpoch: nowMs,
    identity: {
      sourceIp: handshake.source_ip,
      userAgent: lastValue(handshake.headers, "user-agent") ?? null,
    },
    requestId: newRequestId(),
    domainName: lastValue(handshake.headers, "host") ?? "",
    connectionId: id,
    apiId: model.api_id,
  };
}

/** Absent where the client sent no query, as API Gateway leaves it out. */
function queryOf(query: HeaderList): Event {
  if (query.length === 0) return {};
  return { queryStringParameters: singleValues(query), multiValueQueryStringParameters: multiValues(query) };
}

function headersOf(handshake: Exchange): Event {
  const headers = eventHeaders(handshake);
  return { headers: singleValues(headers), multiValueHeaders: multiValues(headers) };
}

/** The event of the authorizer of `$connect`. */
export function authorizeEvent(model: SocketModel, facts: ConnectionFacts, methodArn: string): Event {
  const occasion = { routeKey: "$connect", eventType: "CONNECT", nowMs: facts.connected_ms } as const;
  return {
    type: "REQUEST",
    methodArn,
    ...headersOf(facts.handshake),
    queryStringParameters: singleValues(facts.handshake.query),
    multiValueQueryStringParameters: multiValues(facts.handshake.query),
    stageVariables: {},
    requestContext: requestContext(model, facts, occasion),
  };
}

/** The event of the route `$connect`, the only one with the query and the headers of the handshake. */
export function connectEvent(model: SocketModel, facts: ConnectionFacts): Event {
  const occasion = { routeKey: "$connect", eventType: "CONNECT", nowMs: facts.connected_ms } as const;
  return {
    ...headersOf(facts.handshake),
    ...queryOf(facts.handshake.query),
    requestContext: requestContext(model, facts, occasion),
    isBase64Encoded: false,
  };
}

/** The event of a message. */
export function messageEvent(
  model: SocketModel,
  facts: ConnectionFacts,
  message: { readonly routeKey: string; readonly body: string; readonly nowMs: number },
): Event {
  const { routeKey, body, nowMs } = message;
  const context = requestContext(model, facts, { routeKey, eventType: "MESSAGE", nowMs });
  return { requestContext: { ...context, messageId: newExtendedRequestId() }, body, isBase64Encoded: false };
}

/** The event of the route `$disconnect`. */
export function disconnectEvent(
  model: SocketModel,
  facts: ConnectionFacts,
  end: { readonly code: number; readonly reason: string; readonly nowMs: number },
): Event {
  const { code, reason, nowMs } = end;
  const host = lastValue(facts.handshake.headers, "host") ?? "";
  const headers = { Host: host, "x-api-key": "", "X-Forwarded-For": "", "x-restapi": "" };
  const context = requestContext(model, facts, { routeKey: "$disconnect", eventType: "DISCONNECT", nowMs });
  return {
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    requestContext: { ...context, disconnectStatusCode: code, disconnectReason: reason },
    isBase64Encoded: false,
  };
}
