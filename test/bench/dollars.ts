import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { memoryOf } from "../../infra/function-memory.ts";
import { synthesizeOnce } from "../../infra/local/synthesis.ts";
import { mix } from "../../infra/tools/cost/mix.ts";
import { routes } from "../../shared/routes/index.ts";
import { helpAsked, readArguments, runCommand } from "../../shared/runtime/command-line.ts";
import { backgroundFiles, compile } from "../support/model/stage.ts";
import { backgroundDollars, dollarsPerMillion, prices, traffic, trafficDollars } from "./prices.ts";
import { eventWork } from "./units/event-cost.ts";
import { processorTimes } from "./units/processor-times.ts";
import { chainOf, heldMs, publishedTimes } from "./units/published-times.ts";
import { tradingCosts } from "./units/trading-cost.ts";
import { type RowCost, startWorkload, type Workload } from "./workload.ts";

const help = `Prices the stated mix of requests, events and trading commits, and writes test/bench/DOLLARS.md.

npm run bench:dollars

Run \`npm run bench:latency\` first: the billed time of a function is taken from test/bench/LATENCY.md.`;

/** What must hold: dollars of a million requests of the mix, and how much less an event and a commit must cost. */
const mostOfMix = 10.5;
const leastSaved = 0.35;

/**
 * Write units at commit 963a7bf: of an event by the model (SCALE.md, one publisher per shard), without the 11 units of
 * its commit; of trading by this command.
 */
const before = {
  events: { 0: 15.3, 1: 33.4, 5: 85.3, 20: 283.1 } as Readonly<Record<number, number>>,
  commits: {
    "open a trade in symbol 1 of an account": 29,
    "complete a deposit on an account with 1 symbols": 36,
    "open a trade in symbol 5 of an account": 46,
    "complete a deposit on an account with 5 symbols": 52,
    "open a trade in symbol 20 of an account": 108,
    "complete a deposit on an account with 20 symbols": 114,
    "an item of a batch of 20 executions on 20 accounts": 32.3,
    "an item of a batch of 20 executions on one account": 35.1,
  } as Readonly<Record<string, number>>,
};

type Cells = readonly string[];

async function main(): Promise<number> {
  if (helpAsked(help)) return 0;
  readArguments({});
  const workload = await startWorkload();
  try {
    const ofMix = await mixTable(workload);
    const commits = await commitTable(workload);
    const events = await eventTable();
    const missed = [...ofMix.missed, ...commits.missed, ...events.missed];
    const text = report([ofMix.text, events.text, commits.text], missed);
    console.log(text);
    await writeFile(new URL("DOLLARS.md", import.meta.url), text);
    return missed.length === 0 ? 0 : 1;
  } finally {
    await workload.stop();
  }
}

interface Part {
  readonly text: string;
  readonly missed: readonly string[];
}

async function mixTable(workload: Workload): Promise<Part> {
  const times = await processorTimes();
  const rows: Cells[] = [];
  let sum = 0;
  for (const [id, share] of Object.entries(mix)) {
    const row = routes.find((each) => each.id === id);
    const found = row && (await workload.callsOf(row, heldMs));
    const cost = row && (await workload.costOf(row));
    const processor_ms = times.get(id);
    if (processor_ms === undefined) throw new Error(`LATENCY.md has no processor time of ${id}.`);
    if (found === undefined || cost === undefined) throw new Error(`The bench has no request of ${id}.`);
    const memory_mb = memoryOf(id);
    const computing_ms = processor_ms / Math.min(1, memory_mb / publishedTimes.whole_processor_mb);
    const billed_ms = chainOf(found.calls).published_ms + computing_ms;
    const dollars = dollarsPerMillion({ ...cost, memory_mb, billed_ms }) + trafficDollars();
    sum += (share / 100) * dollars;
    rows.push([id, `${share} %`, unitsText(cost), billed_ms.toFixed(1), String(memory_mb), dollars.toFixed(2)]);
  }
  const heads = ["route", "share", "read / write units", "billed ms", "memory MB", "$ per million"];
  return {
    text: `## The stated mix

A million requests of the mix cost **$${sum.toFixed(2)}**, at most ${mostOfMix}; the events that they cause are below.

${tableOf(heads, rows)}`,
    missed: sum > mostOfMix ? [`The mix: $${sum.toFixed(2)} per million, more than ${mostOfMix}.`] : [],
  };
}

