import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One call that a receiver got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
}

/** A customer's receiver of webhooks. */
export interface Receiver {
  readonly url: string;
  /** Calls in order of arrival. */
  readonly received: Received[];
  /** The most calls that were open at the same time. */
  mostAtOnce: number;
  /** How a call is answered; 200 at once when it is not set. */
  answer: (call: Received, reply: ServerResponse) => void | Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Starts one on a free port of the loopback. */
export async function startReceiver(): Promise<Receiver> {
  let open = 0;
  const server = createServer(async (incoming, reply) => {
    open += 1;
    receiver.mostAtOnce = Math.max(receiver.mostAtOnce, open);
    reply.once("close", () => {
      open -= 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const call = { path: incoming.url ?? "", headers: incoming.headers, body, atMs: Date.now() };
    receiver.received.push(call);
    await receiver.answer(call, reply);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    mostAtOnce: 0,
    answer: (_, reply) => {
      reply.end("thanks");
    },
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return receiver;
}

/** Answers with a status and headers. */
export function answerWith(status: number, headers: Record<string, string> = {}) {
  return (_: Received, reply: ServerResponse): void => {
    reply.writeHead(status, headers).end(`status ${status}`);
  };
}
