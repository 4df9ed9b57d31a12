import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle } from "../../infra/bundle.ts";
import { memoryOf } from "../../infra/function-memory.ts";
import { averageLatencyMs, slowRoutes } from "../../infra/latency.ts";
import { mix } from "../../infra/tools/cost/mix.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { helpAsked, readArguments, runCommand } from "../../shared/runtime/command-line.ts";
import { median, sample } from "./measure.ts";
import { startsText } from "./units/cold-starts.ts";
import { processorTimes } from "./units/processor-times.ts";
import { type Chain, chainOf, heldMs, heldTimes, publishedTimes } from "./units/published-times.ts";
import type { Workload } from "./workload.ts";

const help = `Models the average latency of each route, and writes test/bench/LATENCY.md.

npm run bench:latency -- [options]
  --only <text>    routes whose id holds this text; writes nothing
  --calls          measures the calls only and keeps the processor times of LATENCY.md, which a busy machine spoils;
                   routes that have none there are left out
  --new            the same, but measures the processor times of routes that have none there
  --help           this text

The command fails when a route is over ${averageLatencyMs} ms and has no reason in infra/latency.ts.`;

/** Bound of the average over the stated mix. */
const mostOfMixMs = 40;
/** Processor time of the empty function's whole process on the machine that times are stated for, ms. */
const emptyMs = 26.7;
/** Requests before the measured ones and as many of these; of requests that succeed once, as many as time allows. */
const requests = { reads: 100, changes: 60, preparation_ms: 1500 };

interface Line {
  readonly id: string;
  readonly chain: Chain;
  readonly messages: number;
  /** Of a whole processor, on the machine that times are stated for. */
  readonly processor_ms: number;
  readonly average_ms: number;
}

async function main(): Promise<number> {
  if (helpAsked(help)) return 0;
  const { values } = readArguments({
    only: { type: "string", default: "" },
    calls: { type: "boolean", default: false },
    new: { type: "boolean", default: false },
  });
  const kept_ms = values.calls || values.new ? await processorTimes() : undefined;
  const isAsked = ({ id }: Route) =>
    id.includes(values.only) && (values.new || kept_ms === undefined || kept_ms.has(id));
  const outdir = await mkdtemp(join(tmpdir(), "bench-latency-"));
  // Not before the arguments are read: the SDK that it loads may warn about the version of Node.
  const { startWorkload } = await import("./workload.ts");
  const workload = await startWorkload();
  try {
    const kept = routes.filter(isAsked);
    const entries = kept.map(({ file }) => ({ name: file, file }));
    await bundle({ entries, root: new URL("../../functions", import.meta.url).pathname, outdir: join(outdir, "own") });
    const baselines = new URL("baselines", import.meta.url).pathname;
    await bundle({ entries: [{ name: "empty", file: "empty" }], root: baselines, outdir: join(outdir, "bare") });
    const lines: Line[] = [];
    const failed: string[] = [];
    for (const row of kept) {
      const line = await lineOf(workload, row, outdir, kept_ms).catch((error: Error) => {
        failed.push(`${row.id}: it could not be measured: ${error.message.slice(0, 200).replaceAll("\n", " ")}`);
        return undefined;
      });
      if (line === undefined) continue;
      lines.push(line);
      process.stderr.write(`${row.id}: ${line.processor_ms.toFixed(1)} ms of a processor\n`);
    }
    const missed = [...failed, ...missesOf(lines, values.only === "")];
    const text = report(lines, missed);
    console.log(text);
    if (values.only === "") await writeFile(new URL("LATENCY.md", import.meta.url), text);
    return missed.length === 0 ? 0 : 1;
  } finally {
    await workload.stop();
    await rm(outdir, { recursive: true, force: true });
  }
}

async function lineOf(
  workload: Workload,
  row: Route,
  outdir: string,
  kept?: ReadonlyMap<string, number>,
): Promise<Line | undefined> {
  const found = await workload.callsOf(row, heldMs);
  if (found === undefined) return undefined;
  const chain = chainOf(found.calls);
  const processor_ms = kept?.get(row.id) ?? (await processorOf(workload, row, outdir));
  const { gateway_ms, invoke_ms, queue_ms, whole_processor_mb } = publishedTimes;
  const waiting_ms = chain.published_ms + (found.messages > 0 ? queue_ms : 0);
  const computing_ms = processor_ms / Math.min(1, memoryOf(row.id) / whole_processor_mb);
  const average_ms = gateway_ms + invoke_ms + waiting_ms + computing_ms;
  return { id: row.id, chain, messages: found.messages, processor_ms, average_ms };
}

