import type { CurrencyCode } from "../../currencies.ts";

/**
 * The money of an account in minor units. `available_minor` is `balance_minor - held_minor`, stored because a condition
 * cannot compute; `accepts` is the gate that a disable closes; `seq` is the number of the last posting.
 */
export interface Balance {
  readonly account_id: string;
  readonly tenant_id: string;
  readonly client_id: string;
  readonly currency: CurrencyCode;
  readonly accepts: "all" | "close_only" | "none";
  readonly balance_minor: bigint;
  readonly available_minor: bigint;
  readonly held_minor: bigint;
  readonly credit_minor: bigint;
  /** The lots of the credit that transactions granted; absent until there is one. */
  readonly credit_lots?: readonly LotAmount[];
  /** Part of a balance below zero that debits other than trading caused; no correction forgives it (ADR 0025). */
  readonly debt_minor: bigint;
  /**
   * Credits of operations that are put aside as possible duplicates. It counts in the equity that decides a stop-out
   * and in nothing else; what such operations would take is part of `held_minor`. Absent until there is any.
   */
  readonly aside_minor?: bigint;
  readonly used_margin_minor: bigint;
  /** Leverage of the account: margin is derived with this one, since an account may be read of another moment. */
  readonly leverage: number;
  /** Version of the account that set its leverage or a level last: an older account is of another moment. */
  readonly terms_version: number;
  readonly seq: number;
  /** Time of the last posting: no later one is earlier. Absent before the first. */
  readonly posted_at?: string;
  /** An entry has an earlier time than the one before it: the clock of a machine was ahead. Absent otherwise. */
  readonly unordered?: 1;
  /** Net result of trading booked since the account last had no position; absent when it is none. */
  readonly realised_minor?: bigint;
  /** Number of the last posting that raised the debt, was corrected or may have removed credit: no later debit did. */
  readonly below_zero_seq?: number;
  /**
   * The newest commands by which the platform follows what was settled here, the oldest first: a comparison asks which
   * of them it includes. Absent until there is one.
   */
  readonly settled_by?: readonly { readonly command_id: string }[];
  /** Rises with every change of positions, leverage or levels: a hold decided on what was before fails. */
  readonly pos_version: number;
  readonly positions: number;
  /** The sum of the `pos_version` of its positions: by it a reader knows that it has all of them, as they are. */
  readonly positions_sum: number;
  /** Transactions that are not final. */
  readonly pending: number;
  /** The account was linked to a platform after it was opened: what was decided before fails. Absent otherwise. */
  readonly linked?: 1;
  readonly updated_at: string;
}

/** A lot of credit, or a change of one with its sign, as it is stored and shown. */
export interface LotAmount {
  /** The transaction that granted it; null of credit that no transaction of this service has granted. */
  readonly transaction_id: string | null;
  /** Decimal with the digits of the currency. */
  readonly amount: string;
  /** When it ends, RFC 3339; null where it does not. */
  readonly expires_at: string | null;
}
