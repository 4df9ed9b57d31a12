import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it passes the proxy. */
export interface PassedRequest {
  readonly method: string;
  /** Path with its query, below the address of the target. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer as it passes the proxy; names of headers are in lower case. */
export interface PassedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Fault of a deployment: it changes a request before it is answered, or the answer. */
export interface Fault {
  readonly request?: (request: PassedRequest) => Partial<PassedRequest>;
  readonly reply?: (reply: PassedReply, request: PassedRequest) => Partial<PassedReply>;
}

/** A server in front of another one that answers as it does, apart from the fault that is planted. */
export interface FaultProxy {
  readonly url: string;
  /** Plants a fault in the place of the one before; undefined takes it away. */
  plant(fault: Fault | undefined): void;
  stop(): Promise<void>;
}

/** Headers that are about one connection, or that the proxy's own server writes. */
const notPassed = ["connection", "keep-alive", "transfer-encoding", "content-length", "host"];

function passed(headers: IncomingHttpHeaders): Record<string, string> {
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  return Object.fromEntries(texts.filter(([name]) => !notPassed.includes(name)));
}

interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Sends a request on, and returns the answer with the bytes and the content coding that it has. */
function forward(target: string, { method, path, headers, body }: PassedRequest): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const sent = request(target + path, { method, headers: passed(headers) }, (reply) => {
      const { statusCode: status = 0, headers: answered } = reply;
      bytesOf(reply).then((bytes) => resolve({ status, headers: passed(answered), body: bytes }), reject);
    });
    sent.on("error", reject).end(body);
  });
}

/** Answers a request as the target does, apart from a fault. An answer that is changed is asked for as plain text. */
async function answer(target: string, sent: PassedRequest, fault: Fault | undefined): Promise<RawReply> {
  const changed = { ...sent, ...fault?.request?.(sent) };
  if (fault?.reply === undefined) return forward(target, changed);
  const plain = { ...changed, headers: { ...changed.headers, "accept-encoding": "identity" } };
  const { body, ...answered } = await forward(target, plain);
  const reply = { ...answered, body: body.toString() };
  const planted = { ...reply, ...fault.reply(reply, changed) };
  return { ...planted, body: Buffer.from(planted.body) };
}

/** Starts a proxy on a free port of the loopback. */
export async function startFaultProxy(target: URL): Promise<FaultProxy> {
  let fault: Fault | undefined;
  const server = createServer(async (incoming, outgoing) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    const body = (await bytesOf(incoming)).toString();
    const reply = await answer(target.origin, { method, path, headers, body }, fault);
    outgoing.writeHead(reply.status, reply.headers).end(reply.body);
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${target.pathname.replace(/\/$/, "")}`,
    plant: (next) => {
      fault = next;
    },
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped());
        server.closeAllConnections();
      }),
  };
}
