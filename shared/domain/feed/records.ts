import { limits } from "../../limits.ts";
import type { FeedRejectBody } from "../../schema/feed.ts";
import type { Dedup, FeedReject } from "../records/feed-item.ts";
import type { FeedSource } from "../records/feed-source.ts";
import type { TradingChange } from "../records/trading-change.ts";
import type { ItemReading } from "./batch.ts";
import { withContent } from "./repetition.ts";

/** The change that resolves a reject whose item was applied. */
export function resolved(
  { reject: before }: { readonly reject?: FeedReject | undefined },
  now: string,
  how: Pick<FeedReject, "resolution"> = {},
): readonly TradingChange[] {
  if (before === undefined || before.status === "resolved") return [];
  const expires_at = Math.floor(Date.parse(now) / 1000) + limits.trading.dedup_kept_seconds;
  const { tries, version } = before;
  const after: FeedReject = {
    ...before,
    ...how,
    status: "resolved",
    tries: tries + 1,
    updated_at: now,
    version: version + 1,
    expires_at,
  };
  return [{ op: "update", entity: "feed_reject", before, after }];
}

/** An item by its number, its name and what it books. */
export type Named = Pick<ItemReading, "dedup" | "content"> & { readonly raw: Pick<ItemReading["raw"], "seq"> };

/** The note of what became of an item. It is kept for its time from the newest outcome on. */
export function markOf(
  { source, tenant_id }: { readonly source: Pick<FeedSource, "id">; readonly tenant_id: string },
  { raw: { seq }, dedup: [kind, name], content }: Named,
  before: Dedup | undefined,
  now: string,
  outcome: Pick<Dedup, "status"> & Partial<Pick<Dedup, Told>>,
): Dedup {
  const expires_at = Math.floor(Date.parse(now) / 1000) + limits.trading.dedup_kept_seconds;
  const applied = before?.status === "applied" ? before : undefined;
  return {
    tenant_id,
    source_id: source.id,
    kind,
    name,
    seq,
    made: {},
    code: null,
    detail: null,
    created_at: before?.created_at ?? now,
    ...(outcome.status === "applied" ? withContent(applied, content) : {}),
    ...(outcome.aside_minor === undefined ? { expires_at } : {}),
    ...outcome,
  };
}

/** Members of a note that describe the result of its item. */
type Told = "made" | "undo" | "code" | "detail" | "candidates" | keyof AsideNote;

/** Members that are noted while an item is put aside. */
export type AsideNote = Pick<Dedup, "contents" | "reject_id" | "aside_account_id" | "aside_minor">;

/** The reject as the API shows it. */
export function rejectBody(reject: FeedReject): FeedRejectBody {
  const {
    id: reject_id,
    tenant_id: _tenant,
    expires_at: _expires,
    item,
    account_id: _account,
    errors,
    candidates = [],
    booked = null,
    reason = null,
    resolution = "applied",
    ...fields
  } = reject;
  const source = `/v2/feed/sources/${reject.source_id}`;
  const own = `${source}/rejects/${reject_id}`;
  return {
    ...fields,
    object: "feed_reject",
    reject_id,
    item: JSON.parse(item) as Record<string, unknown>,
    errors: [...errors],
    candidates: [...candidates],
    booked,
    reason,
    resolution: reject.status === "open" ? null : resolution,
    _links: { source: { href: source }, retry: { href: `${own}/retry` }, dismiss: { href: `${own}/dismiss` } },
  };
}
