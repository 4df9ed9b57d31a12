import { connect, createServer, type Server, type Socket } from "node:net";

/** A message of HTTP/1.1 whose head says how long its body is. */
export interface Message {
  /** The start line and the headers, without the empty line. */
  readonly head: string;
  readonly body: Buffer;
  /** The whole message, as it came. */
  readonly bytes: Buffer;
}

/** Fate of a message: the one to send on in its place, or an answer without the server. */
export type Forwarded = { readonly on: string } | { readonly back: string };

/** Acts of a passage on the messages of a connection, one after the other. */
export interface Passing {
  /** A request that came. */
  readonly request: (request: Message) => Promise<Forwarded>;
  /** The answer to the last request; returns false when it is lost on its way. */
  readonly answer: (answer: Message) => boolean;
}

/** A way to a server on which messages are seen. */
export interface Passage {
  readonly endpoint: string;
  readonly stop: () => Promise<void>;
}

/**
 * Serves a way to an HTTP server on 127.0.0.1. Each connection has one of its own to the server and takes one request
 * at a time, whose head has a `Content-Length`, as clients of AWS send them: such messages are passed on as the bytes
 * that they are, which takes less than half of the time of a server and a client of Node. No idle connection is closed.
 */
export async function servePassage(target: string, passing: () => Passing): Promise<Passage> {
  const port = Number(new URL(target).port);
  const open = new Set<Socket>();
  const server: Server = createServer({ noDelay: true }, (client) => {
    const service = connect({ port, host: "127.0.0.1", noDelay: true });
    for (const socket of [client, service]) {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    }
    pass(client, service, passing());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

function pass(client: Socket, service: Socket, { request, answer }: Passing): void {
  let isWaiting = false;
  const send = (forwarded: Forwarded): void => {
    if ("on" in forwarded) return void service.write(forwarded.on);
    isWaiting = false;
    client.write(forwarded.back);
  };
  const fail = (): void => {
    client.destroy();
    service.destroy();
  };
  onMessage(client, fail, (message) => {
    isWaiting = true;
    request(message).then(send, fail);
  });
  onMessage(service, fail, (message) => {
    isWaiting = false;
    if (answer(message) && !client.destroyed) client.write(message.bytes);
    else fail();
  });
  service.once("close", () => client.destroy());
  // A request that its client no longer waits for is done all the same, as by the service.
  client.once("close", () => (isWaiting ? undefined : service.destroy()));
}

/** Hands over each message that comes; calls `fail` for one that cannot be read, and for an error of the socket. */
function onMessage(socket: Socket, fail: () => void, take: (message: Message) => void): void {
  let chunks: Buffer[] = [];
  let size = 0;
  let needed = 0;
  let headEnd = 0;
  socket.on("error", fail);
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    while (size > 0 && size >= needed) {
      const [first = chunk] = chunks;
      const all = chunks.length === 1 ? first : Buffer.concat(chunks);
      chunks = [all];
      if (needed === 0) {
        headEnd = all.indexOf("\r\n\r\n");
        if (headEnd < 0) return;
        const [, length] = /^content-length: *(\d+)\r?$/im.exec(all.toString("latin1", 0, headEnd)) ?? [];
        if (length === undefined) return fail();
        needed = headEnd + 4 + Number(length);
        continue;
      }
      const bytes = all.subarray(0, needed);
      chunks = size > needed ? [all.subarray(needed)] : [];
      size -= needed;
      needed = 0;
      take({ head: bytes.toString("latin1", 0, headEnd), body: bytes.subarray(headEnd + 4), bytes });
    }
  });
}
