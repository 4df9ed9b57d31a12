import { connect, createServer, type Server } from "node:net";

/** A port of the loopback that no process listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address === "object" && address !== null) return address.port;
  throw new Error("The loopback gave no port.");
}

/** Lets a server listen on a port of the loopback, 0 for any free one; resolves with the port, rejects when taken. */
export function listenOn(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

const limitMs = 15_000;
const betweenMs = 5;

/** Waits until something listens on a port; rejects when the process meant ends before, or after 15 seconds. */
export async function reachable(port: number, ended: Promise<void>, log: string): Promise<void> {
  let over = false;
  const end = ended.then(() => {
    over = true;
  });
  const last = Date.now() + limitMs;
  while (!over && Date.now() < last) {
    if (await connects(port)) return;
    await Promise.race([end, new Promise((resolve) => setTimeout(resolve, betweenMs))]);
  }
  throw new Error(`Nothing listens on port ${port}; ${log} says why.`);
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
