import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import { limits } from "../../../shared/limits.ts";
import { underNames } from "../../../shared/runtime/trace.ts";
import { Unavailable } from "../../../shared/runtime/unavailable.ts";
import { workerThreads } from "../../../shared/runtime/worker-threads.ts";

const folder = await mkdtemp(join(tmpdir(), "asked-threads-"));
afterAll(() => rm(folder, { recursive: true }));
const started: Worker[] = [];
const note = (worker: Worker) => started.push(worker);
const lines: string[] = [];
beforeEach(() => {
  vi.stubEnv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "3008");
  vi.stubEnv("POWERTOOLS_LOG_LEVEL", "INFO");
  vi.spyOn(process.stdout, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  process.on("worker", note);
});
afterEach(async () => {
  process.off("worker", note);
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  lines.splice(0);
  await Promise.all(started.splice(0).map((worker) => worker.terminate()));
});

/** Threads of a function whose module does this when a thread loads it. */
async function threadsThat(does: string) {
  const file = join(folder, `thread-${started.length}-${does.length}.mjs`);
  await writeFile(file, `import { parentPort } from "node:worker_threads";\n${does}\n`);
  const unused = () => Promise.reject(new Error("The main thread answers nothing."));
  return workerThreads<unknown, string>(pathToFileURL(file).href, unused, unused);
}

/** The first thread, once it can be asked. */
async function readyThread(does: string) {
  const threads = await threadsThat(`parentPort.postMessage({ ready: true });\n${does}`);
  const worker = once(process, "worker");
  expect(threads.ready()).toEqual([]);
  await once((await worker)[0], "message");
  const [ask] = threads.ready();
  if (ask === undefined) throw new Error("The thread is not ready.");
  return ask;
}

it("starts a thread that ends before it can be asked a few times, and logs that for no request", async () => {
  const threads = await threadsThat('throw new Error("broken at the start");');
  for (let request = 1; request <= limits.functions.thread_starts + 2; request += 1) {
    const before = started.length;
    await underNames({ request_id: `r${request}` }, async () => expect(threads.ready()).toEqual([]));
    // A thread that was started is known in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    const worker = started[before];
    if (worker !== undefined) await new Promise((resolve) => worker.once("exit", resolve));
  }
  expect(started).toHaveLength(limits.functions.thread_starts);
  const logged = lines.map((line) => JSON.parse(line));
  expect(logged.map(({ level, message, error }) => [level, message, error])).toEqual(
    started.map(() => ["ERROR", "A thread failed.", "Error"]),
  );
  expect(logged.filter(({ request_id }) => request_id !== undefined)).toEqual([]);
});

it("gives up a thread that does not answer in time, or that ends: what it was asked may have been done", async () => {
  const ask = await readyThread('parentPort.on("message", ({ question }) => question === "end" && process.exit(1));');
  await expect(ask("wait", 1)).rejects.toThrow(Unavailable);
  await expect(ask("end", 60_000)).rejects.toThrow(Unavailable);
  expect(ask("again", 60_000)).toBeUndefined();
});

it("does not ask what cannot be sent", async () => {
  const ask = await readyThread(
    'parentPort.on("message", ({ id }) => parentPort.postMessage({ id, answer: "heard" }));',
  );
  expect(ask({ call: () => undefined }, 60_000)).toBeUndefined();
  await expect(ask("hello", 60_000)).resolves.toBe("heard");
});

it("tells a failure that passes by itself from one that does not", async () => {
  const ask = await readyThread(
    'parentPort.on("message", ({ id, question }) => ' +
      'parentPort.postMessage({ id, error: new Error("no"), unavailable: question === "later" }));',
  );
  await expect(ask("later", 60_000)).rejects.toThrow(Unavailable);
  await expect(ask("never", 60_000)).rejects.not.toThrow(Unavailable);
});
