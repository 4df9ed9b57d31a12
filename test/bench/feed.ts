import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { APIGatewayProxyResult, Context } from "aws-lambda";
import type { bundle } from "../../infra/bundle.ts";
import { memoryOf } from "../../infra/function-memory.ts";
import { limits } from "../../shared/limits.ts";
import { helpAsked, readArguments, runCommand, UsageError, wholeNumber } from "../../shared/runtime/command-line.ts";
import { feedPrices, feedProgram, feedSymbols, modelOf, outcomesOf } from "../simulation/feed-program.ts";
import { startApi } from "../support/emulator/api.ts";
import { scanTable } from "../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, proxyEvent, type TestCaller } from "../support/emulator/request.ts";
import { type TableCall, unitsOf } from "../support/emulator/watched-endpoint.ts";
import { someClient } from "../support/stack/api-client.ts";

/** Memory at which Lambda gives a whole processor, MB. */
const wholeMb = limits.functions.computing_memory_mb;

const help = `Measures what a feed costs, against the same function of an earlier commit, in one run.

npm run bench:feed -- [options]
  --executions <n>  deals of the program (default 2000)
  --accounts <n>    accounts that they are spread over (default 200)
  --before <commit> the function to compare with (default d66c611, the last one that served a batch item by item)
  --cpu             processor time and duration; without it calls, capacity units and what the calls take
  --batch           both, one after the other, and what a batch of 100 items takes by them
  --slow <n>        one batch of so many is one of the model (default 10)
  --stretch <n>     times that its calls are slower than stated (default 10)
  --help            this text

Both serve the same batches in turn, each for a brokerage of its own in the same table, and both must end in the state
of the model of the feed. The processor time is that of this process alone: the table is another one. Its busiest thread
takes busiest_ms of it, the main one or all others together: no batch takes less. In a batch of the
model each call is delayed, 5 ms a read or a single write and 25 ms a transaction, times --stretch: its duration over
--stretch is what these calls alone take where the rest costs next to nothing. The first four batches load, compile and
book the deposits, and are not counted. By both a batch takes what its calls take and its processor time: that of the
busiest thread or, where it is more, that of all at the function's memory. The former function has ${wholeMb} MB, which
is one processor.`;

/** Milliseconds that a call of DynamoDB takes in the model. */
const callMs = { transaction: 25, other: 5 };
const root = fileURLToPath(new URL("../..", import.meta.url));

type Api = Awaited<ReturnType<typeof startApi>>;
type Handler = (event: unknown, context: Context) => Promise<APIGatewayProxyResult>;

/** A brokerage that one of the two functions serves, and what that has cost. */
interface Side {
  readonly name: string;
  readonly caller: TestCaller;
  readonly accounts: readonly string[];
  readonly path: string;
  readonly handler: Handler;
  readonly spent: {
    items: number;
    batches: number;
    sent_again: number;
    cpu_ms: number;
    main_ms: number;
    wall_ms: number;
  };
  readonly slow: { items: number; wall_ms: number };
  readonly units: { read: number; write: number };
  readonly calls: Map<string, number>;
}

async function main(): Promise<number> {
  if (helpAsked(help)) return 0;
  const { values } = readArguments({
    executions: { type: "string", default: "2000" },
    accounts: { type: "string", default: "200" },
    before: { type: "string", default: "d66c611" },
    cpu: { type: "boolean", default: false },
    batch: { type: "boolean", default: false },
    slow: { type: "string", default: "10" },
    stretch: { type: "string", default: "10" },
  });
  const [slow, stretch] = [wholeNumber("--slow", values.slow, 1), wholeNumber("--stretch", values.stretch, 1)];
  const counts = [wholeNumber("--accounts", values.accounts, 1), wholeNumber("--executions", values.executions, 100)];
  const program = feedProgram(20_261_121, counts[0] ?? 0, counts[1] ?? 0);
  if (process.threadCpuUsage === undefined) {
    throw new UsageError(`Node ${process.version} does not measure the time of a thread: use Node 24.`);
  }
  if (values.batch) return measureBoth();
  const folder = await mkdtemp(join(tmpdir(), "bench-feed-"));
  const api = await startApi("watched");
  try {
    const sides: Side[] = [];
    for (const [name, from] of [
      [`before (${values.before})`, await formerCode(values.before, folder)],
      ["now", root],
    ] as const) {
      const endpoint = values.cpu ? api.emulator.endpoint : api.watched.endpoint;
      const handler = await handlerOf(from, join(folder, `built-${sides.length}`), endpoint);
      sides.push(await newSide(api, name, handler, program));
    }
    for (let place = 0; place * limits.feed.max_items < program.items.length; place += 1) {
      const inTurn = place % 2 === 0 ? sides : sides.toReversed();
      const slower = !values.cpu && place % slow === slow - 1 ? stretch : 0;
      for (const side of inTurn) await sendBatch(api, side, program, place, slower);
    }
    const figures = sides.map((side) => (values.cpu ? timeOf(side) : workOf(side, stretch)));
    for (const [at, { name, spent }] of sides.entries()) {
      const again = spent.sent_again === 0 ? "" : `, ${spent.sent_again} batches sent again`;
      console.log(`${name}: ${textOf(figures[at] ?? {})}${again}`);
    }
    console.log(`before / now: ${textOf(ratiosOf(figures))}`);
    process.send?.(figures);
    return (await haveBooks(api, sides, program)) ? 0 : 1;
  } finally {
    await api.stop();
    await rm(folder, { recursive: true });
  }
}

