import type { FeedRejectBody } from "../../schema/feed.ts";
import type { FieldError } from "../kernel/decision.ts";

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

/**
 * Names of a source for the things that its items are about, so that each is applied once whatever its number is. A
 * deal is named by what it does too: some platforms close a position under the ticket that it was opened with.
 */
export type DedupName = readonly [
  kind: "open" | "close" | "order" | "operation" | "swap" | "position" | "account" | "reversal" | "item",
  name: string,
];
