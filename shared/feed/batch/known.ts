import type { FeedItem, ItemReading } from "../../domain/feed/batch.ts";
import { repetitionOf } from "../../domain/feed/repetition.ts";
import { type Refusal, refuse } from "../../domain/kernel/decision.ts";
import type { Dedup, FeedReject } from "../../domain/records/feed-item.ts";
import { limits } from "../../limits.ts";
import { nowMs } from "../../runtime/clock.ts";
import { inParallel } from "../../runtime/parallel.ts";
import type { FeedResultBody } from "../../schema/feed.ts";
import { readKeys } from "../../table/store.ts";
import { tradingRef } from "../../trading/items.ts";
import type { FeedRun } from "../decisions.ts";
import { putAside } from "../items.ts";
import { readFeedItem } from "../read-items.ts";
import { isOf } from "../rejects.ts";
import { settledOrDeferred } from "./lanes.ts";
import { BatchMemory } from "./memory.ts";
import { placeItems } from "./places.ts";

/**
 * Settles items whose numbers were processed before: each is a duplicate, unless its number was processed with another
 * item. That one is put aside, since nothing of it may be booked: two bridges that number differently lose no deal.
 */
export async function settleKnown(run: FeedRun, items: readonly FeedItem[]): Promise<FeedResultBody[]> {
  if (items.length === 0) return [];
  const { first_seq } = run.source;
  const readings = items.map(readFeedItem);
  const others = await othersOf(
    run,
    readings.filter(({ raw }) => BigInt(raw.seq) >= BigInt(first_seq)),
  );
  const results = new Map<string, FeedResultBody>();
  const placed = others.length === 0 ? [] : await placeItems(run, new BatchMemory(), others);
  await inParallel(limits.feed.parallel, placed, async (item) => {
    const result = await settledOrDeferred(run, item, () => putAside(run, item, refuseNumber()));
    results.set(item.reading.raw.seq, result);
  });
  return items.map(({ seq }) => results.get(seq) ?? { seq, status: "duplicate" });
}

function refuseNumber(): Refusal {
  return refuse("sequence_conflict", "Another item was processed under this number.").refusal;
}

/** The items that are not what was processed under their numbers. */
async function othersOf({ tenant_id, source }: FeedRun, readings: readonly ItemReading[]): Promise<ItemReading[]> {
  const keys = readings.flatMap(({ raw, dedup }) => [
    tradingRef.dedup(source.id, ...dedup).keyIn(tenant_id),
    tradingRef.feedReject(source.id, raw.seq).keyIn(tenant_id),
  ]);
  const found = keys.length === 0 ? [] : await readKeys(keys);
  return readings.filter((reading, place) => {
    const note = found[2 * place] as Dedup | undefined;
    const reject = found[2 * place + 1] as FeedReject | undefined;
    return !isForgotten(reading) && !isProcessed(reading, note, reject);
  });
}

/** Whether an item is what was processed under its number, applied or rejected, or was applied under another one. */
function isProcessed(reading: ItemReading, note: Dedup | undefined, reject: FeedReject | undefined): boolean {
  if (note?.status === "applied" && repetitionOf(note, reading.content) === "repeated") return true;
  if (!reading.ok && note?.seq === reading.raw.seq) return true;
  return reject !== undefined && isOf(reject, reading);
}

/** Whether an item is older than what is noted of items: it cannot be compared with what was processed. */
function isForgotten(reading: ItemReading): boolean {
  const at = reading.ok ? reading.item.at : undefined;
  return at !== undefined && Date.parse(at) < nowMs() - limits.trading.dedup_kept_seconds * 1000;
}
