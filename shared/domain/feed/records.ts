import { limits } from "../../limits.ts";
import type { FeedRejectBody } from "../../schema/feed.ts";
import type { FieldError } from "../decision.ts";
import type { TradingChange } from "../trading/changes.ts";
import type { DedupName, ItemReading } from "./batch.ts";
import { withContent } from "./repetition.ts";
import type { FeedSource } from "./source.ts";

/** Result of an item, under the name that its source gives it: it is applied once, whatever its number is. */
export interface Dedup {
  readonly tenant_id: string;
  readonly source_id: string;
  readonly kind: DedupName[0];
  /** The second key of the item: its deal id for one. */
  readonly name: string;
  readonly seq: string;
  /** A rejected item may come again under another number, or be retried; then it is applied as if it were new. */
  readonly status: "applied" | "rejected";
  /** Identifiers of what it made, such as `trade_id`. */
  readonly made: Readonly<Record<string, string>>;
  /**
   * All that was applied under the name, each as JSON and the last at the end; absent where the name says it. Of an
   * operation that is set aside until a transaction is approved, what the approval will apply.
   */
  readonly contents?: readonly string[];
  /** Record that takes it back, as JSON; only of a deal that was not taken back. */
  readonly undo?: string;
  /** The last that was applied is taken back. */
  readonly taken_back?: true;
  /** Why it was rejected. */
  readonly code: string | null;
  readonly detail: string | null;
  /** Transactions whose money it could be. */
  readonly candidates?: readonly string[];
  /** The account whose money an operation changes as long as it is put aside; absent where it changes none. */
  readonly aside_account_id?: string;
  /** Amount that an operation which is put aside would add to that account, with its sign. */
  readonly aside_minor?: bigint;
  /** The reject of an operation that is set aside until a transaction is approved. */
  readonly reject_id?: string;
  readonly created_at: string;
  /** Epoch seconds; absent as long as money of an account depends on it. */
  readonly expires_at?: number;
}

/** A rejected item, kept until it is applied or dismissed. */
export interface FeedReject {
  /** Its number in the feed, with a suffix where another item was rejected at this number. */
  readonly id: string;
  readonly tenant_id: string;
  readonly source_id: string;
  /** Its number in the feed. */
  readonly seq: string;
  readonly status: "open" | "resolved";
  /** The item as it came, as JSON. */
  readonly item: string;
  readonly code: string;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  /** Transactions whose money it could be; absent where that is not the question. */
  readonly candidates?: readonly string[];
  /** The content that was applied under its name, where it contradicts that. */
  readonly booked?: Readonly<Record<string, string>>;
  /** The account that it was decided about; absent where none was found. */
  readonly account_id?: string;
  /** How it was resolved; absent where it was applied. */
  readonly resolution?: "in_baseline" | "dismissed";
  /** Why a person dismissed it. */
  readonly reason?: NonNullable<FeedRejectBody["reason"]>;
  readonly tries: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  /** Epoch seconds; only when it is resolved. */
  readonly expires_at?: number;
}

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
