import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { helpAsked, readArguments, UsageError } from "../../../shared/runtime/command-line.ts";
import { startBridge } from "../../bridge/bridge.ts";
import { SimulatedVenue } from "../../bridge/simulated-venue.ts";
import { type Cloud, startCloud } from "../../local/cloud.ts";
import { synthesizeOnce } from "../../local/synthesis.ts";
import { isRecord } from "../../local/template/intrinsics.ts";
import type { StreamClient } from "../../sdk/stream/stream-client.ts";
import { accessToken, type Credentials, send } from "../api-call.ts";
import { startReceiver } from "../receiver/receiver.ts";
import { ServiceClient, sourceNamed } from "../service-client.ts";
import { followStream } from "./follow-stream.ts";
import { lifePlot, lifeTable } from "./picture.ts";
import { booksTable, tellPlatformStory } from "./platform-story.ts";
import { type Arrival, type DemoReply, type Streamed, tellStory } from "./story.ts";

const help = `Walks through the life of one account on the service of this machine, from an empty brokerage to a
stop-out, by HTTP alone: every request and answer, every webhook with its signature, the same events on the stream, and
at the end a table and a plot.

npm run demo -- [options]
  --platform         walks through that of an account of a trading platform instead: a deposit by a command to a
                     simulated platform, deals that its bridge reports, and a drift
  --quiet            the table and the plot only
  --help             this text

It starts the service by itself, on free ports and an empty folder that it removes, in addition to a running npm
start.`;

/** The levels in percent that an account has by default. */
const levels = { call: 100, out: 50 };

async function newBrokerage(cloud: Cloud): Promise<Credentials> {
  const request = { action: "create_application", tenant_id: null, name: "Demo", scopes: null };
  const { payload, functionError } = await cloud.invoke("brokerage-sandbox-provision", request);
  if (functionError !== undefined || !isRecord(payload)) throw new Error("The brokerage cannot be made.");
  const { client_id, client_secret } = payload;
  return { client_id: String(client_id), client_secret: String(client_secret) };
}

function callerOf(baseUrl: string, token: string) {
  return (method: string, path: string, body?: object): Promise<DemoReply> => {
    return send(baseUrl + path, method, { body, token });
  };
}

async function play(cloud: Cloud, quiet: boolean): Promise<void> {
  const arrivals: Arrival[] = [];
  const streamed: Streamed[] = [];
  const secrets: string[] = [];
  const receiver = await startReceiver({
    port: 0,
    secrets,
    status: 200,
    failFirst: 0,
    delayMs: 0,
    print: () => undefined,
    seen: (body, signature) => {
      const { sequence, type, id } = JSON.parse(body) as { sequence: string; type: string; id: string };
      arrivals.push({ sequence: Number(sequence), type, id, signature });
    },
  });
  let stream: StreamClient | undefined;
  try {
    const token = await accessToken(cloud.baseUrl, await newBrokerage(cloud));
    stream = followStream(callerOf(cloud.baseUrl, token), streamed);
    const moments = await tellStory({
      call: callerOf(cloud.baseUrl, token),
      say: quiet ? () => undefined : (text) => console.log(text),
      receiverUrl: receiver.url,
      expectSecret: (secret) => void secrets.push(secret),
      arrivals,
      streamed,
    });
    console.log("\n## The life of the account\n");
    for (const line of lifeTable(moments)) console.log(line);
    console.log("\n  * equity   o balance   - where the margin call comes   = where the stop-out comes\n");
    for (const line of lifePlot(moments, levels)) console.log(line);
  } finally {
    stream?.close();
    await receiver.stop();
  }
}

async function playPlatform(cloud: Cloud, quiet: boolean, folder: string): Promise<void> {
  const credentials = await newBrokerage(cloud);
  const token = await accessToken(cloud.baseUrl, credentials);
  const client = new ServiceClient({ base_url: cloud.baseUrl, ...credentials });
  const source_id = await sourceNamed(client, "mt5:simulated", "mt5");
  const say = quiet ? () => undefined : (text: string) => console.log(text);
  const venue = await SimulatedVenue.open({ client, folder, currency: "USD" });
  const bridge = await startBridge({ client, source_id, venue, folder, say: (text) => say(`  Bridge: ${text}`) });
  try {
    const stage = { call: callerOf(cloud.baseUrl, token), say, source_id, venue, bridge };
    const moments = await tellPlatformStory(stage);
    console.log("\n## The two books of the account\n");
    for (const line of booksTable(moments)) console.log(line);
  } finally {
    await bridge.stop();
  }
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    quiet: { type: "boolean", default: false },
    platform: { type: "boolean", default: false },
  });
  console.log("Starting the service on this machine ...");
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-demo-"));
  // A process that receives a signal to end leaves nothing behind; what was started ends with this process.
  process.once("exit", () => rmSync(dataDir, { recursive: true, force: true }));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
  const assembly = await synthesizeOnce("sandbox", resolve(".local/cdk"), console.log);
  const cloud = await startCloud({ assemblyDir: assembly.directory, dataDir, port: 0 });
  try {
    if (values.platform) await playPlatform(cloud, values.quiet, join(dataDir, "bridge"));
    else await play(cloud, values.quiet);
  } finally {
    await cloud.stop();
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  console.error(error instanceof UsageError ? text : `\nThe demo could not be told to its end. ${text}`);
  process.exit(1);
}
