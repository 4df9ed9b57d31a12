import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { type Cloud, type CloudOptions, startCloud } from "../../../infra/local/cloud.ts";
import type { Exchange, Reply } from "../../../infra/local/gateway/exchange.ts";
import type { OnAnswer } from "../../../infra/local/gateway/index.ts";
import { grantName } from "../../../infra/local/iam/grants.ts";
import type { Credentials } from "../../../infra/tools/api-call.ts";
import type { Stage } from "../../../shared/routes/route.ts";
import { judge, type SeenExchange } from "../rules/description.ts";
import { note } from "../rules/notes.ts";
import type { ApiClient } from "./api-client.ts";
import { type Application, type ApplicationOptions, newApplication } from "./application.ts";

/** The synthesized stack on this machine, with a first tenant. */
export interface Stack {
  readonly cloud: Cloud;
  readonly baseUrl: string;
  readonly api: ApiClient;
  readonly tenant_id: string;
  readonly application_id: string;
  readonly credentials: Credentials;
  /** Folder of everything that the stack keeps: database, secrets, API keys, logs. */
  readonly dataDir: string;
  /** An application of a tenant of its own, or of the named one. */
  newApplication(options?: ApplicationOptions): Promise<Application>;
  stop(): Promise<void>;
}

/** An exchange of the gateway in the terms of the document. */
export function seenOf({ method, path, query, headers, body }: Exchange, reply: Reply): SeenExchange {
  return {
    method,
    path,
    query,
    request_headers: headers,
    request_body: body.toString(),
    status: reply.status,
    headers: reply.headers,
    body: reply.status === 304 ? "" : reply.body.toString(),
  };
}

/** A running cloud, its data folder, and what it answered that the document forbids. */
interface Running {
  readonly cloud: Cloud;
  readonly dataDir: string;
  readonly faults: Set<string>;
  /** Notes for the whole run which grants the calls needed until now. */
  noteGrants(): void;
}

/** Room for a process of every function: ending one to start another costs a tenth of a second of processor time. */
const maxEnvironments = 200;

/** A database under strain, for the long form: see `npm run check:long`. */
const strain: Partial<CloudOptions> = {
  indexLagMs: Number(process.env["INDEX_LAG_MS"] ?? 0),
  throttledShare: Number(process.env["THROTTLED_PERCENT"] ?? 0) / 100,
};

async function run(options: Partial<CloudOptions> = {}): Promise<Running> {
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-data-"));
  const faults = new Set<string>();
  const onAnswer: OnAnswer = (exchange, reply) => {
    for (const fault of judge(seenOf(exchange, reply))) faults.add(fault);
  };
  const assemblyDir = inject("assemblyDir");
  // A first turn of every schedule starts a process of each: ten of them, of which a short test needs none.
  const common = { assemblyDir, dataDir, port: 0, maxEnvironments, schedulesAtStart: false, onAnswer };
  const cloud = await startCloud({ ...common, ...strain, ...options });
  // A use of the roles of another assembly is no proof that one of the suite is needed.
  const isOfSuite = (options.assemblyDir ?? assemblyDir) === assemblyDir;
  return { cloud, dataDir, faults, noteGrants: () => (isOfSuite ? noteGrants(cloud) : undefined) };
}

/** Notes the grants of the functions of a cloud, and those that its calls needed since its start. */
function noteGrants(cloud: Cloud): void {
  const grants = cloud.grants().map((grant) => JSON.stringify(grant));
  note("grants", grants);
  note("grants-used", cloud.grantsUsed().map(grantName));
}

/** The stack as a test sees it, with a first tenant of its own. */
async function enter(
  { cloud, dataDir, faults, noteGrants }: Running,
  stage: Stage,
  end: () => Promise<void>,
): Promise<Stack> {
  const first = await newApplication(cloud, {}, stage);
  return {
    cloud,
    baseUrl: cloud.baseUrl,
    ...first,
    dataDir,
    newApplication: (wanted) => newApplication(cloud, wanted, stage),
    async stop() {
      await end();
      noteGrants();
      const answered = [...faults];
      faults.clear();
      if (answered.length > 0)
        throw new Error(`The document does not allow what was answered:\n${answered.join("\n")}`);
    },
  };
}

async function endOf({ cloud, dataDir }: Running): Promise<void> {
  await cloud.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

/** Starts the stack on a fresh data folder, on free ports; `stop` fails when it answered what the document forbids. */
export async function startStack(options: Partial<CloudOptions> = {}, stage: Stage = "sandbox"): Promise<Stack> {
  const running = await run(options);
  try {
    return await enter(running, stage, () => endOf(running));
  } catch (error) {
    await running.cloud.stop();
    throw error;
  }
}

let shared: Promise<Running> | undefined;

/**
 * The stack that the test files of one worker share, started for the first of them; each gets a first tenant of its
 * own. It fits a file that needs no options, breaks nothing and looks at its own tenants only. `stop` judges the
 * answers and leaves the stack to the next file.
 */
export async function sharedStack(): Promise<Stack> {
  shared ??= runUntilTheWorkerEnds();
  return enter(await shared, "sandbox", async () => undefined);
}

async function runUntilTheWorkerEnds(): Promise<Running> {
  const running = await run();
  // The processes of the stack end with the worker, as they do when `npm start` is killed; the folder is left.
  process.once("SIGTERM", () => {
    rmSync(running.dataDir, { recursive: true, force: true });
    process.kill(process.pid, "SIGTERM");
  });
  return running;
}

/** Test files of this process that have yet to leave the watched stack. */
let files = 0;
/** The watched stack, and what looks on at its calls. */
let watched: Promise<Running> | undefined;
let onCall: CloudOptions["onCall"];

/**
 * A stack for test files that run in one process one after the other, on which each looks on at the calls of the
 * functions to AWS and may end a function, and on which transactions of one item meet. A file calls this when it is
 * loaded, so that the first one that stops its stack knows of the others; the last one ends what runs.
 * @returns what starts the stack, with a first tenant of the file's own
 */
export function watchedStack(): (watch?: CloudOptions["onCall"]) => Promise<Stack> {
  files += 1;
  return async (watch) => {
    // Fifteen milliseconds on an item make overlapping transactions meet, as they do on AWS.
    watched ??= run({ transactionHoldMs: 15, onCall: (call) => onCall?.(call) });
    const running = await watched;
    const stack = await enter(running, "sandbox", async () => {
      onCall = undefined;
      files -= 1;
      if (files > 0) return;
      watched = undefined;
      await endOf(running);
    });
    onCall = watch;
    return stack;
  };
}
