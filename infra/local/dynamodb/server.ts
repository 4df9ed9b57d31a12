import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
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
  } catch (error) {
    await process.stop();
    throw error;
  }
  return { endpoint: `http://127.0.0.1:${port}`, process };
}

/**
 * Workaround: the server looks for the last number of a stream by reading all its records at every write, and never
 * deletes one. A small program with SQLite adds the missing index and deletes what AWS would have deleted after a day.
 * It needs the SQLite in Node 22.5 and above, which the bundled Node has; without it streams work and grow slow.
 */
export async function keepStreamsFast(file: string): Promise<void> {
  const node = functionNode();
  if (node === process.execPath && Number(process.versions.node.split(".")[0]) < 24) return;
  await promisify(execFile)(node, ["--no-warnings", streamScript, file], { env: {} });
}
