import type { FeedItem, ItemReading } from "../domain/feed/batch.ts";
import type { FeedReject } from "../domain/records/feed-item.ts";
import { sha256 } from "../runtime/digest.ts";
import { tradingRef } from "../trading/items.ts";
import type { FeedRun } from "./decisions.ts";
import { readFeedItem } from "./read-items.ts";

/** The rejects that may be that of an item: the one that is tried again, or two at its number. */
export function rejectRefs({ source, retried }: FeedRun, reading: ItemReading) {
  const at = (id: string) => tradingRef.feedReject(source.id, id);
  return { reject: at(retried ?? reading.raw.seq), second: at(secondId(reading)) };
}

/** The reject of an item as far as it has one, with its identifier: its number may be that of another reject. */
export function rejectOf(
  { retried }: FeedRun,
  reading: ItemReading,
  { reject, second }: { readonly reject?: FeedReject | undefined; readonly second?: FeedReject | undefined },
): { readonly id: string; readonly known: FeedReject | undefined } {
  if (retried !== undefined) return { id: retried, known: reject };
  if (reject === undefined || isOf(reject, reading)) return { id: reading.raw.seq, known: reject };
  return { id: secondId(reading), known: second };
}

/** Whether a reject is that of an item: it has the same name and says the same. */
export function isOf(reject: FeedReject, reading: ItemReading): boolean {
  return identityOf(readFeedItem(JSON.parse(reject.item) as FeedItem)) === identityOf(reading);
}

function secondId(reading: ItemReading): string {
  return `${reading.raw.seq}.${sha256(identityOf(reading)).slice(0, 16)}`;
}

function identityOf({ dedup, content }: ItemReading): string {
  return JSON.stringify([dedup, content]);
}
