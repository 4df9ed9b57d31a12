import { connect, createServer, type Socket } from "node:net";
import { freePort } from "../../../local/free-port.ts";

/** A connection that can be cut: what was under way is lost, and nothing gets through until it is mended. */
export interface FlakyProxy {
  readonly port: number;
  cut(): void;
  mend(): void;
  stop(): void;
}

/** Passes connections on to a port of this machine. */
export async function flakyProxy(target: number): Promise<FlakyProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    socket.on("error", () => other.destroy());
    socket.once("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((from) => {
    if (isCut) return from.destroy();
    const to = connect(target, "127.0.0.1");
    keep(from, to);
    keep(to, from);
    from.pipe(to);
    to.pipe(from);
    return undefined;
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    cut() {
      isCut = true;
      drop();
    },
    mend() {
      isCut = false;
    },
    stop() {
      server.close();
      drop();
    },
  };
}
