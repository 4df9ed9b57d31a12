import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { backgroundOf } from "../../../infra/background/index.ts";
import { synthesizeOnce } from "../../../infra/local/synthesis.ts";
import {
  type MeasuredUnits,
  measuredUnits,
  type RequestUnits,
  type SweepUnits,
  type TickUnits,
} from "../../../infra/tools/cost/units.ts";
import type { BackgroundWork } from "../../../shared/domain/usage/event-cost.ts";
import { routes } from "../../../shared/routes/index.ts";
import type { Route } from "../../../shared/routes/route.ts";
import { helpAsked, readArguments, runCommand } from "../../../shared/runtime/command-line.ts";
import { positions } from "../../../shared/table/entities.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { startBucketEndpoint } from "../../support/emulator/bucket-endpoint.ts";
import { startLogEndpoint } from "../../support/emulator/log-endpoint.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { type TableCall, unitsOf } from "../../support/emulator/watched-endpoint.ts";
import { backgroundFiles, compile } from "../../support/model/stage.ts";
import { startWorkload, type Workload } from "../workload.ts";
import { eventWork, tickWork } from "./event-cost.ts";
import { hotSecond } from "./hot-set.ts";
import { processorTimes } from "./processor-times.ts";
import { chainOf, heldMs, publishedTimes } from "./published-times.ts";
import { putManySymbols, tradingCosts } from "./trading-cost.ts";

const help = `Counts what requests, events, prices and sweeps ask of other services, for the prices of npm run cost.

npm run bench:units -- [options]
  --only <texts>   routes and scheduled functions whose id holds one of these texts, "audit,operator"; all else keeps
                   its count
  --help           this text

Writes infra/tools/cost/units.json and shared/domain/usage/event-units.json. Processor times are those of
test/bench/LATENCY.md.`;

const isRead = ({ operation }: TableCall) => /^(?:BatchGetItem|Query|GetItem)$/.test(operation);

const endpointCounts = [0, 1, 2, 5, 20];
const pricesPerRequest = [1, 20];

async function main(): Promise<void> {
  if (helpAsked(help)) return;
  const { values } = readArguments({ only: { type: "string" } });
  const workload = await startWorkload();
  try {
    const units = values.only === undefined ? await allUnits(workload) : await someUnits(workload, values.only);
    const { events, ...others } = units;
    await writeJson("infra/tools/cost/units.json", others);
    await writeJson("shared/domain/usage/event-units.json", events);
  } finally {
    await workload.stop();
  }
}

function writeJson(path: string, content: object): Promise<void> {
  return writeFile(new URL(`../../../${path}`, import.meta.url), `${JSON.stringify(content, null, 2)}\n`);
}

async function allUnits(workload: Workload): Promise<MeasuredUnits> {
  const { storedOfCommand } = await import("./stored-bytes.ts");
  const { events, behind } = await modelledWork();
  const ticks: TickUnits[] = [];
  for (const [prices_per_request, each] of behind) {
    ticks.push({ prices_per_request, request: await tickRequest(workload, prices_per_request), behind: each });
  }
  const trading = await tradingCosts(workload.api);
  return {
    counted_on: new Date().toISOString().slice(0, 10),
    routes: await requestUnits(workload, routes),
    authorizer: await authorizerUnits(workload),
    events,
    ticks,
    hot_second: await hotSecond(workload.api),
    stored_bytes: await storedOfCommand(workload.api),
    trading: trading.map(({ name, cost, per }) => ({
      name,
      read_units: rounded(cost.read_units / per),
      write_units: rounded(cost.write_units / per),
    })),
    sweeps: await sweepUnits(workload),
  };
}

/** The committed count with some routes and sweeps counted again, and without those that no longer exist. */
async function someUnits(workload: Workload, only: string): Promise<MeasuredUnits> {
  const counted = measuredUnits();
  const isAsked = isNamedIn(only);
  const again = await requestUnits(
    workload,
    routes.filter(({ id }) => isAsked(id)),
  );
  const all = { ...counted.routes, ...again };
  const kept = routes.flatMap(({ id }) => (all[id] === undefined ? [] : [[id, all[id]] as const]));
  const sweeps = { ...counted.sweeps, ...(await sweepUnits(workload, isAsked)) };
  const scheduled = backgroundOf("sandbox", true).filter(({ id }) => sweeps[id] !== undefined);
  return {
    ...counted,
    routes: Object.fromEntries(kept),
    sweeps: Object.fromEntries(scheduled.map(({ id }) => [id, sweeps[id] as SweepUnits])),
  };
}

