import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { helpAsked, readArguments, runCommand, UsageError } from "../../../shared/runtime/command-line.ts";
import { connectionHelp, connectionOf, connectionOptions, ServiceClient, sourceNamed } from "../service-client.ts";
import { startBridge } from "./bridge.ts";
import { consoleHelp, consoleOf } from "./console.ts";
import { SimulatedVenue } from "./simulated-venue.ts";

const help = `Connects a trading venue to the service, until Ctrl-C.

npm run bridge -- --simulate [options]
  --simulate         a simulated venue that accepts commands and fills orders at the quotes of the service
  --source <name>    feed source, registered when there is none (default mt5:simulated)
  --currency <code>  currency of the accounts of the venue (default USD)
  --data <folder>    journal of the bridge and ledger of the venue (default .local/bridge)
${connectionHelp}
  --help             this text

${consoleHelp}`;

const platforms = ["mt4", "mt5", "ctrader"];

/** The platform that the name of a source begins with. */
function platformOf(source: string): string {
  const [platform = ""] = source.split(":");
  return platforms.includes(platform) ? platform : "other";
}

await runCommand(async () => {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    simulate: { type: "boolean", default: false },
    source: { type: "string", default: "mt5:simulated" },
    currency: { type: "string", default: "USD" },
    data: { type: "string", default: resolve(".local", "bridge") },
    ...connectionOptions,
  });
  if (!values.simulate) throw new UsageError("Give --simulate; --help says what it does.");
  const say = (sentence: string) => console.log(sentence);
  const client = new ServiceClient(connectionOf(values["base-url"]), { onRetry: say });
  const source_id = await sourceNamed(client, values.source, platformOf(values.source));
  const folder = resolve(values.data, source_id);
  const venue = await SimulatedVenue.open({ client, folder, currency: values.currency });
  const bridge = await startBridge({ client, source_id, venue, folder, say });
  say(`The bridge of ${values.source} (${source_id}) runs. Link accounts with this source_id; Ctrl-C stops it.`);
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => void consoleOf(venue, bridge)(line).then(say));
  let stopped = false;
  const stop = () => {
    stopped = true;
    lines.close();
    void bridge.stop().then(() => process.exit());
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  await bridge.ended;
  if (!stopped) stop();
});