async function eventTable(): Promise<Part> {
  const { directory } = await synthesizeOnce("production", resolve(join(".local", "cdk")), console.error);
  const program = await compile(await backgroundFiles("events/"), "test/bench/scale/workload.ts");
  const rows: Cells[] = [];
  const missed: string[] = [];
  for (const endpoints of [0, 1, 5, 20]) {
    const cost = await eventWork(program, directory, endpoints);
    const { write_units: alone } = await eventWork(program, directory, endpoints, false);
    const was = before.events[endpoints] ?? Number.NaN;
    const saved = 1 - alone / was;
    rows.push([
      `${endpoints} ${endpoints === 1 ? "endpoint" : "endpoints"}`,
      was.toFixed(1),
      alone.toFixed(1),
      percent(saved),
      cost.write_units.toFixed(1),
      percent(1 - cost.write_units / was),
      cost.read_units.toFixed(1),
      (cost.write_units * prices.dynamodb_per_million_write_units).toFixed(2),
      backgroundDollars(cost).toFixed(2),
    ]);
    if (saved < leastSaved) missed.push(`An event with ${endpoints} endpoints: ${percent(saved)} fewer write units.`);
  }
  const compared = ["event", "write units before", "now", "saved"];
  const whole = ["with its audit", "saved", "read units", "$ of writes", "$ in all"];
  return {
    text: `## An event

With all its deliveries and indexes, five a second, by the model of \`npm run scale\`: write and read units, functions
at their memory, queues and logs, to the sweep that takes the event out of the due index; without the
commit that caused it, and without what the sweep costs where there is no event. Before is commit 963a7bf, which kept no
audit: what it did is compared with what does the same now. The columns after that include the entry of the audit that
an event of a caller's request has.

${tableOf([...compared, ...whole], rows)}`,
    missed,
  };
}

async function commitTable({ api }: Workload): Promise<Part> {
  const rows: Cells[] = [];
  const sums: { readonly was: number; readonly now: number }[] = [];
  const missed: string[] = [];
  for (const { name, kind, cost, per } of await tradingCosts(api)) {
    const was = before.commits[name];
    const now = cost.write_units / per;
    const saved = was === undefined ? Number.NaN : 1 - now / was;
    const dollars =
      (cost.write_units * prices.dynamodb_per_million_write_units +
        cost.read_units * prices.dynamodb_per_million_read_units) /
      per;
    rows.push([
      name,
      was?.toFixed(1) ?? "–",
      now.toFixed(1),
      percent(saved),
      (cost.calls / per).toFixed(1),
      (cost.read_units / per).toFixed(1),
      dollars.toFixed(2),
    ]);
    if (kind === "commit") sums.push({ was: was ?? Number.NaN, now });
  }
  const sumOf = (which: "was" | "now") => sums.reduce((sum, each) => sum + each[which], 0);
  const savedOfAll = 1 - sumOf("now") / sumOf("was");
  if (savedOfAll < leastSaved)
    missed.push(`The commits of trading together: ${percent(savedOfAll)} fewer write units.`);
  const heads = ["commit", "write units before", "now", "saved", "calls", "read units", "$ per million"];
  return {
    text: `## Trading commits and items of a feed

One request each, measured against a server that speaks DynamoDB, the rate counter included; of a batch, one item.
Dollars are those of DynamoDB. Before is commit 963a7bf.

${tableOf(heads, rows)}`,
    missed,
  };
}

function percent(part: number): string {
  return Number.isNaN(part) ? "–" : `${(100 * part).toFixed(0)} %`;
}

function unitsText({ read_units, write_units }: RowCost): string {
  return `${read_units.toFixed(1)} / ${write_units}`;
}

function tableOf(heads: Cells, rows: readonly Cells[]): string {
  return [heads, ["---", ...heads.slice(1).map(() => "---:")], ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

function report(parts: readonly string[], missed: readonly string[]): string {
  const judged = missed.length === 0 ? "Nothing misses." : missed.map((line) => `- ${line}`).join("\n");
  return `# What requests, events and trading cost

Written by \`npm run bench:dollars\`, for ${prices.region} at the prices of ${prices.read_on} (\`prices.ts\`). A request
includes the gateway, its function at its memory (\`infra/function-memory.ts\`), DynamoDB with the rate counter, and
$${trafficDollars().toFixed(2)} per million for ${traffic.log_bytes} bytes of logs, traces of
${percent(traffic.traced_share)} of the requests and ${traffic.answer_bytes} bytes of transfer.
Billed time is published times of calls and the processor time of LATENCY.md.

${parts.join("\n\n")}

## Misses

${judged}
`;
}

await runCommand(async () => {
  process.exitCode = await main();
});
