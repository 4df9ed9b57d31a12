import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { synthesizeOnce } from "../../../infra/local/synthesis.ts";
import { helpAsked, readArguments, runCommand, wholeNumber } from "../../../shared/runtime/command-line.ts";
import { measureStream } from "./measure.ts";
import { faultsOf, reportOf } from "./report.ts";

const help = `Measures the stream of the local service from commit to receipt.

node infra/run.mjs test/bench/stream/run.ts [options]
  --connections <n>  connections with ten subscriptions each, at most 25 to an application (default 200)
  --rate <n>         events a second that all of them receive (default 30)
  --seconds <n>      length of each of the two runs with them (default 20)
  --replayed <n>     events that a client has missed when it connects again (default 5000)
  --help             this text

Takes three and a half minutes and writes test/bench/STREAM.md. Ends with 1 when a number was missing or out of order,
when one subscriber waited for 500 ms in the median, when a replay took 10 s, when a reader that takes nothing doubled
the p99 of the others, or when of a thousand ticks a second more quotes came than max_per_second, or not the newest
price last.`;

const target = fileURLToPath(new URL("../STREAM.md", import.meta.url));

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    connections: { type: "string", default: "200" },
    rate: { type: "string", default: "30" },
    seconds: { type: "string", default: "20" },
    replayed: { type: "string", default: "5000" },
  });
  const { directory: assemblyDir } = await synthesizeOnce("sandbox", resolve(join(".local", "cdk")), console.log);
  const options = {
    assemblyDir,
    connections: wholeNumber("connections", values.connections, 1, 1000),
    rate: wholeNumber("rate", values.rate, 1, 100),
    seconds: wholeNumber("seconds", values.seconds, 1, 600),
    replayed: wholeNumber("replayed", values.replayed, 1, 100_000),
    log: console.log,
  };
  const figures = await measureStream(options);
  const text = reportOf(options, figures);
  writeFileSync(target, text);
  console.log(text);
  const faults = faultsOf(figures);
  for (const fault of faults) console.log(`  FAULT ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
});
