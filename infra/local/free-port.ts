import { randomInt } from "node:crypto";
import { connect, createServer, type Server } from "node:net";

/**
 * Ports below those that systems give to connections and to servers that take any port (Linux from 32768 on, others
 * from 49152): one of those may be taken again before the process that it is meant for listens on it.
 */
const ports = { first: 20_000, end: 32_768 };
const maxTries = 100;

/** A port of the loopback that no process listens on, for a process that is started with it. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const port = randomInt(ports.first, ports.end);
    const server = createServer();
    const isFree = await listenOn(server, port).then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
  throw new Error(`No port from ${ports.first} to ${ports.end - 1} is free.`);
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
export async function reachable(port: number, ended: Promise<unknown>, log: string): Promise<void> {
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