/** Processor time of a warm request, in relation to an empty function's process of the same moment. */
async function processorOf(workload: Workload, row: Route, outdir: string): Promise<number> {
  const subject = (folder: string, file: string) => ({
    name: file,
    module: pathToFileURL(join(outdir, folder, file, "index.mjs")).href,
    event: () => workload.eventFor(row.file),
    environment: workload.environment,
  });
  const more: unknown[] = [];
  if (row.method !== "GET") {
    const until = performance.now() + requests.preparation_ms;
    while (more.length < 2 * requests.changes && (more.length < 8 || performance.now() < until)) {
      more.push(await workload.eventFor(row.file));
    }
  }
  const warm = row.method === "GET" ? requests.reads : Math.floor(more.length / 2);
  const empties: number[] = [];
  const measured: number[] = [];
  for (let turn = 0; turn < (row.method === "GET" ? 2 : 1); turn += 1) {
    empties.push((await sample(subject("bare", "empty"))).total_ms);
    measured.push((await sample(subject("own", row.file), { warm, more })).warm_us ?? 0);
    empties.push((await sample(subject("bare", "empty"))).total_ms);
  }
  return (Math.min(...measured) / 1000) * (emptyMs / Math.max(emptyMs, median(empties)));
}

/** Everything that is not as it must be, as a sentence. */
function missesOf(lines: readonly Line[], whole: boolean): string[] {
  const over = lines.filter(({ id, average_ms }) => average_ms > averageLatencyMs && slowRoutes[id] === undefined);
  const average = averageOf(lines);
  return [
    ...over.map(({ id, average_ms }) => `${id}: ${average_ms.toFixed(1)} ms, more than ${averageLatencyMs}.`),
    ...(whole && average > mostOfMixMs ? [`The mix: ${average.toFixed(1)} ms, more than ${mostOfMixMs}.`] : []),
  ];
}

/** Average over the stated mix, of the routes that were measured. */
function averageOf(lines: readonly Line[]): number {
  const shares = lines.map(({ id, average_ms }) => ({ share: mix[id] ?? 0, average_ms }));
  const all = shares.reduce((sum, { share }) => sum + share, 0);
  return shares.reduce((sum, { share, average_ms }) => sum + share * average_ms, 0) / all;
}

function report(lines: readonly Line[], missed: readonly string[]): string {
  const heads = ["route", "calls in sequence", "published ms", "processor ms", "memory MB", "at it ms", "average ms"];
  const rows = lines
    .toSorted((one, other) => other.average_ms - one.average_ms)
    .map(({ id, chain, messages, processor_ms, average_ms }) => {
      const memory = memoryOf(id);
      const share = Math.min(1, memory / publishedTimes.whole_processor_mb);
      return [
        id,
        `${chain.calls}${messages > 0 ? " and a queue" : ""}`,
        chain.published_ms.toFixed(1),
        processor_ms.toFixed(1),
        String(memory),
        (processor_ms / share).toFixed(1),
        average_ms.toFixed(1),
      ];
    });
  const table = [heads, ["---", ...heads.slice(1).map(() => "---:")], ...rows];
  const slow = Object.entries(slowRoutes).map(([id, { reason }]) => `- \`${id}\`: ${reason}`);
  const judged = missed.length === 0 ? "No route misses." : missed.map((line) => `- ${line}`).join("\n");
  return `# Average latency of each route: a model

${method}

Over the stated mix (\`mix.ts\`): **${averageOf(lines).toFixed(1)} ms**, at most ${mostOfMixMs}.

${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}

${startsText()}
## Routes that may take longer

${slow.join("\n")}

## Misses

${judged}
`;
}

const method = `Written by \`npm run bench:latency\`. **These are figures of a model: AWS was not reached.**
An average is ${publishedTimes.gateway_ms} ms of the gateway and ${publishedTimes.invoke_ms} ms of an invocation, the
published times of the calls that the request waits for one after the other (\`units/published-times.ts\`), and its
processor time at the memory of its function (\`infra/function-memory.ts\`). The calls are those of the real handlers
against a server that speaks DynamoDB, each held for ${heldTimes} times its published time, so that calls side by side
overlap and count once. Processor time is that of the deployed bundles, warm, of a whole processor of a machine on
which the empty function's process takes ${emptyMs} ms. Requests that succeed only once are repeated
less often, so theirs holds more of the compiler's work. The first table leaves out starts of environments and answers
of the authorizer that are not cached; the second has both.`;

await runCommand(async () => {
  process.exitCode = await main();
});
