import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepStreamsFast, startServer } from "../../../infra/local/dynamodb/server.ts";
import { Guard } from "../../../infra/local/guard.ts";

/** A server of DynamoDB, which emulators make their tables on. */
export interface TableServer {
  readonly endpoint: string;
  /** Adds what keeps streams fast; the first table has to be there. */
  readonly prepare: () => Promise<void>;
  /** Takes back one use of the server. */
  readonly release: () => Promise<void>;
}

interface Running {
  readonly endpoint: string;
  readonly prepare: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Kept where the next file of a worker finds it: starting a server takes a fifth of a second. `fresh-file.ts` names the
 * folder of the run, which goes with it.
 */
const kept = globalThis as {
  testFolder?: string | undefined;
  testTableServer?: { running: Promise<Running>; uses: number } | undefined;
};

/**
 * The server of this process, started for the first use; every emulator has tables of its own on it. It ends with the
 * last use, and in a worker of the suite with the worker. `DYNAMODB_ENDPOINT` names another server.
 */
export async function tableServer(): Promise<TableServer> {
  const elsewhere = process.env["DYNAMODB_ENDPOINT"];
  if (elsewhere !== undefined) {
    return { endpoint: elsewhere, prepare: () => Promise.resolve(), release: () => Promise.resolve() };
  }
  const server = kept.testTableServer ?? { running: start(), uses: 0 };
  kept.testTableServer = server;
  server.uses += 1;
  const { endpoint, prepare, stop } = await server.running.catch((error: unknown) => {
    // The next file tries again.
    if (kept.testTableServer === server) kept.testTableServer = undefined;
    throw error;
  });
  const release = async (): Promise<void> => {
    server.uses -= 1;
    if (server.uses > 0 || kept.testFolder !== undefined) return;
    kept.testTableServer = undefined;
    await stop();
  };
  return { endpoint, prepare, release };
}

async function start(): Promise<Running> {
  const folder = mkdtempSync(join(kept.testFolder ?? tmpdir(), "brokerage-emulator-"));
  const file = join(folder, "dynamodb.sqlite");
  // A run of the tests that is broken off leaves no server behind.
  const guard = new Guard();
  const log = join(folder, "emulator.log");
  const { endpoint, process } = await startServer(file, log, guard).catch(async (error) => {
    await guard.stop();
    throw error;
  });
  let prepared: Promise<void> | undefined;
  const prepare = (): Promise<void> => {
    prepared ??= keepStreamsFast(file, log, guard);
    return prepared;
  };
  const stop = async (): Promise<void> => {
    await process.stop();
    await guard.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { endpoint, prepare, stop };
}