/** Measures calls and processor times, each in a process of its own, and adds up what a batch takes by them. */
async function measureBoth(): Promise<number> {
  const given = process.argv.slice(2).filter((word) => word !== "--batch" && word !== "--cpu");
  const measured: (readonly Figures[])[] = [];
  let failed = 0;
  for (const more of [[], ["--cpu"]]) {
    const child = fork(fileURLToPath(import.meta.url), [...given, ...more]);
    child.once("message", (figures) => measured.push(figures as readonly Figures[]));
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) failed += 1;
  }
  if (measured.length < 2) return 1;
  const batches = batchesOf(measured);
  for (const [at, name] of ["before", "now"].entries()) console.log(`a batch ${name}: ${textOf(batches[at] ?? {})}`);
  console.log(`before / now: ${textOf(ratiosOf(batches))}`);
  return failed;
}

/** What a batch takes of each side in milliseconds: its calls, and its processor time at the function's memory. */
function batchesOf([calls = [], times = []]: readonly (readonly Figures[])[]): readonly Figures[] {
  const memory = [wholeMb, memoryOf("send_feed_batch")];
  return memory.map((memory_mb, side) => {
    const of = (figures: readonly Figures[], name: string) => (figures[side]?.[name] ?? 0) * limits.feed.max_items;
    const calls_ms = of(calls, "modelled_ms");
    const processor_ms = Math.max(of(times, "busiest_ms"), (of(times, "cpu_ms") * wholeMb) / memory_mb);
    return { calls_ms, processor_ms, batch_ms: calls_ms + processor_ms };
  });
}

/** Unpacks a commit next to the installed packages. */
async function formerCode(commit: string, folder: string): Promise<string> {
  const path = join(folder, "before");
  await mkdir(path);
  const most = 1 << 28;
  const archive = execFileSync("git", ["archive", commit, "shared", "functions", "infra", "package.json"], {
    cwd: root,
    maxBuffer: most,
  });
  execFileSync("tar", ["-x", "-C", path], { input: archive });
  await symlink(join(root, "node_modules"), join(path, "node_modules"));
  return path;
}

