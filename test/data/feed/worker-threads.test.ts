import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import type { APIGatewayProxyResult, Context } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { bundle } from "../../../infra/bundle.ts";
import { memoryOf } from "../../../infra/function-memory.ts";
import { opening } from "../../support/builders/bridge.ts";
import { itemsOf } from "../../support/emulator/raw-table.ts";
import { lambdaContext, proxyEvent } from "../../support/emulator/request.ts";
import { closedDoor, unitsOf } from "../../support/emulator/watched-endpoint.ts";
import { api, broker, caller, newSource, trader } from "./feed-cases.ts";

type Handler = (event: unknown, context: Context) => Promise<APIGatewayProxyResult>;
interface Receipt {
  readonly expected_next_seq: string;
  readonly results: readonly { readonly seq: string; readonly status: string; readonly code?: string }[];
}

const accounts: Awaited<ReturnType<typeof trader>>[] = [];
/** Threads that this process started. */
const workers: { readonly worker: Worker; readonly ready: Promise<unknown> }[] = [];
let folder = "";
let handler: Handler;
const noted = (worker: Worker) => workers.push({ worker, ready: once(worker, "message") });

beforeAll(async () => {
  const file = "feed/send-batch";
  folder = await mkdtemp(join(tmpdir(), "worker-threads-"));
  await bundle({
    entries: [{ name: file, file }],
    root: new URL("../../../functions", import.meta.url).pathname,
    outdir: folder,
  });
  process.env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = String(memoryOf("send_feed_batch"));
  process.on("worker", noted);
  handler = (await import(join(folder, file, "index.mjs"))).handler;
  for (let count = 0; count < 24; count += 1) accounts.push(await trader("1000.00"));
});
afterAll(async () => {
  process.off("worker", noted);
  await Promise.all(workers.map(({ worker }) => worker.terminate()));
  await rm(folder, { recursive: true });
});

/** Sends the batch with these numbers by the bundle: a deal of every account in each. */
async function sendBatch(path: string, batch: number, first: number): Promise<Receipt> {
  const items = accounts.map(({ login }, at) => ({
    seq: String(1 + (batch - 1) * accounts.length + at),
    ...opening(login, `D-${batch}-${at}`, `P-${batch}-${at}`, { lots: "0.01", commission: "-1.00" }),
  }));
  const left = items.filter(({ seq }) => Number(seq) >= first);
  const { event } = proxyEvent(caller, "POST", `${path}/batches`, { body: { first_seq: String(first), items: left } });
  const answer = await handler(event, lambdaContext(60_000));
  expect(answer.statusCode, answer.body).toBe(200);
  return JSON.parse(answer.body);
}

const statusesOf = ({ results }: Receipt) => [...new Set(results.map(({ status }) => status))].toSorted();

/** The balances of all accounts. */
async function balances(): Promise<string[]> {
  const all = await Promise.all(accounts.map(({ id }) => broker.get(`/accounts/${id}/balance`)));
  return all.map(({ balance }) => balance);
}

/** Trades of the accounts that the table holds. */
async function tradeCount(): Promise<number> {
  const own = new Set(accounts.map(({ id }) => id));
  const trades = await itemsOf(api.emulator, { type: "TRADE" });
  return trades.filter(({ account_id }) => own.has(String(account_id))).length;
}

/** Counts what this thread answers from here on: how many results each of its answers has. */
function answersOf(worker: Worker): number[] {
  const counts: number[] = [];
  worker.on("message", ({ answer }: { answer?: { results: unknown[][] } }) => {
    if (answer !== undefined) counts.push(answer.results.flat().length);
  });
  return counts;
}

/** The thread that the function has started when it has served a batch, once it can be asked. */
async function startedThread(path: string, batch: number): Promise<Worker> {
  expect(statusesOf(await sendBatch(path, batch, 1 + (batch - 1) * accounts.length))).toEqual(["applied"]);
  const started = workers.at(-1);
  if (started === undefined) throw new Error("No thread was started.");
  await started.ready;
  return started.worker;
}

describe("a function with two processors", () => {
  let source: Awaited<ReturnType<typeof newSource>>;
  beforeEach(async () => {
    for (const { worker } of workers.splice(0)) await worker.terminate();
    source = await newSource();
  });

  it("shares the accounts of a large batch with a second thread, and counts what that spends", async () => {
    const before = await tradeCount();
    const answered = answersOf(await startedThread(source.path, 1));
    vi.stubEnv("POWERTOOLS_LOG_LEVEL", "INFO");
    const lines: string[] = [];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
    api.watched.takeCalls();
    const receipt = await sendBatch(source.path, 2, 25).finally(() => write.mockRestore());
    vi.unstubAllEnvs();
    const units = unitsOf(api.watched.takeCalls());
    expect(statusesOf(receipt)).toEqual(["applied"]);
    const [shared = 0, ...others] = answered;
    expect(others).toEqual([]);
    expect(shared).toBeGreaterThan(0);
    expect(shared).toBeLessThan(24);
    const [said] = lines.flatMap((line) => (line.includes("write_units") ? [JSON.parse(line)] : []));
    expect(said.read_units + said.write_units).toBe(units);
    expect(await tradeCount()).toBe(before + 48);
  });

  it("applies every item once when a thread ends with transactions under way, and starts another", async () => {
    const before = await tradeCount();
    const balance = Number((await balances())[0]);
    const worker = await startedThread(source.path, 1);
    const [door, all] = [closedDoor(), closedDoor()];
    const missing = new Set(accounts.map(({ id }) => id));
    api.watched.interfere = async ({ operation, input }) => {
      if (operation !== "TransactWriteItems") return undefined;
      const text = JSON.stringify(input);
      for (const id of [...missing]) if (text.includes(id)) missing.delete(id);
      if (missing.size === 0) all.open();
      await door.opened;
      return undefined;
    };
    const sending = sendBatch(source.path, 2, 25);
    await all.opened;
    await worker.terminate();
    door.open();
    const receipt = await sending;
    expect(statusesOf(receipt)).toEqual(["applied", "deferred"]);
    const deferred = receipt.results.filter(({ status }) => status === "deferred");
    expect(new Set(deferred.map(({ code }) => code))).toEqual(new Set(["service_unavailable"]));
    let next = Number(receipt.expected_next_seq);
    for (let tries = 0; next <= 48 && tries < 5; tries += 1) {
      next = Number((await sendBatch(source.path, 2, next)).expected_next_seq);
    }
    expect(next).toBe(49);
    expect(await tradeCount()).toBe(before + 48);
    expect(new Set((await balances()).map(Number))).toEqual(new Set([balance - 2]));
    const answered = answersOf(await startedThread(source.path, 3));
    expect(statusesOf(await sendBatch(source.path, 4, 73))).toEqual(["applied"]);
    expect(answered).toHaveLength(1);
  });

  it("serves a batch of few items by itself", async () => {
    const few = accounts
      .slice(0, 4)
      .map(({ login }, at) => ({ seq: String(at + 1), ...opening(login, `F-${at}`, `G-${at}`) }));
    const { event } = proxyEvent(caller, "POST", `${source.path}/batches`, { body: { first_seq: "1", items: few } });
    const answer = await handler(event, lambdaContext(60_000));
    expect(statusesOf(JSON.parse(answer.body))).toEqual(["applied"]);
    expect(workers).toEqual([]);
  });
});
