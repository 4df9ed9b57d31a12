import { type ItemReading, nextExpected } from "../domain/feed/batch.ts";
import type { FeedSource } from "../domain/feed/source.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { isUnavailable, Unavailable } from "../runtime/unavailable.ts";
import { isRefusal } from "../runtime/verdict.ts";
import type { FeedResultBody } from "../schema/feed.ts";
import { feedSources, pulses } from "../table/entities.ts";
import { changeVersion, putItem } from "../table/items.ts";
import { loadItems } from "../table/store.ts";
import { tradingRef } from "../trading/items.ts";
import type { FeedRun, PlacedItem } from "./decisions.ts";
import { deferred, settleItem } from "./items.ts";
import { BatchMemory } from "./memory.ts";
import { placeItems, readAhead } from "./places.ts";
import { hasTime, type Lane, leftOf, settleTogether } from "./together.ts";

/**
 * Applies the fresh items of a batch: those of one account in their order, accounts concurrently, and a symbol before
 * whatever comes after it. Every item is settled or deferred; after the first deferred one of an account all of it is.
 * `alive` is the source's sign of life on its way: it is written before any decision is made.
 */
export async function applyBatch(
  run: FeedRun,
  readings: readonly ItemReading[],
  alive?: Promise<void>,
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

/** Settles items between which no symbol comes: first from reads in common, then what is left one by one. */
async function settlePart(run: FeedRun, part: readonly ItemReading[], alive?: Promise<void>) {
  const memory = new BatchMemory();
  const [placed] = await Promise.all([placeItems(run, memory, part), alive]);
  const lanes = lanesOf(placed);
  let open = lanes.filter(({ items: [first] }) => first?.account_id !== undefined);
  for (let pass = 0; pass < limits.feed.passes && open.length > 0 && hasTime(run); pass += 1) {
    const read = pass === 0 ? memory : new BatchMemory();
    const now = nowIso();
    // Where the reads in common fail, each account is read by itself, so that one of them holds up no other.
    await readAhead(run, read, open.flatMap(leftOf)).catch((error: unknown) =>
      log.warn("The accounts of a batch are read one by one.", { error: (error as Error).name }),
    );
    await settleTogether(run, read, open, now);
    open = open.filter((lane) => leftOf(lane).length > 0);
    await inParallel(limits.feed.parallel, open, (lane) => settleNext(run, lane));
    open = open.filter((lane) => leftOf(lane).length > 0 && !isDeferred(lane));
  }
  await inParallel(limits.feed.parallel, lanes, async (lane) => {
    while (leftOf(lane).length > 0) await settleNext(run, lane);
  });
  return lanes.flatMap(({ results }) => results);
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

function isDeferred({ results }: Lane): boolean {
  return results.at(-1)?.status === "deferred";
}

/** Settles the next item of a lane alone, or defers it. */
async function settleNext(run: FeedRun, lane: Lane): Promise<void> {
  const [item] = leftOf(lane);
  if (item === undefined) return;
  const { seq } = item.reading.raw;
  if (isDeferred(lane)) lane.results.push(deferred(seq, "service_unavailable", "An item before it waits."));
  else if (lane.failure !== undefined) lane.results.push(deferredBy(run, seq, lane.failure));
  else lane.results.push(await settledOrDeferred(run, item));
}

/** A fault of ours with one item holds up its account, and neither the others nor what the batch returns for them. */
async function settledOrDeferred(run: FeedRun, item: PlacedItem): Promise<FeedResultBody> {
  const { seq } = item.reading.raw;
  if (!hasTime(run)) return deferred(seq, "service_unavailable", "There was no time left for it.");
  return settleItem(run, item).catch((error: unknown) => deferredBy(run, seq, error));
}

function deferredBy(run: FeedRun, seq: string, error: unknown): FeedResultBody {
  const { name, message, stack } = error as Error;
  // What the rate limit refuses has not failed, and its answer is that refusal.
  if (!isRefusal(error)) {
    log.error("An item of a feed failed.", { source: run.source.id, seq, error: name, message, stack });
  }
  const code = isUnavailable(error) ? "service_unavailable" : "internal_error";
  return deferred(seq, code, "The service failed. Send it again: an item is applied once.");
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

/** Notes that a source is alive. Late for a moment or written twice it does no harm. */
export async function beat(source: FeedSource): Promise<void> {
  const { tenant_id, name, authoritative, silent_after_seconds } = source;
  const silence = silent_after_seconds === undefined ? {} : { silent_after_seconds };
  await putItem(pulses, { tenant_id, name, authoritative, heartbeat_at: nowIso(), ...silence });
}
