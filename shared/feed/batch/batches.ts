import { clockOf, type ItemReading, nextExpected } from "../../domain/feed/batch.ts";
import { watchClock } from "../../domain/feed/watch-source.ts";
import { unchanged } from "../../domain/kernel/decision.ts";
import type { FeedSource } from "../../domain/records/feed-source.ts";
import { limits } from "../../limits.ts";
import { nowIso } from "../../runtime/clock.ts";
import { Unavailable } from "../../runtime/unavailable.ts";
import type { FeedResultBody } from "../../schema/feed.ts";
import { systemContext } from "../../table/context.ts";
import { feedSources, pulses } from "../../table/entities.ts";
import { changeVersion, putItem } from "../../table/items.ts";
import { loadItems } from "../../table/store.ts";
import { commitDecision, prepared } from "../../trading/commit.ts";
import { tradingRef } from "../../trading/items.ts";
import type { FeedRun, PlacedItem } from "../decisions.ts";
import { settleAccounts, settledOrDeferred, settleOneByOne } from "./lanes.ts";
import { BatchMemory } from "./memory.ts";
import { placeItems, rememberTrades } from "./places.ts";
import type { Lane } from "./together.ts";

/**
 * Applies the fresh items of a batch: those of one account in their order, accounts concurrently, and a symbol before
 * whatever comes after it. Every item is settled or deferred; after the first deferred one of an account all of it is.
 * `alive` is the source's sign of life on its way: it is written before any decision is made.
 */
export async function applyBatch(
  run: FeedRun,
  readings: readonly ItemReading[],
  alive: Promise<void>,
): Promise<FeedResultBody[]> {
  const results = new Map<string, FeedResultBody>();
  for (const part of partsOf(readings)) {
    for (const result of await settlePart(run, part, alive)) results.set(result.seq, result);
  }
  await alive;
  return readings.flatMap(({ raw }) => results.get(raw.seq) ?? []);
}

/** Applies one item by itself, or puts it aside. */
export async function applyAlone(run: FeedRun, reading: ItemReading): Promise<FeedResultBody> {
  const [item = { reading, account_id: undefined }] = await placeItems(run, new BatchMemory(), [reading]);
  return settledOrDeferred(run, item);
}

/** Settles items between which no symbol comes. */
async function settlePart(run: FeedRun, part: readonly ItemReading[], alive: Promise<void>): Promise<FeedResultBody[]> {
  const memory = new BatchMemory();
  const [placed] = await Promise.all([placeItems(run, memory, part), alive]);
  const accounts = lanesOf(placed.filter(({ account_id }) => account_id !== undefined));
  const others = lanesOf(placed.filter(({ account_id }) => account_id === undefined));
  const settling = settleAccounts(run, memory, accounts);
  // An item that is applied is a duplicate for one that comes after it and cannot be placed.
  if (shareNames(accounts, others)) await settling;
  await Promise.all([settling, settleOneByOne(run, others)]);
  rememberTrades(run, accounts);
  return [...accounts, ...others].flatMap(({ results }) => results);
}

/** Whether items of these lanes go by a name that is noted once, such as that of one deal. */
function shareNames(lanes: readonly Lane[], others: readonly Lane[]): boolean {
  const namesOf = (given: readonly Lane[]) =>
    given.flatMap(({ items }) => items.map(({ reading: { dedup } }) => JSON.stringify(dedup)));
  const names = new Set(namesOf(lanes));
  return namesOf(others).some((name) => names.has(name));
}

/** Splits a batch at its symbols, each of which is a part of its own. */
function partsOf(readings: readonly ItemReading[]): ItemReading[][] {
  const parts: ItemReading[][] = [];
  let open: ItemReading[] | undefined;
  for (const reading of readings) {
    if (reading.ok && reading.item.type === "symbol") {
      parts.push([reading]);
      open = undefined;
    } else if (open === undefined) {
      open = [reading];
      parts.push(open);
    } else open.push(reading);
  }
  return parts;
}

/** Items of each account in their order; those that no account was found for are a lane of their own. */
function lanesOf(items: readonly PlacedItem[]): Lane[] {
  const lanes = new Map<string | undefined, PlacedItem[]>();
  for (const item of items) {
    const known = lanes.get(item.account_id);
    if (known === undefined) lanes.set(item.account_id, [item]);
    else known.push(item);
  }
  return [...lanes.values()].map((own) => ({ items: own, results: [] }));
}

/**
 * Moves a source on to the number after what is settled, unless another call of the same bridge has moved it further;
 * returns the source as it is then.
 */
export async function advanceSource(source: FeedSource, results: readonly FeedResultBody[]): Promise<FeedSource> {
  const next_seq = nextExpected(source.next_seq, results);
  let before = source;
  for (let attempt = 0; attempt < limits.commit.decision_tries; attempt += 1) {
    if (BigInt(next_seq) <= BigInt(before.next_seq)) return before;
    const after = { ...before, next_seq, updated_at: nowIso(), version: before.version + 1 };
    if (await changeVersion(feedSources, before, after)) return after;
    const { known } = await loadItems(source.tenant_id, { known: tradingRef.feedSource(source.id) });
    if (known === undefined) throw new Error(`The source ${source.id} is gone.`);
    before = known;
  }
  throw new Unavailable(`The source ${source.id} changes all the time.`);
}

/**
 * Notes what a batch shows of the clock of its source, and announces once that it is off. Nothing is read or written
 * while that stays as it is; where too many others change the source, the next item says it again.
 */
export async function noteClock(
  { tenant_id, remainingMs }: FeedRun,
  moved: FeedSource,
  readings: readonly ItemReading[],
  results: readonly FeedResultBody[],
): Promise<void> {
  const times = readings.map((reading) => (reading.ok ? reading.item.at : undefined));
  const shown = clockOf(times, results, nowIso());
  if (watchClock({ source: moved, pulse: undefined }, shown, { now: nowIso() }) === undefined) return;
  const newContext = () => systemContext(tenant_id, "feed_watch");
  await commitDecision<FeedSource | undefined>({ tenant_id, newContext, remainingMs }, async (load, context) => {
    const { source, pulse } = await load({
      source: tradingRef.feedSource(moved.id),
      pulse: tradingRef.pulse(moved.name),
    });
    const decision = source && watchClock({ source, pulse }, shown, context);
    return decision === undefined ? unchanged(source) : prepared(decision, context);
  });
}

/** Notes that a source is alive. Late for a moment or written twice it does no harm. */
export async function recordHeartbeat(source: FeedSource): Promise<void> {
  const { tenant_id, name, authoritative, silent_after_seconds } = source;
  const silence = silent_after_seconds === undefined ? {} : { silent_after_seconds };
  await putItem(pulses, { tenant_id, name, authoritative, heartbeat_at: nowIso(), ...silence });
}
