import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import WebSocket from "ws";

/** A connection as a client holds it. */
export interface StreamSocket {
  readonly socket: WebSocket;
  readonly send: (message: unknown) => void;
  /** The next message that is so, also one that came before; those that are not are left out. */
  // biome-ignore lint/suspicious/noExplicitAny: messages are checked by the assertions, not by the compiler.
  readonly next: (isWanted: (message: any) => boolean) => Promise<any>;
  /** How many messages came so far. */
  readonly count: () => number;
  readonly close: () => Promise<void>;
}

/** Opens a connection, with a ticket in the address or a token in the header. */
export async function openStream(url: string, token?: string): Promise<StreamSocket> {
  const socket = new WebSocket(url, "brokerage.v2+json", headersOf(token));
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  const received: any[] = [];
  let count = 0;
  socket.on("message", (data) => {
    count += 1;
    received.push(JSON.parse(String(data)));
  });
  const ended = new AbortController();
  socket.on("close", (code) => ended.abort(new Error(`The connection was closed with ${code}.`)));
  await once(socket, "open");
  return {
    socket,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    next: async (isWanted) => {
      for (;;) {
        while (received.length > 0) {
          const message = received.shift();
          if (isWanted(message)) return message;
        }
        await once(socket, "message", { signal: AbortSignal.any([ended.signal, AbortSignal.timeout(30_000)]) });
      }
    },
    count: () => count,
    close: async () => {
      if (socket.readyState === WebSocket.CLOSED) return;
      const closed = once(socket, "close");
      socket.close();
      await closed;
    },
  };
}

/** The status of a handshake; 101 where it opens a connection, which is closed at once. */
export async function handshakeStatus(url: string, token?: string): Promise<number> {
  const socket = new WebSocket(url, headersOf(token));
  const answers = new AbortController();
  const { signal } = answers;
  try {
    return await Promise.race([
      once(socket, "unexpected-response", { signal }).then(([, answer]) => {
        const { statusCode: status = 0 } = (answer as IncomingMessage).resume();
        return status;
      }),
      once(socket, "open", { signal }).then(() => 101),
    ]);
  } finally {
    answers.abort();
    socket.on("error", () => undefined);
    socket.terminate();
  }
}

function headersOf(token: string | undefined) {
  return token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } };
}
