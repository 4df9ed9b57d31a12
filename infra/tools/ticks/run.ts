import { once } from "node:events";
import { createReadStream, statSync } from "node:fs";
import { helpAsked, readArguments, UsageError, wholeNumber } from "../../../shared/runtime/command-line.ts";
import {
  connectionHelp,
  connectionOf,
  connectionOptions,
  runServiceCommand,
  ServiceClient,
  sourceNamed,
} from "../service-client.ts";
import { generatedTicks, type WalkedSymbol, walkedSymbols } from "./generate.ts";
import { type Played, playTicks } from "./play.ts";
import { readTicks } from "./tick-file.ts";

const help = `Plays recorded ticks of a CSV file as the prices of a feed source.

npm run ticks -- --file <csv> [options]
  --file <csv>       columns time, bid, ask, symbol: named by the first line, or in this order; # begins a comment
  --symbol <name>    symbol of all lines, for a file without that column
  --speed <n>        seconds of the file that pass in one second (default 1)
  --pause <s>        longest wait between two ticks, in seconds (default: as in the file)
  --conflate         sends only the newest price of a symbol when several are due, so that it keeps its time
  --source <name>    feed source that sends the prices, registered when there is none (default ticks:recorded)
${connectionHelp}

npm run ticks -- --generate <n> [options]
  --generate <n>     prints n ticks of a random walk instead, which are NOT a recording of a market
  --seed <n>         the same seed makes the same ticks (default 1)
  --symbols <list>   of ${walkedSymbols.join(", ")} (default EURUSD)
  --help             this text

Times are RFC 3339 (UTC without a zone) or milliseconds since 1970. Prices are sent with the current time, at most as
fast as the service takes them. infra/tools/ticks/sample.csv is a generated file to begin with.`;

const progressMs = 2000;

function progressLine({ sent, accepted, conflated, others, behind_ms, at }: Played): string {
  const skipped = conflated === 0 ? "" : `, ${conflated} conflated`;
  const rest = [...others].map(([code, count]) => `, ${count} ${code}`).join("");
  const place = at === undefined ? "" : `, at ${new Date(at).toISOString()} of the file`;
  return `${sent} sent, ${accepted} accepted${skipped}${rest}${place}, ${(behind_ms / 1000).toFixed(1)} s behind`;
}

async function generate(count: string, seed: string, names: string): Promise<void> {
  const symbols = names.split(",").map((name) => {
    const known = walkedSymbols.find((each) => each === name.trim());
    if (known === undefined) throw new UsageError(`--symbols must be of ${walkedSymbols.join(", ")}, not "${name}".`);
    return known satisfies WalkedSymbol;
  });
  const most = 10_000_000;
  for (const line of generatedTicks(
    wholeNumber("generate", count, 1, most),
    wholeNumber("seed", seed, 0, 2 ** 32),
    symbols,
  )) {
    if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain");
  }
}

/** A positive number of an option. */
function positive(option: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new UsageError(`--${option} must be a number above 0.`);
}

await runServiceCommand(async () => {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    file: { type: "string" },
    symbol: { type: "string" },
    speed: { type: "string", default: "1" },
    pause: { type: "string" },
    conflate: { type: "boolean", default: false },
    source: { type: "string", default: "ticks:recorded" },
    generate: { type: "string" },
    seed: { type: "string", default: "1" },
    symbols: { type: "string", default: "EURUSD" },
    ...connectionOptions,
  });
  if (values.generate !== undefined) return generate(values.generate, values.seed, values.symbols);
  const { file } = values;
  if (file === undefined) throw new UsageError("The option --file is missing: it names the file of the ticks.");
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new UsageError(`--file names ${file}, which does not exist.`);
  if (found.isDirectory()) throw new UsageError(`--file names ${file}, which is a folder.`);
  const speed = positive("speed", values.speed);
  const longest_pause_ms =
    values.pause === undefined ? Number.POSITIVE_INFINITY : 1000 * positive("pause", values.pause);
  const client = new ServiceClient(connectionOf(values["base-url"]), {
    tries: 10,
    onRetry: (sentence) => console.error(sentence),
  });
  const source_id = await sourceNamed(client, values.source, "other");
  let printed = performance.now();
  const onProgress = (played: Played) => {
    if (performance.now() - printed < progressMs) return;
    printed = performance.now();
    console.log(progressLine(played));
  };
  const ticks = readTicks(createReadStream(file), values.symbol);
  const playback = { client, source_id, speed, longest_pause_ms, conflate: values.conflate, onProgress };
  const played = await playTicks(ticks, playback).catch((error: unknown) => {
    throw error instanceof UsageError ? new UsageError(`${file}, ${error.message}.`) : error;
  });
  console.log(`The file has ended. ${progressLine(played)}`);
});
