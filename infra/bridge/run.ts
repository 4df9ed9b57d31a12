import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { helpAsked, readArguments, UsageError, wholeNumber } from "../../shared/runtime/command-line.ts";
import { onLine } from "../local/lines.mjs";
import {
  connectionHelp,
  connectionOf,
  connectionOptions,
  runServiceCommand,
  ServiceClient,
  sourceNamed,
} from "../tools/service-client.ts";
import { startBridge } from "./bridge.ts";
import { readConfig } from "./config.ts";
import { consoleHelp, consoleOf } from "./console.ts";
import { type FixSettings, FixVenue } from "./fix/fix-venue.ts";
import { readTls } from "./fix/transport.ts";
import { moneyHook } from "./money-hook.ts";
import { SimulatedVenue } from "./simulated-venue.ts";
import type { Venue } from "./venue.ts";

const help = `Connects a trading venue to the service, until Ctrl-C.

npm run bridge -- --config <file>
  --config <file>    connects a venue over FIX 4.4 or 4.2 as the file says: infra/bridge/bridge.example.json.
                     FIX_PASSWORD holds the password of the session

npm run bridge -- --simulate [options]
  --simulate         a simulated venue that accepts commands and fills orders at the quotes of the service
  --source <name>    feed source, registered when there is none (default mt5:simulated)
  --currency <code>  currency of the accounts of the venue (default USD)
  --data <folder>    journal of the bridge and ledger of the venue (default .local/bridge)
${connectionHelp}

npm run bridge -- test [options]
  test               kills the bridge, a venue and the connection to the service at random, and compares the books
  --ordermatch <f>   the venue is QuickFIX's ordermatch, whose connection is cut (Debian: libquickfix-doc and
                     libquickfix17); it runs in a network namespace, since it listens on every address
  --seconds <n>      how long (default 45)
  --seed <n>         what is killed when (default: random)
  --help             this text

${consoleHelp}`;

const platforms = ["mt4", "mt5", "ctrader"];
const say = (sentence: string) => console.log(sentence);

/** The platform that the name of a source begins with. */
function platformOf(source: string): string {
  const [platform = ""] = source.split(":");
  return platforms.includes(platform) ? platform : "other";
}

interface Wanted {
  readonly source: string;
  readonly baseUrl: string | undefined;
  /** Folder of all bridges; each source has one in it. */
  readonly data: string;
  readonly venue: (client: ServiceClient, folder: string) => Promise<Venue>;
}

async function run({ source, baseUrl, data, venue: open }: Wanted): Promise<void> {
  const client = new ServiceClient(connectionOf(baseUrl), { onRetry: say });
  const source_id = await sourceNamed(client, source, platformOf(source));
  const folder = resolve(data, source_id);
  const venue = await open(client, folder);
  const bridge = await startBridge({ client, source_id, venue, folder, say });
  say(`The bridge of ${source} (${source_id}) runs. Link accounts with this source_id; Ctrl-C stops it.`);
  if (venue instanceof SimulatedVenue) {
    const act = consoleOf(venue, bridge);
    onLine(process.stdin, (line) => void act(line.trim()).then(say));
  }
  const stop = () => void bridge.stop().then(() => process.exit());
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  // Ends with an error only: a bridge that was stopped ends the process.
  await bridge.ended;
}

async function runFix(file: string): Promise<void> {
  const config = readConfig(file);
  const folder = dirname(resolve(file));
  const password = process.env["FIX_PASSWORD"];
  connectionOf(config.base_url);
  const hook = await moneyHook(config.money, folder);
  const { tls, ...fix } = config.fix;
  const settings = {
    ...fix,
    ...(tls !== undefined && { tls: readTls(tls, folder) }),
    ...(password !== undefined && { password }),
  } as FixSettings;
  await run({
    source: config.source,
    baseUrl: config.base_url,
    data: resolve(folder, config.data ?? "bridge-data"),
    venue: async (_, data) => new FixVenue({ settings, hook, folder: data, say }),
  });
}

/** Runs the test against a venue that can be killed, and against ordermatch where it is installed. */
async function test(seconds: number, seed: number, given: string | undefined): Promise<void> {
  const { debianOrdermatch, proveOrdermatch, runApart } = await import("./fix/proof/ordermatch.ts");
  if (given === undefined) {
    const { proveBridge } = await import("./fix/proof/prove.ts");
    await proveBridge(seconds, seed, say);
  }
  const file = given ?? debianOrdermatch;
  if (given === undefined && !existsSync(file)) return say("QuickFIX's ordermatch is not installed here: --help.");
  const status = runApart(file, seconds, seed);
  if (status === undefined) return proveOrdermatch(file, seconds, seed, say);
  if (status !== 0) throw new UsageError("The test with ordermatch failed.");
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values, positionals } = readArguments(
    {
      config: { type: "string" },
      simulate: { type: "boolean", default: false },
      source: { type: "string" },
      currency: { type: "string" },
      data: { type: "string" },
      ordermatch: { type: "string" },
      seconds: { type: "string", default: "45" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      ...connectionOptions,
    },
    { positionals: 1 },
  );
  const { config, simulate } = values;
  if (positionals[0] === "test") {
    await test(wholeNumber("seconds", values.seconds, 5, 3600), wholeNumber("seed", values.seed, 0), values.ordermatch);
    process.exit();
  }
  if (positionals.length > 0) throw new UsageError(`The argument "${positionals[0]}" is not known.`);
  if (config !== undefined) {
    const ofSimulation = (["simulate", "source", "currency", "data", "base-url"] as const).find((name) => values[name]);
    if (ofSimulation === undefined) return runFix(config);
    throw new UsageError(`--${ofSimulation} does not go with --config: the file says what the bridge connects.`);
  }
  if (!simulate) throw new UsageError("Give --config <file> or --simulate; --help says what they do.");
  const { source = "mt5:simulated", currency = "USD", data = resolve(".local", "bridge") } = values;
  const venue = (client: ServiceClient, folder: string) => SimulatedVenue.open({ client, folder, currency });
  return run({ source, baseUrl: values["base-url"], data, venue });
}

await runServiceCommand(async () => {
  try {
    await main();
  } catch (error) {
    process.exitCode = 1;
    setImmediate(() => process.exit());
    throw error;
  }
});
