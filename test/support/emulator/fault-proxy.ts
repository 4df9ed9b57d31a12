import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import type { SignedRequest } from "../stack/request-signature.ts";

/** An answer in the place of the service's. */
export interface PlantedResponse {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Act of the proxy on one request: passes it on; cuts the connection instead of passing it on, when the service has
 * answered it, or inside the body of the answer; stays silent; sends the answer byte by byte; ends the connection after
 * it; or answers itself.
 */
export type Fault = "pass" | "cut" | "cut_after" | "cut_in_body" | "silence" | "bytes" | "close" | PlantedResponse;

/** A request as the proxy saw it, with the connection that it came on, counted from 0. */
export interface SeenRequest extends SignedRequest {
  readonly connection: number;
}

/** Faults of requests in their order, those after them pass; or of one whose connection has `served` others. */
type Plan = readonly Fault[] | ((served: number, target: string) => Fault);

/** A server between a client and a service. */
export interface FaultProxy {
  readonly endpoint: string;
  /** Sets what happens to the next requests, and forgets what was seen. */
  readonly begin: (plan: Plan) => void;
  readonly seen: () => readonly SeenRequest[];
  readonly stop: () => Promise<void>;
}

/** Starts a proxy on 127.0.0.1 in front of `target`; with a key and a certificate it speaks TLS. */
export async function startFaultProxy(target: string, tls?: { key: string; cert: string }): Promise<FaultProxy> {
  let plan: Plan = [];
  let seen: SeenRequest[] = [];
  const connections: Socket[] = [];
  const servedOn = new WeakMap<Socket, number>();
  const take = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    if (!connections.includes(incoming.socket)) connections.push(incoming.socket);
    const connection = connections.indexOf(incoming.socket);
    const served = servedOn.get(incoming.socket) ?? 0;
    servedOn.set(incoming.socket, served + 1);
    const fault =
      (typeof plan === "function" ? plan(served, String(incoming.headers["x-amz-target"])) : plan[seen.length]) ??
      "pass";
    const body: Buffer[] = [];
    const place = seen.push({
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      headers: incoming.headers as Record<string, string>,
      get body() {
        return Buffer.concat(body);
      },
      connection,
    });
    for await (const chunk of incoming) body.push(chunk as Buffer);
    const request = seen[place - 1];
    if (fault === "cut") incoming.socket.destroy();
    else if (fault === "silence" || request === undefined) return;
    else if (typeof fault === "object") answer(outgoing, fault);
    else deliver(outgoing, fault, await forwarded(target, request));
  };
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    take(incoming, outgoing).catch(() => outgoing.destroy());
  };
  const server = tls === undefined ? createServer(handle) : createSecureServer(tls, handle);
  // A connection that this server closed while idle would look like a fault.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    endpoint: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    begin: (next) => {
      plan = next;
      seen = [];
      connections.length = 0;
    },
    seen: () => seen,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(outgoing: ServerResponse, { status, body, headers }: PlantedResponse): void {
  outgoing.writeHead(status, {
    "content-type": "application/x-amz-json-1.0",
    "x-amzn-requestid": "planted",
    ...headers,
  });
  outgoing.end(body);
}

function deliver(outgoing: ServerResponse, how: Fault, { status, body, headers }: Forwarded): void {
  if (how === "cut_after") {
    outgoing.destroy();
    return;
  }
  const kept = { "content-type": headers["content-type"] ?? "", "x-amzn-requestid": "passed" };
  if (how === "cut_in_body") {
    outgoing.writeHead(status, { ...kept, "content-length": body.length });
    outgoing.write(body.subarray(0, Math.floor(body.length / 2)), () => outgoing.socket?.destroy());
    return;
  }
  outgoing.writeHead(status, { ...kept, ...(how === "close" && { connection: "close" }) });
  if (how === "bytes") for (const byte of body) outgoing.write(Buffer.from([byte]));
  else outgoing.write(body);
  outgoing.end();
}

interface Forwarded {
  readonly status: number;
  readonly body: Buffer;
  readonly headers: IncomingMessage["headers"];
}

function forwarded(target: string, { method, path, headers, body }: SeenRequest): Promise<Forwarded> {
  return new Promise((resolve, reject) => {
    const { host: _host, connection: _connection, ...kept } = headers;
    const outgoing = request(new URL(path, target), { method, headers: kept }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.once("error", reject);
      incoming.once("end", () => {
        resolve({ status: incoming.statusCode ?? 500, body: Buffer.concat(chunks), headers: incoming.headers });
      });
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}
