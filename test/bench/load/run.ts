import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { synthesizeOnce } from "../../../infra/local/synthesis.ts";
import { limits } from "../../../shared/limits.ts";
import { helpAsked, readArguments, runCommand, UsageError, wholeNumber } from "../../../shared/runtime/command-line.ts";
import { reportOf } from "./report.ts";
import { runLoad } from "./run-load.ts";

const help = `Sends the requests of brokerages to the local service and looks at what they wait for.

node infra/run.mjs test/bench/load/run.ts [options]
  --minutes <n>       length of the run (default 5); a warm-up and further rates take half as long again
  --applications <n>  brokerages with an application each (default 10)
  --rate <n>          percent of the rate limit of each application (default 20)
  --loop <kind>       open: requests start at their times; closed: each waits for the one before (default open)
  --seed <n>          of the order of requests (default 1)
  --help              this text

infra/tools/cost/mix.ts states how often each endpoint is called. Writes test/bench/LOAD.md. Ends with 1
when anything but an earned 429 was refused, when memory grew, or when an event was not published and delivered.`;

const folder = fileURLToPath(new URL("..", import.meta.url));
const steps = [0.25, 0.5, 1.5, 2];

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    minutes: { type: "string", default: "5" },
    applications: { type: "string", default: "10" },
    rate: { type: "string", default: "20" },
    loop: { type: "string", default: "open" },
    seed: { type: "string", default: "1" },
  });
  const { loop } = values;
  if (loop !== "open" && loop !== "closed") throw new UsageError(`--loop must be open or closed, not "${loop}".`);
  const percent = wholeNumber("rate", values.rate, 1, 100);
  const { directory: assemblyDir } = await synthesizeOnce("sandbox", resolve(join(".local", "cdk")), console.log);
  const options = {
    assemblyDir,
    loop,
    seconds: 60 * wholeNumber("minutes", values.minutes, 1, 24 * 60),
    applications: wholeNumber("applications", values.applications, 1, 100),
    rate: ((limits.rate.per_minute / 60) * percent) / 100,
    steps,
    seed: wholeNumber("seed", values.seed, 0),
    log: console.log,
  } as const;
  const report = await runLoad(options);
  const text = reportOf({ ...options, percent }, report);
  writeFileSync(join(folder, "LOAD.md"), text);
  console.log(text);
  for (const fault of report.faults.slice(0, 50)) console.log(`  FAULT ${fault}`);
  if (report.faults.length > 0) process.exitCode = 1;
});
