import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A post of the worker to a connection. */
export interface SeenPost {
  readonly connection_id: string;
  readonly text: string;
  /** By `performance.now()`. */
  readonly at_ms: number;
}

/**
 * Fate of a post: it is taken, there is no such connection, no answer ever comes, the connection of the worker is lost
 * before the client has the message, or after it.
 */
export type PostFate = "taken" | "gone" | "stalled" | "lost" | "answer_lost";

/** Plays the connections of API Gateway's WebSocket API: an address that messages are posted to. */
export interface SocketEndpoint {
  /** Environment of a function that posts here. */
  readonly environment: Readonly<Record<string, string>>;
  /** Asked about every post. */
  fate: (post: SeenPost) => PostFate;
  /** Messages that clients have received since the last time, in order. */
  readonly takePosts: () => SeenPost[];
  /** Connections that were closed. */
  readonly closed: Set<string>;
  readonly stop: () => Promise<void>;
}

/** Starts it on a free port of the loopback. */
export async function startSocketEndpoint(): Promise<SocketEndpoint> {
  const posts: SeenPost[] = [];
  const held = new Set<ServerResponse>();
  const watched = {
    fate: (_post: SeenPost): PostFate => "taken",
    takePosts: () => posts.splice(0),
    closed: new Set<string>(),
  };
  const server = createServer((incoming, outgoing) => {
    void textOf(incoming).then((text) => {
      const connection_id = decodeURIComponent(String(incoming.url?.split("/").at(-1)));
      if (incoming.method === "DELETE") {
        watched.closed.add(connection_id);
        outgoing.writeHead(204).end();
        return;
      }
      const post = { connection_id, text, at_ms: performance.now() };
      const fate = watched.closed.has(connection_id) ? "gone" : watched.fate(post);
      if (fate === "taken" || fate === "answer_lost") posts.push(post);
      if (fate === "taken") outgoing.writeHead(200).end();
      else if (fate === "gone") outgoing.writeHead(410, { "x-amzn-ErrorType": "GoneException" }).end();
      else if (fate === "stalled") held.add(outgoing);
      else outgoing.destroy();
    });
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const STREAM_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stage`;
  const stop = () =>
    new Promise<void>((resolve) => {
      for (const each of held) each.destroy();
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return Object.assign(watched, { environment: { STREAM_ENDPOINT }, stop });
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
