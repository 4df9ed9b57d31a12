import { once } from "node:events";
import { connect, type Socket } from "node:net";
import WebSocket from "ws";
import { readSocketModel } from "../../../infra/local/socket/model.ts";
import { LocalSockets } from "../../../infra/local/socket/server.ts";
import type { Event, TestHost } from "../gateway/support.ts";

const account = "111122223333";

function uriOf(name: string): string {
  const arn = `arn:aws:lambda:eu-central-1:${account}:function:${name}`;
  return `arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/${arn}/invocations`;
}

/** A resource of a hand-written WebSocket API. */
export function socketResource(id: string, kind: string, properties: Record<string, unknown> = {}) {
  return { path: `stack/${id}`, type: `AWS::ApiGatewayV2::${kind}`, physical_id: id, properties };
}

function route(key: string, name: string, more: Record<string, unknown> = {}) {
  const role = `arn:aws:iam::${account}:role/invoker`;
  return [
    socketResource(`${name}-integration`, "Integration", {
      ...{ ApiId: "socket", IntegrationType: "AWS_PROXY", IntegrationUri: uriOf(name), CredentialsArn: role },
    }),
    socketResource(`${name}-route`, "Route", {
      ...{ ApiId: "socket", RouteKey: key, Target: `integrations/${name}-integration`, AuthorizationType: "NONE" },
      ...more,
    }),
  ];
}

/** A WebSocket API of stage v2 whose functions are `authorize`, `connect`, `disconnect` and `message`. */
export function socketApi({ stage = {}, authorizer = {} }: Record<string, Record<string, unknown>> = {}) {
  return [
    socketResource("socket", "Api", { ProtocolType: "WEBSOCKET", RouteSelectionExpression: "$request.body.type" }),
    socketResource("v2", "Stage", { ApiId: "socket", StageName: "v2", AutoDeploy: true, ...stage }),
    socketResource("authorizer", "Authorizer", {
      ...{ ApiId: "socket", Name: "stream", AuthorizerType: "REQUEST", AuthorizerUri: uriOf("authorize") },
      ...{ AuthorizerCredentialsArn: `arn:aws:iam::${account}:role/invoker`, IdentitySource: [], ...authorizer },
    }),
    ...route("$connect", "connect", { AuthorizationType: "CUSTOM", AuthorizerId: "authorizer" }),
    ...route("$disconnect", "disconnect"),
    ...route("$default", "message"),
  ];
}

/** Answer of an authorizer that lets a client connect. */
export function allowed(context: Record<string, unknown> = {}) {
  const Statement = [{ Action: "execute-api:Invoke", Effect: "Allow", Resource: "*" }];
  return { principalId: "app_1", policyDocument: { Version: "2012-10-17", Statement }, context };
}

/** A host whose functions let everybody connect. */
export const open = { authorize: () => allowed(), connect: () => ({ statusCode: 200 }), disconnect: () => ({}) };

/** Starts a WebSocket API, lets the test use it, and stops it whatever happens. */
export async function withSockets(
  host: TestHost,
  use: (sockets: LocalSockets, log: readonly string[]) => Promise<void>,
  { resources = socketApi(), timeScale = 1 } = {},
): Promise<void> {
  const log: string[] = [];
  const model = readSocketModel(resources);
  if (model === undefined) throw new Error("There is no WebSocket API.");
  const sockets = new LocalSockets({ model, host, timeScale, log: (line) => log.push(line) });
  await sockets.start(0);
  try {
    await use(sockets, log);
  } finally {
    await sockets.stop();
  }
}

/** A client that keeps what it received. */
export interface Client {
  readonly socket: WebSocket;
  readonly received: string[];
  /** Resolves with the next message that was not asked for yet. */
  next(): Promise<string>;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Connects; rejects with an error whose message holds the status when the handshake is refused. */
export async function client(url: string, protocols: string[] = [], headers: Record<string, string> = {}) {
  const socket = new WebSocket(url, protocols, { headers });
  const received: string[] = [];
  const waiting: ((text: string) => void)[] = [];
  let asked = 0;
  socket.on("message", (data) => {
    received.push(String(data));
    waiting.shift()?.(String(data));
  });
  const closed = once(socket, "close").then(([code, reason]) => ({ code: Number(code), reason: String(reason) }));
  closed.catch(() => undefined);
  await once(socket, "open");
  const next = (): Promise<string> => {
    const ready = received[asked];
    asked += 1;
    return ready === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(ready);
  };
  return { socket, received, next, closed } satisfies Client;
}

/** Status and body of a refused handshake. */
export function refusal(url: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  const socket = new WebSocket(url, { headers });
  return new Promise((resolve, reject) => {
    socket.on("error", () => undefined);
    socket.on("open", () => reject(new Error("The handshake was not refused.")));
    socket.on("unexpected-response", (_, response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => (body += chunk.toString()));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
  });
}

/** The functions' events, once there are so many of them. */
export async function eventsSoon(host: TestHost, name: string, count: number): Promise<Event[]> {
  for (;;) {
    const events = host.events.get(name) ?? [];
    if (events.length >= count) return events;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The id that the API gave a connection. */
export function idOf(event: Event | undefined): string {
  return String(event?.requestContext["connectionId"]);
}

/** A connection by hand, to send bytes that no library would. `ended`: everything that came, once it is closed. */
export interface RawClient {
  readonly socket: Socket;
  readonly ended: Promise<Buffer>;
}

/** Sends a handshake and waits for nothing. */
export function rawHandshake(url: string): RawClient {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  const ended = once(socket, "close").then(() => Buffer.concat(chunks));
  const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${key}\r\n`);
  return { socket, ended };
}

/** The same, once the connection is open. */
export async function rawClient(url: string): Promise<RawClient> {
  const raw = rawHandshake(url);
  await once(raw.socket, "data");
  return raw;
}

/** The code of the close frame at the end of what a server sent. */
export function closeCode(bytes: Buffer): number | undefined {
  const at = bytes.lastIndexOf(0x88);
  return at < 0 ? undefined : bytes.readUInt16BE(at + 2);
}
