import { memoryOf } from "../../../infra/function-memory.ts";
import type { BackgroundWork } from "../../../shared/domain/usage/event-cost.ts";
import { type Program, Stage } from "../../support/model/stage.ts";
import { EventWatch } from "../../support/model/watch.ts";
import { commitAtRate, scaleTenant } from "../scale/publishing.ts";

const run = { rate: 5, seconds: 20 };

/** Length of a run: the commits, and until the sweep has seen to the last event. A whole number of sweeps. */
const wholeMs = 180_000;

/**
 * Work of one event after its commit: commits five times a second for a while in the model and counts what follows, to
 * the sweep that takes the last event out of the due index. The stage's work without any event in the same time does
 * not count, nor do the write units of the commits. `audited` says whether the audit gets an entry of each commit.
 */
export async function eventWork(
  program: Program,
  assemblyDir: string,
  endpoints: number,
  audited = true,
): Promise<BackgroundWork> {
  const stage = new Stage({ program, assemblyDir, seed: 1, shards: 1 });
  const watch = new EventWatch(stage);
  const { simulation, database } = stage;
  if (endpoints > 0) {
    const made = stage.call("endpoints", { tenant: scaleTenant, count: endpoints });
    await simulation.run(5000);
    const outcome = await made;
    if (!outcome.ok) throw new Error("The endpoints could not be made.", { cause: outcome });
  }
  const idle = await workOf(stage, () => simulation.run(wholeMs));
  const busy = await workOf(stage, () => {
    commitAtRate(stage, { ...run, audited });
    return simulation.run(wholeMs);
  });
  const events = watch.publishedMs.length;
  const due = [...database.tables.items(stage.mainTable)].filter((item) => item["due_pk"] !== undefined);
  if (watch.backlog > 0 || watch.deliveredMs.length < events * endpoints || due.length > 0) {
    throw new Error("The run ended before its events were delivered to all.");
  }
  const each = shareOf(busy, idle, events);
  const units = await commitUnits({ program, assemblyDir }, audited);
  return { ...each, write_units: Number((each.write_units - units).toFixed(6)) };
}

/** Write units of one commit of the model, before anything follows from it. */
async function commitUnits(
  parts: { readonly program: Program; readonly assemblyDir: string },
  audited: boolean,
): Promise<number> {
  const stage = new Stage({ ...parts, seed: 1, shards: 1 });
  const { counts } = stage.database;
  const before = counts.write_units;
  let units = 0;
  stage.simulation.start(async () => {
    const outcome = await stage.call("commit", { tenant: scaleTenant, number: 1, audited });
    if (!outcome.ok) throw new Error("The commit failed.", { cause: outcome });
    units = counts.write_units - before;
  });
  await stage.simulation.run(5000, () => units > 0);
  return units;
}

const tenant = scaleTenant;
const ticks = 100;
/** Shards of the stream of a new table on demand (AWS docs: DynamoDB, partitions of on-demand tables). */
const newShards = 4;
const tickMs = 1000;
/** Until what the last price causes is done as well. */
const ticksMs = (ticks + 10) * tickMs;

/**
 * Work behind a request with so many prices, for an account with a position in each symbol whose margin
 * status they do not change: their records in the stream, and who reads them. The records of a request come together,
 * so that an invocation has those of a shard. The writes of the prices themselves do not count.
 */
export async function tickWork(program: Program, assemblyDir: string, count: number): Promise<BackgroundWork> {
  const stage = new Stage({ program, assemblyDir, seed: 1, shards: newShards });
  const { simulation } = stage;
  const opening = stage.call("account", { tenant, count });
  await simulation.run(60_000);
  const opened = await opening;
  if (!opened.ok) throw new Error("The account could not be opened.", { cause: opened });
  const idle = await workOf(stage, () => simulation.run(ticksMs));
  const busy = await workOf(stage, async () => {
    simulation.start(async () => {
      for (let at = 0; at < ticks; at += 1) {
        const up = at % 2 === 0;
        const price = up ? { bid: "1.10020", ask: "1.10030" } : { bid: "1.10000", ask: "1.10010" };
        const priced = await stage.call("price", { tenant, count, ...price });
        if (!priced.ok) throw new Error("The price could not be written.", { cause: priced });
        await simulation.sleep(tickMs);
      }
    });
    await simulation.run(ticksMs);
  });
  const each = shareOf(busy, idle, ticks);
  return { ...each, write_units: each.write_units - count };
}

function shareOf(busy: BackgroundWork, idle: BackgroundWork, count: number): BackgroundWork {
  const share = (name: keyof BackgroundWork) => Number(((busy[name] - idle[name]) / count).toFixed(6));
  return {
    write_units: share("write_units"),
    read_units: share("read_units"),
    messages: share("messages"),
    fifo_messages: share("fifo_messages"),
    invocations: share("invocations"),
    gigabyte_seconds: share("gigabyte_seconds"),
  };
}

/** Work of a stage during a call. */
async function workOf(stage: Stage, work: () => Promise<void>): Promise<BackgroundWork> {
  const counts = () => ({ ...stage.database.counts, ...functionsOf(stage) });
  const begun = counts();
  await work();
  const ended = counts();
  const spent = (name: keyof BackgroundWork) => ended[name] - begun[name];
  return {
    write_units: spent("write_units"),
    read_units: spent("read_units"),
    messages: spent("messages"),
    fifo_messages: spent("fifo_messages"),
    invocations: spent("invocations"),
    gigabyte_seconds: spent("gigabyte_seconds"),
  };
}

/** Invocations and gigabyte-seconds of the functions, without those of the workload, and messages of all queues. */
function functionsOf({ functions: { counts }, queues }: Stage) {
  const own = Object.entries(counts).filter(([name]) => !name.startsWith("workload"));
  const sentTo = (fifo: boolean) =>
    [...queues.entries].reduce((sum, [name, { sent }]) => sum + (name.endsWith(".fifo") === fifo ? sent : 0), 0);
  return {
    messages: sentTo(false),
    fifo_messages: sentTo(true),
    invocations: own.reduce((sum, [, { invocations }]) => sum + invocations, 0),
    gigabyte_seconds: own.reduce((sum, [name, { busy_ms }]) => sum + (busy_ms / 1000) * (memoryOf(name) / 1024), 0),
  };
}