/** Whether an id holds one of these texts, which commas separate. */
function isNamedIn(texts: string): (id: string) => boolean {
  const parts = texts.split(",");
  return (id) => parts.some((part) => id.includes(part));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function unitsIn(calls: readonly TableCall[]): SweepUnits {
  return {
    read_units: unitsOf(calls.filter(isRead)),
    write_units: unitsOf(calls.filter((call) => !isRead(call))),
    waiting_ms: chainOf(calls).published_ms,
  };
}

/** The units of some work, its calls held so that those that overlap are seen to. */
async function heldUnits({ api }: Workload, work: () => Promise<unknown>): Promise<SweepUnits> {
  api.watched.interfere = ({ operation }) => setTimeout(heldMs(operation), undefined);
  api.watched.takeCalls();
  try {
    await work();
  } finally {
    api.watched.interfere = () => undefined;
  }
  return unitsIn(api.watched.takeCalls());
}

async function requestUnits(workload: Workload, rows: readonly Route[]): Promise<Record<string, RequestUnits>> {
  const times = await processorTimes();
  const found: Record<string, RequestUnits> = {};
  const failed: string[] = [];
  for (const row of rows) {
    process.stderr.write(`${row.id}\n`);
    try {
      const asked = await workload.callsOf(row, heldMs);
      if (asked === undefined) throw new Error("The bench has no request of it.");
      const { waiting_ms, ...units } = unitsIn(asked.calls);
      const queue_ms = asked.messages > 0 ? publishedTimes.queue_ms : 0;
      const processor_ms = times.get(row.id) ?? null;
      found[row.id] = { ...units, messages: asked.messages, waiting_ms: waiting_ms + queue_ms, processor_ms };
    } catch (error) {
      failed.push(`${row.id}: ${error instanceof Error ? error.message : error}`);
    }
  }
  if (failed.length > 0) throw new Error(`Not every route could be counted:\n${failed.join("\n")}`);
  return found;
}

/** A request with prices of several symbols, as a bridge sends them. */
async function tickRequest(workload: Workload, count: number): Promise<RequestUnits> {
  const { api } = workload;
  const as = newCaller();
  const names = await putManySymbols(api, as, count);
  const source = await bridge(api, as).newSource({ authoritative: "platform" });
  const send = async (seq: number) => {
    const time = new Date().toISOString();
    const quotes = names.map((symbol) => ({ symbol, bid: "1.10000", ask: "1.10010", time, seq: String(seq) }));
    const { status, text } = await api.call(as, "POST", `${source.path}/quotes`, { body: { quotes } });
    if (status >= 300) throw new Error(`The prices were answered ${status}: ${text}`);
  };
  await send(1);
  const units = await heldUnits(workload, () => send(2));
  const times = await processorTimes();
  return { ...units, messages: 0, processor_ms: times.get("send_feed_quotes") ?? null };
}

/** A token that the gateway has not kept: what the authorizer does for it. */
async function authorizerUnits(workload: Workload): Promise<SweepUnits> {
  const { handler } = await import("../../../functions/oauth/authorize.ts");
  const event = () => workload.eventFor("oauth/authorize") as Promise<never>;
  await handler(await event());
  const next = await event();
  return heldUnits(workload, () => handler(next));
}

/** One run of each scheduled function where there is nothing to do, its clients loaded before. */
/** It calls Lambda alone, some twenty times in parallel: no published time of that call is known. */
const warming: SweepUnits = { read_units: 0, write_units: 0, waiting_ms: 50 };

async function sweepUnits(workload: Workload, isAsked = isNamedIn("")): Promise<Record<string, SweepUnits>> {
  const { deleteItem } = await import("../../../shared/table/items.ts");
  const found: Record<string, SweepUnits> = { "keep-warm": warming };
  const bucket = await startBucketEndpoint();
  const logs = await startLogEndpoint();
  Object.assign(process.env, bucket.environment, logs.environment);
  // A stage without traffic has no positions, so the sum of those that the requests above opened is no part of a run.
  for (const { et, pk, sk } of await scanTable(workload.api.emulator)) {
    if (et === positions.et) await deleteItem({ pk: String(pk), sk: String(sk) });
  }
  const ofProduction = new Set(backgroundOf("production").map(({ id }) => id));
  for (const { id, file, trigger } of backgroundOf("sandbox")) {
    if (trigger.schedule === undefined || !isAsked(id)) continue;
    process.stderr.write(`${id}\n`);
    // Production has more shards of the due index, each of which a sweep queries.
    process.env["STAGE"] = ofProduction.has(id) ? "production" : "sandbox";
    const { handler } = await import(new URL(`../../../functions/${file}.ts`, import.meta.url).href);
    const run = () => handler(trigger.schedule?.input, lambdaContext(60_000));
    // The first run ends what the requests above left to do.
    await run();
    found[id] = await heldUnits(workload, run);
  }
  await Promise.all([bucket.stop(), logs.stop()]);
  return found;
}

/** Events and prices in the model of the functions behind the API. */
async function modelledWork() {
  const { directory } = await synthesizeOnce("production", resolve(join(".local", "cdk")), console.error);
  const program = await compile(await backgroundFiles("events/"), "test/bench/scale/workload.ts");
  const events: Record<string, MeasuredUnits["events"][string]> = {};
  for (const endpoints of endpointCounts) {
    process.stderr.write(`an event with ${endpoints} endpoints\n`);
    events[endpoints] = await eventWork(program, directory, endpoints);
  }
  const market = await compile(await backgroundFiles("margin/"), "test/bench/scale/market-workload.ts");
  const behind = new Map<number, BackgroundWork>();
  for (const count of pricesPerRequest) behind.set(count, await tickWork(market, directory, count));
  return { events, behind };
}

await runCommand(main);
