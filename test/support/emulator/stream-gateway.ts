import { randomBytes } from "node:crypto";
import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import type { SocketEvent } from "../../../shared/stream/socket-event.ts";
import { type ConnectionEndpoint, startConnectionEndpoint } from "./connection-endpoint.ts";
import type { TestCaller } from "./request.ts";

/** Parts of a client's handshake. */
export interface HandshakeParts {
  readonly authorization?: readonly string[];
  readonly query?: Readonly<Record<string, readonly string[]>>;
  readonly protocols?: readonly string[];
  readonly address?: string;
}

/** The answer of a handshake. */
export interface HandshakeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly connection: StreamClient;
}

/** A connection as its client knows it, with what the gateway keeps of its authorizer. */
export interface StreamClient {
  readonly id: string;
  readonly context: Readonly<Record<string, unknown>>;
}

/** The functions of the stream behind a WebSocket API, called as API Gateway calls them. */
export interface StreamGateway {
  readonly connections: ConnectionEndpoint;
  readonly open: (parts: HandshakeParts) => Promise<HandshakeAnswer>;
  /** A connection of a caller, whom no authorizer has looked at. */
  readonly connect: (caller: TestCaller, id?: string) => Promise<HandshakeAnswer>;
  /** A message of a client; an object is sent as JSON, bytes as a binary frame. */
  readonly send: (client: StreamClient, message: unknown) => Promise<void>;
  /** Messages to a connection since the last time. */
  // biome-ignore lint/suspicious/noExplicitAny: messages are checked by the assertions, not by the compiler.
  readonly received: (client: StreamClient) => any[];
  /** A message whose `type` is the key of a route that is for no messages. */
  readonly sendTo: (route: "$connect" | "$disconnect", client: StreamClient) => Promise<void>;
  readonly disconnect: (client: StreamClient) => Promise<void>;
  readonly sweep: () => Promise<Record<string, number>>;
  readonly stop: () => Promise<void>;
}

/** An identifier such as API Gateway assigns to connections. */
export function newConnectionId(): string {
  return `${randomBytes(11).toString("base64url")}=`;
}

/** Starts it; `startApi` has set the environment before. */
export async function startStreamGateway(): Promise<StreamGateway> {
  const connections = await startConnectionEndpoint();
  process.env["STREAM_ENDPOINT"] = connections.endpoint;
  const { handler: authorize } = await import("../../../functions/stream/authorize.ts");
  const { handler: onConnect } = await import("../../../functions/stream/connect.ts");
  const { handler: onMessage } = await import("../../../functions/stream/message.ts");
  const { handler: onDisconnect } = await import("../../../functions/stream/disconnect.ts");
  const { handler: onSweep } = await import("../../../functions/stream/sweep.ts");

  const opened = async (client: StreamClient, protocols: readonly string[] = []): Promise<HandshakeAnswer> => {
    const { statusCode: status, headers = {} } = await onConnect(
      socketEvent(client, "CONNECT", { "Sec-WebSocket-Protocol": protocols }),
    );
    return { status, headers, connection: client };
  };
  const open: StreamGateway["open"] = async (parts) => {
    const id = newConnectionId();
    const refused = (status: number) => ({ status, headers: {}, connection: { id, context: {} } });
    let answer: APIGatewayAuthorizerResult;
    try {
      answer = await authorize(handshakeEvent(id, parts));
    } catch (error) {
      return refused((error as Error).message === "Unauthorized" ? 401 : 500);
    }
    const [statement] = answer.policyDocument.Statement;
    if (statement?.Effect !== "Allow") return refused(403);
    return opened({ id, context: { ...answer.context, principalId: answer.principalId } }, parts.protocols);
  };
  let kept: ReturnType<ConnectionEndpoint["takeCalls"]> = [];
  return {
    connections,
    open,
    connect: (caller, id = newConnectionId()) => opened({ id, context: contextOf(caller) }),
    send: async (client, message) => {
      const isBinary = Buffer.isBuffer(message);
      const body = isBinary
        ? message.toString("base64")
        : typeof message === "string"
          ? message
          : JSON.stringify(message);
      await onMessage({ ...socketEvent(client, "MESSAGE"), body, isBase64Encoded: isBinary });
    },
    sendTo: async (route, client) => {
      const onRoute = route === "$connect" ? onConnect : onDisconnect;
      await onRoute({ ...socketEvent(client, "MESSAGE"), body: JSON.stringify({ type: route }) });
    },
    received: ({ id }) => {
      kept.push(...connections.takeCalls());
      const own = kept.filter((call) => call.connection_id === id);
      kept = kept.filter((call) => call.connection_id !== id);
      return own.map(({ method, message }) => (method === "DELETE" ? "closed" : message));
    },
    disconnect: async (client) => {
      await onDisconnect(socketEvent(client, "DISCONNECT"));
    },
    sweep: () => onSweep({}, { getRemainingTimeInMillis: () => 60_000 } as never),
    stop: connections.stop,
  };
}

function socketEvent(
  { id, context }: StreamClient,
  eventType: "CONNECT" | "MESSAGE" | "DISCONNECT",
  headers: Readonly<Record<string, readonly string[]>> = {},
) {
  const event: SocketEvent = {
    multiValueHeaders: headers,
    isBase64Encoded: false,
    requestContext: { connectionId: id, eventType, authorizer: context },
  };
  return event;
}

function contextOf({ tenant_id, application_id, client_id, scopes, operator }: TestCaller) {
  const actor = operator ?? { id: application_id, name: "Test" };
  return {
    ...{ tenant_id, client_id, actor_type: operator === undefined ? "application" : "operator" },
    ...{ actor_id: actor.id, actor_name: actor.name, scopes: scopes.join(" "), allowed_ips: "" },
  };
}

function handshakeEvent(id: string, { authorization = [], query = {}, address = "198.51.100.7" }: HandshakeParts) {
  const isEmpty = Object.keys(query).length === 0;
  const last = Object.fromEntries(Object.entries(query).map(([name, values]) => [name, values.at(-1)]));
  const event = {
    type: "REQUEST",
    methodArn: "arn:aws:execute-api:eu-west-1:000000000000:abcdef/v2/$connect",
    headers: Object.fromEntries(authorization.map((value) => ["Authorization", value])),
    multiValueHeaders: authorization.length === 0 ? {} : { Authorization: authorization },
    queryStringParameters: isEmpty ? null : last,
    multiValueQueryStringParameters: isEmpty ? null : query,
    stageVariables: null,
    requestContext: {
      ...{ routeKey: "$connect", eventType: "CONNECT", connectionId: id, requestId: newConnectionId() },
      identity: { sourceIp: address },
    },
  };
  return event as unknown as APIGatewayRequestAuthorizerEvent;
}
