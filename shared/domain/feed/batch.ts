import { limits } from "../../limits.ts";
import type { FeedBatchBody, FeedData, FeedReceiptBody, FeedResultBody } from "../../schema/feed.ts";
import { type Refusal, refuseFields } from "../kernel/decision.ts";
import type { DedupName } from "../records/feed-item.ts";
import type { FeedSource } from "../records/feed-source.ts";
import type { Content } from "./repetition.ts";

/** One item of a batch as it came. */
export type FeedItem = FeedBatchBody["items"][number];

/** Plan of a batch: its items that were applied before, and the new ones. */
export type BatchPlan =
  | { readonly ok: true; readonly known: readonly FeedItem[]; readonly fresh: readonly FeedItem[] }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Looks at the numbers of a batch. They rise by one from `first_seq`; a batch that begins after the number that is
 * expected leaves a gap and is refused as a whole, what comes before it is known.
 */
export function planBatch(expected: string, { first_seq, items }: FeedBatchBody): BatchPlan {
  const first = BigInt(first_seq);
  const wrong = items.flatMap(({ seq }, place) => {
    const wanted = String(first + BigInt(place));
    return seq === wanted
      ? []
      : [{ pointer: `#/items/${place}/seq`, code: "out_of_order", detail: `must be ${wanted}` }];
  });
  if (wrong.length > 0) return refuseFields(wrong);
  if (first > BigInt(expected)) {
    const detail = "Items are missing before this batch; send them first. Nothing was applied.";
    return { ok: false, refusal: { code: "sequence_gap", detail, extra: { expected_seq: expected } } };
  }
  const isKnown = ({ seq }: FeedItem) => BigInt(seq) < BigInt(expected);
  return { ok: true, known: items.filter(isKnown), fresh: items.filter((item) => !isKnown(item)) };
}

/**
 * The number that comes next after these results of fresh items: everything before it is settled. An item that was
 * deferred, and what comes after it, is sent again; what of that was applied is a duplicate then.
 */
export function nextExpected(expected: string, results: readonly FeedResultBody[]): string {
  const first = results.findIndex(({ status }) => status === "deferred");
  return String(BigInt(expected) + BigInt(first === -1 ? results.length : first));
}

/** An item whose data are what its type asks for. */
export type ReadItem = {
  readonly [K in keyof FeedData]: {
    readonly seq: string;
    readonly type: K;
    /** When it happened at its source; undefined when it does not say. */
    readonly at: string | undefined;
    readonly data: FeedData[K];
  };
}[keyof FeedData];

/** An item as it came with its name and what it books, and either what it says or why it can never be applied. */
export type ItemReading = { readonly raw: FeedItem; readonly dedup: DedupName; readonly content: Content } & (
  | { readonly ok: true; readonly item: ReadItem }
  | { readonly ok: false; readonly refusal: Refusal }
);

/** Result of a batch, as the API shows it. */
export function receiptBody(
  source: Pick<FeedSource, "first_seq" | "next_seq">,
  results: readonly FeedResultBody[],
): FeedReceiptBody {
  const { first_seq, next_seq } = source;
  return {
    object: "feed_receipt",
    accepted_through: next_seq === first_seq ? null : String(BigInt(next_seq) - 1n),
    expected_next_seq: next_seq,
    results: [...results],
  };
}

/** When an item is booked, and the time that its platform says where that is not it; both RFC 3339. */
export interface BookedTime {
  readonly at: string;
  readonly reported_at?: string;
}

/**
 * An item is booked at the time that its platform says. Where that cannot be, it is booked at its receipt and nothing
 * is refused: servers that send their own zone as UTC are hours ahead, and a time that was never set is of 1970.
 */
export function bookedTime(reported: string | undefined, received: string): BookedTime {
  if (reported === undefined) return { at: received };
  const ahead = Date.parse(reported) - Date.parse(received);
  const holds = ahead <= limits.feed.item_ahead_ms && reported >= limits.feed.first_item_at;
  return holds ? { at: reported } : { at: received, reported_at: reported };
}

/**
 * The clock of a platform as a batch shows it: the time of the first item that is applied at its receipt instead; that
 * it is right, where one has the time of now and none is booked at its receipt. Undefined where it shows neither: what
 * happened before says nothing of the clock, since a history may be sent again.
 */
export function clockOf(
  times: readonly (string | undefined)[],
  results: readonly FeedResultBody[],
  received: string,
): { readonly reported_at: string } | "right" | undefined {
  const off = results.find(({ status, reported_at }) => status === "applied" && reported_at !== undefined);
  if (off?.reported_at !== undefined) return { reported_at: off.reported_at };
  const now = Date.parse(received);
  const current = times.some((at) => at !== undefined && Math.abs(Date.parse(at) - now) <= limits.feed.item_ahead_ms);
  return current ? "right" : undefined;
}
