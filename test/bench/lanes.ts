import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Cloud, startCloud } from "../../infra/local/cloud.ts";
import { synthesizeOnce } from "../../infra/local/synthesis.ts";
import { helpAsked, readArguments, runCommand, wholeNumber } from "../../shared/runtime/command-line.ts";
import { type ApiClient, someClient } from "../support/stack/api-client.ts";
import { newApplication } from "../support/stack/application.ts";
import { type Received, type Receiver, startReceiver } from "../support/stack/receiver.ts";
import { callsTo, eventOf, quantiles, register } from "../support/stack/webhooks.ts";
import { eventually } from "../support/wait.ts";

const help = `Measures what receivers that never answer cost those that do, in one run of the local service.

npm run bench:lanes -- [options]
  --seconds <n>    length of each part of the run (default 60)
  --pace <n>       events a second of the brokerage with the proven endpoint (default 5)
  --flood <n>      events a second of the brokerage with the silent endpoints; each goes to all of them (default 1)
  --silent <list>  how many fresh silent endpoints, part by part (default 1,2,20)
  --hostile <n>    instead: so many rounds of one part alone, one next to ten silent endpoints, one that answers with
                   100 MB and one that answers with a byte a second, and one next to twelve that answer
  --help           this text

The workers are started before the first part. Every part has silent endpoints of a new brokerage; a third brokerage
opens a fresh endpoint every ten seconds, whose first delivery is timed. The last part has as many endpoints as the one
before it, and they answer: what the proven one loses there it loses to the work of this machine, and to no silence.
Ends with 1 when the proven endpoint's 99th percentile from commit to receipt is not under twice its value alone, or
when a fresh endpoint waits for more than 90 s.`;

/** What must hold. */
const most = { ratio: 2, first_delivery_ms: 90_000 };
const freshEveryMs = 10_000;
/** Endpoints that a brokerage may have. */
const mostEndpoints = 20;
const warming = { per_second: 2, seconds: 5 };

interface Part {
  readonly silent: number;
  /** Whether the last two of them answer at once and do not come to an end: 100 MB, and a byte a second. */
  readonly hostile?: boolean;
  /** Whether they answer after all. */
  readonly answering: boolean;
  readonly seconds: number;
  readonly pace: number;
  readonly flood: number;
}

interface Measured extends Part {
  readonly median: number;
  readonly p99: number;
  /** Milliseconds from the commit of a fresh endpoint's first event to its receipt. */
  readonly first_deliveries: readonly number[];
}

const pauseUntil = (ms: number) => new Promise((done) => setTimeout(done, Math.max(0, ms - Date.now())));

/** Fractions of an interval that cover it evenly: the multiples of the golden ratio. */
const drifting = (turn: number) => (turn * 0.618_034) % 1;

/**
 * Does something so many times a second, until the time is over; waits for what was begun. `phaseOf` says where in its
 * interval each turn is.
 */
async function paced(
  perSecond: number,
  endMs: number,
  work: (turn: number) => Promise<void>,
  phaseOf = (_turn: number) => 0,
): Promise<void> {
  const startMs = Date.now();
  const begun: Promise<void>[] = [];
  for (let turn = 0; perSecond > 0; turn += 1) {
    const atMs = startMs + ((turn + phaseOf(turn)) * 1000) / perSecond;
    if (atMs >= endMs) break;
    await pauseUntil(atMs);
    begun.push(work(turn));
  }
  await Promise.all(begun);
}

async function makeClient(api: ApiClient): Promise<void> {
  const { status, text } = await api.call("POST", "/clients", { body: someClient() });
  // A machine that does other work as well may take longer than a request may.
  if (status === 503) return makeClient(api);
  if (status !== 201) throw new Error(`POST /clients answered ${status}: ${text}`);
}

const latencyOf = (call: Received) => call.atMs - Date.parse(eventOf(call).created_at);

/** Answers with 100 MB, as fast as they are read. */
function pour(reply: ServerResponse): void {
  const megabyte = Buffer.alloc(1_000_000, 120);
  reply.on("error", () => undefined);
  pipeline(Readable.from(Array.from({ length: 100 }, () => megabyte)), reply).catch(() => undefined);
}

/** Answers at once and goes on with a byte a second. */
function drip(reply: ServerResponse): void {
  reply.writeHead(200).write("x");
  const timer = setInterval(() => reply.write("x"), 1000);
  reply.on("close", () => clearInterval(timer));
}

class Bench {
  private readonly cloud: Cloud;
  private readonly receiver: Receiver;
  private turn = 0;

  constructor(cloud: Cloud, receiver: Receiver) {
    this.cloud = cloud;
    this.receiver = receiver;
  }

  /** A brokerage with a proven endpoint at `/proven`. */
  async prove(): Promise<ApiClient> {
    this.receiver.answer = ({ path }, reply) => {
      if (path.startsWith("/large")) return pour(reply);
      if (path.startsWith("/slow")) return drip(reply);
      if (!path.startsWith("/silent")) reply.end();
    };
    const { api } = await newApplication(this.cloud);
    await register(api, `${this.receiver.url}/proven`);
    for (let event = 1; event <= 20; event += 1) {
      await makeClient(api);
      await eventually(() => callsTo(this.receiver, "/proven").length >= event || undefined, 60_000);
    }
    return api;
  }

