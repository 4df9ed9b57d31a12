/** The model of the event pipeline: `npm run scale`. See test/bench/SCALE.md. */
import { join, resolve } from "node:path";
import { synthesizeOnce } from "../../../infra/local/synthesis.ts";
import { helpAsked, readArguments, runCommand, wholeNumber } from "../../../shared/runtime/command-line.ts";
import { backgroundFiles, compile } from "../../support/model/stage.ts";
import { measurePublishing, type Published, type PublishingRun } from "./publishing.ts";
import { type FloodRun, measureFlood } from "./refusals.ts";
import { inColumns, type Row, type Table, writeSection } from "./report.ts";
import { measureTick, type TickRun } from "./tick.ts";

const help = `Models the event pipeline at rates that no machine of the tests reaches, in virtual time.

npm run scale -- [options]
  --rate <n>       commits a second of one brokerage; runs this one case and prints it
  --shards <list>  shards of the table's stream, for that case (default 16)
  --endpoints <n>  webhook endpoints that subscribe to everything, for that case (default 0)
  --seconds <n>    how long commits go on (default 30)
  --refusals       runs the floods of refusals alone and prints them
  --tick           runs the price through many accounts alone and prints it
  --unlimited      partitions take whatever comes
  --stage <name>   stage whose mappings, memory and concurrency are used (default production)
  --seed <n>       seed of everything random (default 1)
  --name <words>   name of the section that is written
  --help           this text

Without --rate it runs every case and writes the section of this version into test/bench/SCALE.md, in about two
and a half minutes of processor time. The figures are those of a model; test/support/model/timings.ts states what it
assumes.`;

/** Units that no run takes. */
const unlimited = { partition_writes: 1e12, partition_reads: 1e12 };

type Case = Pick<PublishingRun, "rate" | "shards" | "endpoints" | "untilDelivered" | "timings">;
type Measure = (label: string, wanted: Case, seconds?: number) => Promise<Published>;

const whole = (value: number) => (Number.isFinite(value) ? String(Math.round(value)) : "–");
const tenth = (value: number) => value.toFixed(1);

const columns = [
  "events/s",
  "p50 ms",
  "p99 ms",
  "first second, at most ms",
  "cancelled %",
  "throttled %",
  "given up",
  "oldest record ms",
  "waiting at the end",
];

function figures(one: Published): string[] {
  return [
    whole(one.per_second),
    whole(one.p50),
    whole(one.p99),
    whole(one.first_second),
    tenth(one.conflicts),
    tenth(one.throttled),
    String(one.given_up),
    whole(one.stream_ms),
    String(one.backlog),
  ];
}

async function publishingTable(measure: Measure): Promise<Table> {
  const rows: Row[] = [];
  for (const rate of [50, 200]) {
    for (const shards of [1, 4, 16, 64]) {
      const label = `${rate} commits/s, ${shards} ${shards === 1 ? "shard" : "shards"}`;
      rows.push([label, ...figures(await measure(label, { rate, shards, endpoints: 0 }))]);
    }
  }
  const label = "200 commits/s, 16 shards, partitions without a limit";
  rows.push([label, ...figures(await measure(label, { rate: 200, shards: 16, endpoints: 0, timings: unlimited }))]);
  return {
    title: "Publishing the commits of one brokerage",
    text: `From the commit of an outbox item to the commit of its event; cancelled are publishing transactions.
Instances of router and publisher start in the first second, 250 ms each, one after the other: its commits are in no
quantile, and the slowest of them has a column.`,
    columns: ["", ...columns],
    rows,
  };
}

