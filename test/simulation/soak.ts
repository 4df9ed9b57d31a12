import { join, resolve } from "node:path";
import { synthesizeOnce } from "../../infra/local/synthesis.ts";
import { helpAsked, readArguments, runCommand, wholeNumber } from "../../shared/runtime/command-line.ts";
import { runSoak, type SoakOptions, type SoakReport } from "./soak-run.ts";

const help = `Writes events while functions die, records come twice and queues are purged; looks whether one was lost.

npm run soak -- [options]
  --events <n>      events of the run with trouble (default 2000; 0 leaves it out); each goes to ten endpoints: seven
                    that accept, one that fails at 40 %, one that never answers, one that is not there
  --compared <n>    events of the two quiet runs before it, without and with the three sick endpoints, in real time:
                    their times at the healthy ones are compared (default 200; 0 leaves them out)
  --quiet-pace <n>  events a second of those two, at most (default 1)
  --pace <n>        events a second of the run with trouble, at most (default 8)
  --time-scale <n>  how much faster the ladder is climbed in the run with trouble (default 1000)
  --kill-every <ms> one process of a function is killed in this time, on average (default 5000)
  --seed <n>        of the trouble (default 20261121)
  --help            this text

Two oracles judge the raw table and what the receivers got. Ends with 1 when they find anything, or when the healthy
endpoints' 99th percentile is not under twice what it is without the sick ones.`;

/** Throws a UsageError for what is wrong. */
function readOptions() {
  const { values } = readArguments({
    events: { type: "string", default: "2000" },
    compared: { type: "string", default: "200" },
    "quiet-pace": { type: "string", default: "1" },
    pace: { type: "string", default: "8" },
    "time-scale": { type: "string", default: "1000" },
    "kill-every": { type: "string", default: "5000" },
    seed: { type: "string", default: "20261121" },
  });
  return {
    events: wholeNumber("events", values.events, 0),
    compared: wholeNumber("compared", values.compared, 0),
    quiet_pace: wholeNumber("quiet-pace", values["quiet-pace"], 1),
    pace: wholeNumber("pace", values.pace, 1),
    time_scale: wholeNumber("time-scale", values["time-scale"], 1),
    kill_every_ms: wholeNumber("kill-every", values["kill-every"], 1),
    seed: wholeNumber("seed", values.seed, 0),
  };
}

async function run(name: string, options: SoakOptions): Promise<SoakReport> {
  const startMs = Date.now();
  console.log(`${name}: ${options.events} events, ${options.pace} a second at most`);
  const report = await runSoak(options);
  const { faults, ...told } = report;
  console.log(`${JSON.stringify(told, null, 2)}\n${name} took ${Math.round((Date.now() - startMs) / 1000)} s.`);
  for (const fault of faults.slice(0, 50)) console.log(`  FAULT ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
  return report;
}

const sick = ["failing", "silent", "dead"] as const;

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const given = readOptions();
  const { compared, quiet_pace, ...rest } = given;
  const { directory: assemblyDir } = await synthesizeOnce("sandbox", resolve(join(".local", "cdk")), console.log);
  const common = { ...rest, assemblyDir, writers: 4, healthy: 7, settle_ms: 300_000, log: console.log };
  if (compared > 0) {
    const quiet = { ...common, events: compared, pace: quiet_pace, chaos: false, time_scale: 1, times_only: true };
    const alone = await run("Healthy endpoints alone", { ...quiet, sick: [] });
    const beside = await run("Healthy endpoints beside sick ones", { ...quiet, sick });
    const ratio = beside.healthy.p99 / alone.healthy.p99;
    console.log(`The healthy endpoints' p99 is ${ratio.toFixed(2)} times what it is without the sick ones.`);
    if (ratio >= 2) process.exitCode = 1;
  }
  if (given.events === 0) return;
  const { faults } = await run("Trouble", { ...common, sick, chaos: true, times_only: false });
  console.log(faults.length === 0 ? "Nothing was lost." : `${faults.length} faults were found.`);
}

await runCommand(main);