  /** Starts the workers of both lanes, as the deliveries of other brokerages have on a stage at work. */
  async warm(): Promise<void> {
    const { api, ids } = await this.openOthers({ silent: mostEndpoints, answering: true });
    const startMs = Date.now();
    await paced(warming.per_second, startMs + warming.seconds * 1000, () => makeClient(api));
    const made = warming.per_second * warming.seconds * mostEndpoints;
    const answered = () => this.receiver.received.filter(({ path }) => path.startsWith("/answering")).length;
    await eventually(() => answered() >= made || undefined, 300_000);
    for (const id of ids) await api.call("DELETE", `/webhook_endpoints/${id}`);
  }

  /** One part of the run: its silent endpoints are new, and are removed at its end. */
  async measure(api: ApiClient, part: Part): Promise<Measured> {
    this.turn += 1;
    this.receiver.received.splice(0);
    const silent = part.silent > 0 ? await this.openOthers(part) : undefined;
    const { api: fresh } = await newApplication(this.cloud);
    const endMs = Date.now() + part.seconds * 1000;
    const first: number[] = [];
    let made = 0;
    await Promise.all([
      paced(part.pace, endMs, async () => {
        await makeClient(api);
        made += 1;
      }),
      // Two brokerages do not act at the same millisecond, as two even paces would have it every time.
      silent && paced(part.flood, endMs, () => makeClient(silent.api), drifting),
      paced(1000 / freshEveryMs, endMs, async (number) => {
        first.push(await this.firstDelivery(fresh, `/fresh-${this.turn}-${number}`));
      }),
    ]);
    await eventually(() => callsTo(this.receiver, "/proven").length >= made || undefined, 900_000);
    const { median, p99 } = quantiles(callsTo(this.receiver, "/proven").map(latencyOf));
    for (const id of silent?.ids ?? []) await silent?.api.call("DELETE", `/webhook_endpoints/${id}`);
    return { ...part, median, p99, first_deliveries: first };
  }

  private async openOthers({
    silent,
    hostile = false,
    answering,
  }: Pick<Part, "silent" | "hostile" | "answering">): Promise<{ readonly api: ApiClient; readonly ids: string[] }> {
    const { api } = await newApplication(this.cloud);
    const names: string[] = Array.from({ length: silent }, () => (answering ? "answering" : "silent"));
    if (hostile) names.splice(-2, 2, "large", "slow");
    const ids: string[] = [];
    for (const [at, name] of names.entries()) ids.push((await register(api, `${this.receiver.url}/${name}-${at}`)).id);
    return { api, ids };
  }

  /** Opens an endpoint, makes one event and waits for it; then the endpoint goes, so that the next one is alone. */
  private async firstDelivery(api: ApiClient, path: string): Promise<number> {
    const { id } = await register(api, this.receiver.url + path);
    await makeClient(api);
    const call = await eventually(() => callsTo(this.receiver, path)[0], 900_000);
    await api.call("DELETE", `/webhook_endpoints/${id}`);
    return latencyOf(call);
  }
}

function report(alone: Measured, measured: readonly Measured[]): boolean {
  const ms = (value: number) => String(Math.round(value)).padStart(8);
  console.log("  silent  median ms   p99 ms  p99 ratio  first delivery of a fresh endpoint, ms: median, longest");
  let held = true;
  for (const part of [alone, ...measured]) {
    const ratio = part.p99 / alone.p99;
    const first = { middle: quantiles(part.first_deliveries).median, longest: Math.max(...part.first_deliveries) };
    held &&= part === alone || part.answering || (ratio < most.ratio && first.longest <= most.first_delivery_ms);
    const figures = `${ms(part.silent)} ${ms(part.median)}  ${ms(part.p99)}   ${ratio.toFixed(2).padStart(8)}`;
    const name = part.answering ? "  (these answer)" : part.hostile ? "  (100 MB, and a byte a second)" : "";
    console.log(`${figures}  ${ms(first.middle)}, ${ms(first.longest)}${name}`);
  }
  return held;
}

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({
    seconds: { type: "string", default: "60" },
    pace: { type: "string", default: "5" },
    flood: { type: "string", default: "1" },
    silent: { type: "string", default: "1,2,20" },
    hostile: { type: "string", default: "0" },
  });
  const seconds = wholeNumber("seconds", values.seconds, 10);
  const pace = wholeNumber("pace", values.pace, 1, 15);
  const flood = wholeNumber("flood", values.flood, 0, 15);
  const rounds = wholeNumber("hostile", values.hostile, 0, 10);
  const counts = values.silent.split(",").map((count) => wholeNumber("silent", count, 1, mostEndpoints));
  const { directory: assemblyDir } = await synthesizeOnce("sandbox", resolve(join(".local", "cdk")), console.log);
  const dataDir = mkdtempSync(join(tmpdir(), "brokerage-lanes-"));
  const receiver = await startReceiver();
  try {
    const cloud = await startCloud({ assemblyDir, dataDir, port: 0, timeScale: 1 });
    try {
      const bench = new Bench(cloud, receiver);
      const api = await bench.prove();
      await bench.warm();
      const part = { seconds, pace, flood, answering: false };
      for (let round = 1; round <= Math.max(1, rounds); round += 1) {
        const alone = await bench.measure(api, { ...part, silent: 0 });
        const parts = rounds > 0 ? [{ silent: 12, hostile: true }] : counts.map((silent) => ({ silent }));
        const measured: Measured[] = [];
        for (const each of parts) measured.push(await bench.measure(api, { ...part, ...each }));
        measured.push(await bench.measure(api, { ...part, silent: parts.at(-1)?.silent ?? 1, answering: true }));
        if (!report(alone, measured)) process.exitCode = 1;
      }
    } finally {
      await cloud.stop();
    }
  } finally {
    await receiver.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await runCommand(main);
