import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { freePort, reachable } from "../free-port.ts";
import { functionNode } from "../functions/function-node.mjs";
import type { Guard, GuardedProcess } from "../guard.ts";

/** The bundled server, while it runs. */
export interface RunningServer {
  readonly endpoint: string;
  readonly process: GuardedProcess;
}

const binary = new URL("../../../node_modules/@dynoxide/linux-x64/dynoxide", import.meta.url).pathname;
/** SQLite takes one request after the other, so a second thread of the server only costs what waking it takes. */
const env = { TOKIO_WORKER_THREADS: "1" } as const;
const streamScript = new URL("stream-records.mjs", import.meta.url).pathname;

/**
 * Starts the bundled server on a database file and a free port of 127.0.0.1. Rejects where there is none for this
 * platform, and where it does not start; its log says why.
 */
export async function startServer(file: string, log: string, guard: Guard): Promise<RunningServer> {
  if (!existsSync(binary)) {
    const why = "there is no bundled DynamoDB server for this platform";
    throw new Error(`${why}: start DynamoDB Local or another one and set DYNAMODB_ENDPOINT to its address.`);
  }
  const port = await freePort();
  const args = ["serve", "--db-path", file, "--port", String(port)];
  const process = await guard.run({ command: binary, args, env, log });
  try {
    await reachable(port, process.ended, log);
    const kept = await holdBlocks(port);
    const stop = (): Promise<void> => {
      for (const socket of kept) socket.destroy();
      return process.stop();
    };
    return { endpoint: `http://127.0.0.1:${port}`, process: { pid: process.pid, ended: process.ended, stop } };
  } catch (error) {
    await process.stop();
    throw error;
  }
}

/** Number of headers that each connection sends: so many have the size of the most frequent requests. */
const heldHeaders = [7, 23, 6] as const;
const connections = { opened: 240, keptEvery: 24 } as const;

/**
 * Workaround: the server's memory allocator gives a block of small objects back to the kernel when the last of them is
 * free, and asks for it again with the next request: 26 page faults for each, more than half of the server's time.
 * Connections whose request is not complete hold an object of such a block each, and what those held that have closed
 * is free for requests, which then take 7.
 */
async function holdBlocks(port: number): Promise<readonly Socket[]> {
  const kept: Socket[] = [];
  for (const headers of heldHeaders) {
    const opened = await Promise.all(Array.from({ length: connections.opened }, () => begun(port, headers)));
    for (const [index, socket] of opened.entries()) {
      if (index % connections.keptEvery === 0) kept.push(socket.unref());
      else socket.destroy();
    }
  }
  return kept;
}

/** A connection whose request the server has begun to read, with so many headers and without its body. */
function begun(port: number, headers: number): Promise<Socket> {
  const lines = ["POST / HTTP/1.1", "host: 127.0.0.1", "content-length: 1", "expect: 100-continue"];
  for (let count = 3; count < headers; count += 1) lines.push(`x-${count}: 0`);
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${lines.join("\r\n")}\r\n\r\n`));
    socket.on("error", reject);
    socket.once("close", () => reject(new Error("The server closed a connection at its start.")));
    socket.once("data", () => resolve(socket));
  });
}

/**
 * Workaround: the server looks for the last number of a stream by reading all its records at every write, and never
 * deletes one. A small program with SQLite adds the missing index and deletes what AWS would have deleted after a day.
 * It needs the SQLite in Node 22.5 and above, which the bundled Node has; without it streams work and grow slow.
 * Rejects when the program fails; the log says why.
 */
export async function keepStreamsFast(file: string, log: string, guard: Guard): Promise<void> {
  const command = functionNode();
  if (command === process.execPath && Number(process.versions.node.split(".")[0]) < 24) return;
  const { ended } = await guard.run({ command, args: ["--no-warnings", streamScript, file], env: {}, log });
  if ((await ended) !== 0) throw new Error(`The index for streams was not added; ${log} says why.`);
}
