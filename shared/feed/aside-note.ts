import type { AsideMoney } from "../domain/feed/aside-money.ts";
import { type AsideNote, markOf } from "../domain/feed/records.ts";
import { refuseConflict, repetitionOf, withContent } from "../domain/feed/repetition.ts";
import type { Refusal } from "../domain/kernel/decision.ts";
import type { Dedup, FeedReject } from "../domain/records/feed-item.ts";
import type { TradingChange, TradingDecision } from "../domain/records/trading-change.ts";
import { limits } from "../limits.ts";
import type { FeedRun, PlacedItem, Verdict } from "./decisions.ts";
import { type Records, settled } from "./marks.ts";
import { rejectOf } from "./rejects.ts";

function moneyOf({ aside_account_id, aside_minor }: AsideMoney = {}): AsideMoney {
  return aside_account_id === undefined || aside_minor === undefined ? {} : { aside_account_id, aside_minor };
}

/** The members by which an item that is set aside is joined later. Another one under its name changes none of that. */
function joinedBy(mark: Dedup | undefined): AsideNote {
  if (mark?.status !== "rejected" || mark.contents === undefined) return {};
  const { contents, reject_id } = mark;
  return { contents, ...(reject_id === undefined ? {} : { reject_id }) };
}

/**
 * Notes an item as rejected with the reason, unless it was applied or put aside meanwhile. The contents that its name
 * has applied stay noted.
 * @param money what money of an account depends on it from now on; without it, what did so far
 * @param sets where it is set aside from now on until a transaction is approved
 */
export function noteAside(
  run: FeedRun,
  { reading, account_id }: PlacedItem,
  records: Records & Parameters<typeof rejectOf>[2],
  refusal: Refusal,
  now: string,
  money?: AsideMoney,
  sets?: "sets_aside",
): TradingDecision<Verdict> {
  const { mark } = records;
  const { raw, content } = reading;
  const { seq } = raw;
  const repetition = repetitionOf(mark, content);
  if (mark !== undefined && repetition === "repeated") {
    return settled(records, { status: "duplicate", made: mark.made }, now);
  }
  const reason = mark !== undefined && repetition === "conflict" ? refuseConflict(reading, mark).refusal : refusal;
  const { code, detail, errors = [], extra } = reason;
  const { candidates, booked } = (extra ?? {}) as Pick<FeedReject, "candidates" | "booked">;
  const possible = candidates === undefined ? {} : { candidates };
  const result: Verdict = { status: "rejected", code, detail, ...possible };
  const { id, known } = rejectOf(run, reading, records);
  const isNoted = known !== undefined || (mark?.status === "rejected" && mark.seq === seq);
  // An item that is set aside is noted so, whatever was noted before.
  if (isNoted && run.retried === undefined && sets === undefined) return { ok: true, result, changes: [], events: [] };
  const joined = sets === undefined ? joinedBy(mark) : { ...withContent(undefined, content), reject_id: id };
  const after = markOf(run, reading, mark, now, { ...result, ...joined, ...(money ?? moneyOf(mark)) });
  const kept = Buffer.byteLength(JSON.stringify(raw)) > limits.feed.max_item_bytes ? { seq, type: raw.type } : raw;
  const reject: FeedReject = {
    id,
    tenant_id: run.tenant_id,
    source_id: run.source.id,
    seq,
    status: "open",
    item: JSON.stringify(kept),
    code,
    detail,
    errors,
    ...possible,
    ...(booked === undefined ? {} : { booked }),
    ...(account_id === undefined ? {} : { account_id }),
    tries: (known?.tries ?? 0) + 1,
    created_at: known?.created_at ?? now,
    updated_at: now,
    version: (known?.version ?? 0) + 1,
  };
  const written: TradingChange =
    known === undefined
      ? { op: "create", entity: "feed_reject", item: reject }
      : { op: "update", entity: "feed_reject", before: known, after: reject };
  const marks: TradingChange[] =
    mark?.status === "applied" || code === "sequence_conflict" ? [] : [{ op: "mark", before: mark, after }];
  return { ok: true, result, changes: [...marks, written], events: [] };
}