async function ceilingTable(measure: Measure): Promise<Table> {
  const rows: Row[] = [];
  const cases: [string, Case["timings"]][] = [
    ["with the limits of partitions", {}],
    ["partitions without a limit", unlimited],
    ["partitions without a limit, each call in its stated time without the spread", { ...unlimited, jitter: 0 }],
    ["partitions without a limit, 20 ms for every transaction", { ...unlimited, transaction_item_ms: 0 }],
  ];
  for (const [label, timings = {}] of cases) {
    const name = `16 shards, ${label}`;
    const one = await measure(name, { rate: 2500, shards: 16, endpoints: 0, timings }, 5);
    rows.push([name, whole(one.per_second), tenth(one.conflicts), tenth(one.throttled), tenth(one.refused)]);
  }
  return {
    title: "The most events of one brokerage",
    text: `2,500 commits a second for 5 s; events published a second in the second half. A commit is refused when its
own partitions are spent: the index of a brokerage's clients takes 1,000 a second.`,
    columns: ["", "events/s", "cancelled %", "throttled %", "refused commits %"],
    rows,
  };
}

async function endpointsTable(measure: Measure): Promise<Table> {
  const rows: Row[] = [];
  for (const endpoints of [0, 1, 5, 20]) {
    const label = `${endpoints} ${endpoints === 1 ? "endpoint" : "endpoints"}, 5 commits/s`;
    const one = await measure(label, { rate: 5, shards: 1, endpoints, untilDelivered: true }, 20);
    const busy =
      endpoints === 0 ? ["", ""] : [whole(one.events_per_busy_second), whole(one.deliveries_per_busy_second)];
    rows.push([label, tenth(one.per_second), whole(one.delivery_p99), tenth(one.write_units), ...busy]);
  }
  for (const [endpoints, rate] of [
    [1, 250],
    [20, 60],
  ] as const) {
    const label = `${endpoints} ${endpoints === 1 ? "endpoint" : "endpoints"}, ${rate} commits/s`;
    const one = await measure(label, { rate, shards: 1, endpoints, timings: unlimited }, 10);
    const busy = [whole(one.events_per_busy_second), ""];
    rows.push([label, tenth(one.per_second), whole(one.delivery_p99), tenth(one.write_units), ...busy]);
  }
  return {
    title: "Deliveries",
    text: `On one shard; receivers answer in 100 ms. Write units are of an event, with its commit, its deliveries and
all indexes, until the last delivery; the sweep takes two more. The last two columns are of one busy instance: what
fans out, and the deliverer. The last two rows are beyond the ceiling of one shard, and their partitions have no
limit.`,
    columns: ["", "events/s", "delivery p99 ms", "write units", "fan-out events/s", "deliveries/s"],
    rows,
  };
}

type TickOptions = Pick<TickRun, "assemblyDir" | "seed">;

async function tickTable(options: TickOptions): Promise<Table> {
  const program = await compile(await backgroundFiles("margin/"), "test/bench/scale/market-workload.ts");
  const rows: Row[] = [];
  for (const accounts of [1000, 10_000]) {
    const one = await measureTick({ program, ...options, accounts, seconds: 240 });
    console.error(`a tick through ${accounts} accounts`);
    rows.push([
      `${accounts} accounts`,
      String(one.evaluated),
      whole(one.p50),
      whole(one.p99),
      whole(one.last),
      whole(one.per_second),
      tenth(one.throttled),
      whole(one.queue_ms),
      tenth(one.write_units),
    ]);
  }
  return {
    title: "A price that brings many accounts to their margin call",
    text: `Accounts with one position each, all past their trigger at once; the price is then repeated every second.
From the price to the commit of an account's evaluation.`,
    columns: [
      "",
      "evaluated",
      "p50 ms",
      "p99 ms",
      "last ms",
      "evaluations/s",
      "throttled %",
      "longest in the queue ms",
      "write units",
    ],
    rows,
  };
}

