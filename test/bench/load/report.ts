import { availableParallelism, cpus, loadavg } from "node:os";
import { mix } from "../../../infra/tools/cost/mix.ts";
import { byRoute, latenciesOf, type MemorySample, quantile } from "./figures.ts";
import { routeOf } from "./requests.ts";
import type { LoadOptions, LoadReport } from "./run-load.ts";

type Told = Pick<LoadOptions, "loop" | "seconds" | "applications" | "rate" | "seed"> & { readonly percent: number };

const ms = (value: number) => (Number.isNaN(value) ? "–" : String(Math.round(value)));
const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;

/** A table in Markdown: the first column is text, the others are figures. */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [line(head), line(head.map((_, at) => (at === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** Text of LOAD.md about a run. */
export function reportOf(told: Told, report: LoadReport): string {
  return [
    introduction(told, report),
    "## Latency by endpoint\n",
    "Milliseconds from the moment at which a request was due. The share is that of the mix, in percent.\n",
    routesTable(report),
    "\n## Latency against rate\n",
    pointsTable(report),
    "\n## Events\n",
    eventsText(report),
    "\n## Memory\n",
    "In MB, means of the quarters of the run: what the heap of the runner holds after a collection, the resident",
    "memory of its process, of the database and the queues, and of the processes of functions. Runner and generator",
    "are one process. Heap and servers must not grow.\n",
    memoryTable(report.memory),
    "\n## What did not hold\n",
    faultsText(report.faults),
    "",
  ].join("\n");
}

function introduction(told: Told, { answered }: LoadReport): string {
  const { applications, loop, percent, rate, seconds, seed } = told;
  const busy = loadavg().map((value) => value.toFixed(1));
  const machine = `${availableParallelism()} processors (${cpus()[0]?.model ?? "unknown"})`;
  const sent = (applications * rate).toFixed(1);
  const [minutes, kind] = [seconds / 60, loop === "open" ? "an open" : "a closed"];
  return `# Load on the local service

Written by \`node infra/run.mjs test/bench/load/run.ts\`.
**These are latencies of one machine, on which the service, its database, its queues and
the load generator share ${machine}; they say nothing about AWS.**
They show what must hold anywhere: no request is refused but beyond its limit, memory stays flat, and every event is
published and delivered.

${applications} applications, each of a brokerage of its own, sent ${percent} % of their rate limit for ${minutes}
minutes: ${sent} requests a second in ${kind} loop, seed ${seed}; ${answered.length} were answered.
\`infra/tools/cost/mix.ts\` states the mix. The load averages of the machine at the end were ${busy.join(", ")}
over 1, 5 and 15 minutes.
`;
}

function routesTable({ answered }: LoadReport): string {
  const groups = byRoute(answered);
  const rows = Object.entries(mix).map(([id, share]) => {
    const { method, path } = routeOf(id);
    const { count, p50, p90, p99, longest } = latenciesOf(groups.get(id) ?? []);
    return [`${method} ${path}`, share, count, ms(p50), ms(p90), ms(p99), ms(longest)];
  });
  const all = latenciesOf(answered);
  const last = ["all", 100, all.count, ms(all.p50), ms(all.p90), ms(all.p99), ms(all.longest)];
  return table(["endpoint", "share", "answered", "p50", "p90", "p99", "longest"], [...rows, last]);
}

function pointsTable({ points }: LoadReport): string {
  const sorted = points.toSorted((one, other) => one.rate - other.rate);
  const rows = sorted.map(({ rate, p50, p99 }) => [rate.toFixed(1), ms(p50), ms(p99)]);
  return table(["requests/s", "p50 ms", "p99 ms"], rows);
}

function eventsText({ backlog, delivery, drained_ms, earned_429, events }: LoadReport): string {
  const waiting = [backlog.outbox, backlog.deliveries].map(({ count, oldest_ms }) => [count, oldest_ms] as const);
  return `${table(
    ["waiting right after the run", "count", "oldest ms"],
    waiting.map(([count, oldest], at) => [at === 0 ? "commits to publish" : "deliveries", count, oldest]),
  )}

${events.written} writes were answered and ${events.published} events published; the receiver got ${events.received},
${ms(delivery.p50)} ms after their commits (median) and ${ms(delivery.p99)} ms (p99).
${ms(drained_ms)} ms after the last request nothing waited any more. ${earned_429} requests were refused with 429 beyond
the limit of their application.`;
}

function memoryTable(memory: readonly MemorySample[]): string {
  const kinds = ["heap", "runner", "servers", "functions"] as const;
  const quarter = Math.max(1, Math.floor(memory.length / 4));
  const rows = [0, 1, 2, 3].map((number) => {
    const some = memory.slice(number * quarter, (number + 1) * quarter);
    const means = kinds.map((kind) => ms(some.reduce((sum, sample) => sum + sample[kind], 0) / some.length));
    return [`quarter ${number + 1}`, ...means];
  });
  const most = kinds.map((kind) =>
    ms(
      quantile(
        memory.map((sample) => sample[kind]),
        1,
      ),
    ),
  );
  return table(["", ...kinds], [...rows, ["most", ...most]]);
}

const shown = { faults: 20, characters: 160 };

function faultsText(faults: readonly string[]): string {
  if (faults.length === 0) return "Nothing: all of it held.";
  const first = faults.slice(0, shown.faults).map((fault) => `- ${fault.slice(0, shown.characters)}`);
  return [`${faults.length} faults, of which the first are:\n`, ...first].join("\n");
}