/** The bundled function of a working tree, calling the table by this way. */
async function handlerOf(from: string, outdir: string, endpoint: string): Promise<Handler> {
  const file = "feed/send-batch";
  const { bundle: build } = (await import(join(from, "infra/bundle.ts"))) as { readonly bundle: typeof bundle };
  await build({ entries: [{ name: file, file }], root: join(from, "functions"), outdir });
  process.env["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint;
  process.env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = String(memoryOf("send_feed_batch"));
  return (await import(join(outdir, file, "index.mjs"))).handler;
}

/** A brokerage with the accounts, symbols and prices of a program. */
async function newSide(
  api: Api,
  name: string,
  handler: Handler,
  program: ReturnType<typeof feedProgram>,
): Promise<Side> {
  const caller = newCaller();
  const post = async (path: string, body: object) => {
    const answer = await api.call(caller, "POST", path, { body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  const accounts: string[] = [];
  let client_id = "";
  for (const [place, { login, ...terms }] of program.accounts.entries()) {
    if (place % 50 === 0) client_id = (await post("/clients", someClient())).id;
    const body = { client_id, type: "demo", platform: "mt5", platform_login: login, ...terms };
    accounts.push((await post("/accounts", body)).id);
  }
  const source = await post("/feed/sources", { name: "mt5:live-1", platform: "mt5", authoritative: "service" });
  const path = `/feed/sources/${source.id}`;
  const symbols = feedSymbols.map(
    ({ tenant_id: _t, halted: _h, created_at: _c, updated_at: _u, version: _v, ...data }, place) => ({
      ...{ seq: String(place + 1), type: "symbol", data },
    }),
  );
  await post(`${path}/batches`, { first_seq: "1", items: symbols });
  return {
    ...{ name, caller, accounts, path, handler, calls: new Map() },
    spent: { items: 0, batches: 0, sent_again: 0, cpu_ms: 0, main_ms: 0, wall_ms: 0 },
    slow: { items: 0, wall_ms: 0 },
    units: { read: 0, write: 0 },
  };
}

/** Prices of the same height that are new, so that a slow machine measures no decision on old ones. */
async function freshPrices(api: Api, { caller, path }: Side, place: number): Promise<void> {
  const time = new Date().toISOString();
  const quotes = feedPrices.map(([symbol, [bid, ask]]) => ({ symbol, bid, ask, time, seq: String(place + 1) }));
  const answer = await api.call(caller, "POST", `${path}/quotes`, { body: { quotes } });
  if (answer.status !== 200) throw new Error(answer.text);
}

/** Sends one batch of a program; its calls take so many times what they take in the model. */
async function sendBatch(
  api: Api,
  side: Side,
  program: ReturnType<typeof feedProgram>,
  place: number,
  stretch: number,
): Promise<void> {
  await freshPrices(api, side, place);
  const begin = place * limits.feed.max_items;
  const first = feedSymbols.length + 1 + begin;
  const items = program.items
    .slice(begin, begin + limits.feed.max_items)
    .map((item, at) => ({ seq: String(first + at), ...item }));
  api.watched.interfere = async ({ operation }) => {
    if (stretch > 0) await pause((operation === "TransactWriteItems" ? callMs.transaction : callMs.other) * stretch);
    return undefined;
  };
  api.watched.takeCalls();
  const [cpu, main, began] = [process.cpuUsage(), process.threadCpuUsage(), performance.now()];
  await serve(side, items);
  const wall_ms = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  const own = process.threadCpuUsage(main);
  api.watched.interfere = () => undefined;
  if (place < 4) return;
  note(side, api.watched.takeCalls());
  side.spent.items += items.length;
  side.spent.batches += 1;
  side.spent.cpu_ms += (user + system) / 1000;
  side.spent.main_ms += (own.user + own.system) / 1000;
  side.spent.wall_ms += wall_ms;
  if (stretch === 0) return;
  side.slow.items += items.length;
  side.slow.wall_ms += wall_ms;
}

/** Serves a batch; what is deferred is sent again as a bridge does, since a busy machine lets calls run into limits. */
async function serve(side: Side, items: readonly { readonly seq: string }[]): Promise<void> {
  let left = items;
  for (let tries = 0; left.length > 0; tries += 1) {
    if (tries > 0) side.spent.sent_again += 1;
    const body = { first_seq: left[0]?.seq, items: left };
    const { event } = proxyEvent(side.caller, "POST", `${side.path}/batches`, { body });
    // The authorizer of before names its application by another member.
    const { application_id, client_id } = side.caller;
    Object.assign(event.requestContext.authorizer ?? {}, { application_id, client_id });
    const answer = await side.handler(event, lambdaContext(600_000));
    if (answer.statusCode !== 200 || tries === limits.calls.attempts) {
      throw new Error(`${side.name}: ${answer.body.slice(0, 500)}`);
    }
    const { expected_next_seq: next } = JSON.parse(answer.body) as { readonly expected_next_seq: string };
    left = left.filter(({ seq }) => BigInt(seq) >= BigInt(next));
  }
}

function note({ calls, units }: Side, made: readonly TableCall[]): void {
  for (const { operation } of made) calls.set(operation, (calls.get(operation) ?? 0) + 1);
  const reads = made.filter(({ operation }) => operation === "BatchGetItem" || operation === "Query");
  units.read += unitsOf(reads);
  units.write += unitsOf(made.filter((call) => !reads.includes(call)));
}

type Figures = Readonly<Record<string, number>>;

/** Processor time, that of the busiest thread and duration of an item in milliseconds. */
function timeOf({ spent: { items, cpu_ms, main_ms, wall_ms } }: Side): Figures {
  const busiest_ms = Math.max(main_ms, cpu_ms - main_ms);
  return { cpu_ms: cpu_ms / items, main_ms: main_ms / items, busiest_ms: busiest_ms / items, wall_ms: wall_ms / items };
}

/** Calls and capacity units of an item, calls of a batch by operation, and milliseconds of an item in the model. */
function workOf({ spent: { items, batches }, slow, units, calls }: Side, stretch: number): Figures {
  const all = [...calls.values()].reduce((sum, count) => sum + count, 0);
  return {
    calls: all / items,
    read_units: units.read / items,
    write_units: units.write / items,
    modelled_ms: slow.wall_ms / stretch / slow.items,
    ...Object.fromEntries([...calls].toSorted().map(([name, count]) => [`${name} of a batch`, count / batches])),
  };
}

/** How many times less the second of two costs. */
function ratiosOf([before = {}, now = {}]: readonly Figures[]): Figures {
  return Object.fromEntries(Object.entries(before).map(([name, value]) => [name, value / (now[name] ?? 0)]));
}

function textOf(figures: Figures): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toFixed(2)}`)
    .join(", ");
}

/** Whether both brokerages are in the state of the model. */
async function haveBooks(api: Api, sides: readonly Side[], program: ReturnType<typeof feedProgram>): Promise<boolean> {
  const { outcomes } = modelOf(program, "mt5:live-1");
  const items = await scanTable(api.emulator);
  const same = sides.map(({ accounts }) => isDeepStrictEqual(outcomesOf(items, accounts), outcomes));
  for (const [at, { name }] of sides.entries()) {
    console.log(`${name} ${same[at] ? "ends in the state of the model" : "DIFFERS from the model"}.`);
  }
  // The rules of an earlier commit may have been others.
  return same.at(-1) === true;
}

await runCommand(async () => {
  process.exitCode = await main();
});