async function floodTable(options: Pick<FloodRun, "program" | "assemblyDir" | "seed">): Promise<Table> {
  const cases = [
    ["no refusals", 0, 1, 1],
    ["1,000 refusals/s of one actor and action", 1000, 1, 1],
    ["1,000 refusals/s of one actor, 20 actions", 1000, 1, 20],
    ["1,000 refusals/s of 100 actors, 20 actions each", 1000, 100, 20],
  ] as const;
  const rows: Row[] = [];
  for (const [label, refusals, actors, actions] of cases) {
    const one = await measureFlood({ ...options, shards: 16, rate: 200, seconds: 10, refusals, actors, actions });
    if (one.accounted !== one.refused || one.faults.length > 0) {
      throw new Error(
        `${one.accounted} of ${one.refused} refusals were recorded; ${one.faults.slice(0, 3).join("; ")}`,
      );
    }
    console.error(label);
    const recorded = refusals === 0 ? ["", "", ""] : [one.recorded_per_second, one.queue_seconds, one.drained_seconds];
    rows.push([
      label,
      whole(one.p50),
      whole(one.p99),
      ...recorded.map((each) => (each === "" ? "" : tenth(Number(each)))),
    ]);
  }
  return {
    title: "Refusals by policy or scope next to commits",
    text: `200 commits a second of one brokerage over 16 shards for 10 s, and refusals of the same brokerage. Latencies
are those of its events, from the commit on. The first 60 refusals of an actor and an action in a minute are an
entry of the audit each, the others of that minute share one. The last two columns are the longest wait of a refusal's
message, and how long after the flood the last one was recorded. Every refusal is accounted for in each run.`,
    columns: ["", "p50 ms", "p99 ms", "recorded/s", "longest wait s", "recorded after s"],
    rows,
  };
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    rate: { type: "string" },
    shards: { type: "string", default: "16" },
    endpoints: { type: "string", default: "0" },
    seconds: { type: "string", default: "30" },
    unlimited: { type: "boolean", default: false },
    stage: { type: "string", default: "production" },
    seed: { type: "string", default: "1" },
    refusals: { type: "boolean", default: false },
    tick: { type: "boolean", default: false },
    name: { type: "string", default: "One publisher per brokerage, behind a router" },
  });
  const seed = wholeNumber("seed", values.seed, 0, 2 ** 32 - 1);
  const usual = wholeNumber("seconds", values.seconds, 2, 600);
  const { directory: assemblyDir } = await synthesizeOnce(values.stage, resolve(join(".local", "cdk")), console.error);
  if (values.tick) {
    const { columns, rows } = await tickTable({ assemblyDir, seed });
    console.log(inColumns([columns, ...rows]));
    return;
  }
  const program = await compile(await backgroundFiles("events/"), "test/bench/scale/workload.ts");
  const measure: Measure = async (label, wanted, seconds = usual) => {
    const startMs = performance.now();
    const one = await measurePublishing({ program, assemblyDir, seed, seconds, ...wanted });
    console.error(`${label}: ${whole(performance.now() - startMs)} ms`);
    if (one.faults.length > 0) throw new Error(`Numbers of events are wrong: ${one.faults.slice(0, 3).join("; ")}.`);
    return one;
  };
  if (values.refusals) {
    const { columns, rows } = await floodTable({ program, assemblyDir, seed });
    console.log(inColumns([columns, ...rows]));
    return;
  }
  if (values.rate !== undefined) {
    const rate = wholeNumber("rate", values.rate, 1, 10_000);
    const endpoints = wholeNumber("endpoints", values.endpoints, 0, 20);
    const rows = [["shards", ...columns, "deliveries/s"]];
    for (const text of values.shards.split(",")) {
      const shards = wholeNumber("shards", text, 1, 1024);
      const one = await measure(text, { rate, shards, endpoints, timings: values.unlimited ? unlimited : {} });
      rows.push([text, ...figures(one), tenth(one.deliveries_per_second)]);
    }
    console.log(inColumns(rows));
    return;
  }
  const tables = [await publishingTable(measure), await ceilingTable(measure), await endpointsTable(measure)];
  tables.push(await floodTable({ program, assemblyDir, seed }), await tickTable({ assemblyDir, seed }));
  const facts = `Stage ${values.stage}, seed ${seed}; commits go on for ${usual} s unless a table says otherwise.`;
  console.log(`Written to ${writeSection(values.name, tables, facts)}.`);
}

await runCommand(main);
