import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { type PostResult, WebhookSender } from "../../shared/webhooks/webhook-sender.ts";

export const servers: Server[] = [];

export const sockets = new Set<Socket>();

/** Ends the connections that a test left open. */
export function endConnections(): void {
  for (const socket of sockets) socket.destroy();
}

/** Ends the servers of a file. */
export function endServers(): void {
  for (const server of servers) server.close();
}

/** Listens on a free port of the loopback and remembers its connections, to end them. */
export async function listen(server: Server, host = "127.0.0.1"): Promise<number> {
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, "listening");
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

export const noLookup = async (): Promise<readonly string[]> => {
  throw new Error("No name is asked for here.");
};

export const local = new WebhookSender({ resolve: noLookup, local: true });

export const body = Buffer.from('{"note":"Zoë 😀"}');

export function send(url: string, sender = local, headers: Record<string, string> = {}): Promise<PostResult> {
  return sender.send({ url, headers, body });
}

/** A server of HTTP whose answers are made by the test. */
export async function answering(
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): Promise<string> {
  const server = createHttpServer((incoming, outgoing) => {
    incoming.resume();
    incoming.once("end", () => answer(incoming, outgoing));
  });
  return `http://127.0.0.1:${await listen(server)}`;
}
