import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { APIGatewayProxyResult, Context } from "aws-lambda";
import { bundle } from "../../infra/bundle.ts";
import { limits } from "../../shared/limits.ts";
import { helpAsked, readArguments, runCommand, wholeNumber } from "../../shared/runtime/command-line.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { putMarket } from "../support/builders/trading-data.ts";
import { startApi } from "../support/emulator/api.ts";
import { lambdaContext, newCaller, proxyEvent, type TestCaller } from "../support/emulator/request.ts";
import { type TableCall, unitsOf } from "../support/emulator/watched-endpoint.ts";
import { median } from "./measure.ts";

const help = `Measures what opens, closes, deposits and evaluations cost on accounts with 1, 60 and 499 positions.

npm run bench:positions -- [options]
  --rounds <n>     acts of each kind and account (default 15)
  --counts <list>  numbers of positions (default 1,60,499)
  --cpu            processor time and duration; without it calls, units and bytes
  --help           this text

The processor time is that of this process alone: the table is another one. Ratios are to the first account.`;

const symbols = ["EURUSD", "GBPUSD", "USDJPY", "EURGBP", "GBPJPY", "EURJPY", "AUDUSD", "NZDUSD", "AUDNZD"];

interface Cost {
  readonly cpu_ms: number;
  readonly wall_ms: number;
  readonly calls: string;
  readonly read_units: number;
  readonly write_units: number;
  readonly read_kilobytes: number;
}

async function main(): Promise<number> {
  if (helpAsked(help)) return 0;
  const { values } = readArguments({
    rounds: { type: "string", default: "15" },
    counts: { type: "string", default: `1,60,${limits.trading.max_positions - 1}` },
    cpu: { type: "boolean", default: false },
  });
  const rounds = wholeNumber("--rounds", values.rounds, 1);
  const api = await startApi("watched");
  // The watched way reads every call in this process; without it the processor time is that of the service.
  if (values.cpu) process.env["AWS_ENDPOINT_URL_DYNAMODB"] = api.emulator.endpoint;
  try {
    const first = new Map<string, Cost>();
    for (const count of values.counts.split(",").map(Number)) {
      for (const [act, cost] of await costsOf(api, count, rounds)) {
        const base = first.get(act) ?? cost;
        first.set(act, base);
        console.log(`| ${[count, act, ...(values.cpu ? timeOf(cost, base) : workOf(cost))].join(" | ")} |`);
      }
    }
  } finally {
    await api.stop();
  }
  return 0;
}

/** Processor time and duration in milliseconds, each with its ratio to the first account. */
function timeOf({ cpu_ms, wall_ms }: Cost, base: Cost): string[] {
  return [cpu_ms, cpu_ms / base.cpu_ms, wall_ms, wall_ms / base.wall_ms].map((value) => value.toFixed(1));
}

/** Calls, units read and written, and kilobytes of what was answered. */
function workOf({ calls, read_units, write_units, read_kilobytes }: Cost) {
  return [calls, read_units, write_units, read_kilobytes.toFixed(1)];
}

type Api = Awaited<ReturnType<typeof startApi>>;

/** Calls bundled functions, as they are deployed, and returns the parsed body of their answer. */
async function bundledFunctions(caller: TestCaller) {
  const outdir = await mkdtemp(join(tmpdir(), "bench-positions-"));
  const trading = ["sandbox/open-trade", "sandbox/close-trade", "margin/evaluate"];
  const files = [...trading, "transactions/deposit", "accounts/get"];
  await bundle({
    entries: files.map((file) => ({ name: file, file })),
    root: fileURLToPath(new URL("../../functions", import.meta.url)),
    outdir,
  });
  const handlers = new Map<string, (event: unknown, context: Context) => Promise<APIGatewayProxyResult>>();
  for (const file of files) handlers.set(file, (await import(join(outdir, file, "index.mjs"))).handler);
  await rm(outdir, { recursive: true });
  return {
    evaluate: (body: object) => {
      const Records = [{ messageId: "1", body: JSON.stringify(body) }];
      return handlers.get("margin/evaluate")?.({ Records }, lambdaContext());
    },
    call: async (method: string, address: string, body?: object) => {
      const { row, event } = proxyEvent(caller, method, address, body === undefined ? {} : { body });
      const answer = await handlers.get(row.file)?.(event, lambdaContext());
      if (answer === undefined || answer.statusCode >= 300) throw new Error(`${address}: ${answer?.body}`);
      return JSON.parse(answer.body) as { readonly id: string };
    },
  };
}

/** What each act costs on an account with so many positions, which it has again after each round. */
async function costsOf(api: Api, count: number, rounds: number) {
  const caller = newCaller();
  const account = await brokerage(api, caller).account("900000.00", { type: "demo", leverage: 100 });
  const { call, evaluate } = await bundledFunctions(caller);
  const fresh = () => putMarket(api, caller.tenant_id);
  await fresh();
  const open = (at: number) =>
    call("POST", "/sandbox/trades", {
      ...{ account_id: account.id, symbol: symbols[at % symbols.length] ?? "", lots: "0.01" },
      side: at % 2 === 0 ? "buy" : "sell",
    });
  for (let at = 0; at < count; at += 1) {
    if (at % 100 === 99) await fresh();
    await open(at);
  }
  const money = { account_id: account.id, amount: "1.00", status: "completed" };
  let opened = "";
  const acts: readonly (readonly [string, () => Promise<unknown> | undefined])[] = [
    ["open", async () => (opened = (await open(0)).id)],
    ["close", () => call("POST", `/sandbox/trades/${opened}/close`, {})],
    ["deposit", () => call("POST", "/transactions/deposit", money)],
    ["evaluation", () => evaluate({ tenant_id: caller.tenant_id, account_id: account.id })],
    ["GET account", () => call("GET", `/accounts/${account.id}`)],
  ];
  const costs = new Map<string, Cost[]>(acts.map(([name]) => [name, []]));
  for (let round = 0; round < rounds + 2; round += 1) {
    await fresh();
    for (const [name, act] of acts) {
      api.watched.takeCalls();
      const [cpu, began] = [process.cpuUsage(), performance.now()];
      await act();
      const { user, system } = process.cpuUsage(cpu);
      const wall_ms = performance.now() - began;
      const cost = { cpu_ms: (user + system) / 1000, wall_ms, ...tableCost(api.watched.takeCalls()) };
      // The first rounds load and compile.
      if (round >= 2) costs.get(name)?.push(cost);
    }
  }
  const mid = (all: readonly Cost[], of: (cost: Cost) => number) => median(all.map(of));
  return [...costs].map(([name, all]): [string, Cost] => [
    name,
    {
      cpu_ms: mid(all, ({ cpu_ms }) => cpu_ms),
      wall_ms: mid(all, ({ wall_ms }) => wall_ms),
      calls: all.at(-1)?.calls ?? "",
      read_units: mid(all, ({ read_units }) => read_units),
      write_units: mid(all, ({ write_units }) => write_units),
      read_kilobytes: mid(all, ({ read_kilobytes }) => read_kilobytes),
    },
  ]);
}

function tableCost(calls: readonly TableCall[]) {
  const reads = calls.filter(({ operation }) => operation === "BatchGetItem" || operation === "Query");
  return {
    calls: calls.map(({ operation }) => operation).join(" "),
    read_units: unitsOf(reads),
    write_units: unitsOf(calls.filter((call) => !reads.includes(call))),
    read_kilobytes: reads.reduce((sum, { output }) => sum + JSON.stringify(output ?? {}).length / 1000, 0),
  };
}

await runCommand(async () => {
  process.exitCode = await main();
});
