import type { AccountBody } from "../../schema/account.ts";

type MoneyField =
  | "balance"
  | "credit"
  | "held"
  | "available_balance"
  | "floating_pnl"
  | "equity"
  | "used_margin"
  | "free_margin"
  | "margin_level"
  | "withdrawable"
  | "margin_status"
  | "metrics_as_of"
  | "metrics_stale"
  | "balance_version";

/** Terms that a platform was asked for and has not confirmed. */
export type PendingTerms = NonNullable<AccountBody["pending"]>;

/** The profile of an account as it is stored; its money is a {@link Balance} of its own (ADR 0002). */
export interface Account
  extends Omit<AccountBody, MoneyField | "pending" | "proposed_link" | "client_money" | "object" | "_links"> {
  /** Absent of an account whose money is segregated. */
  readonly client_money?: "title_transfer";
  /** The link that one person proposed, and another one has to agree to; absent where there is none. */
  readonly proposed_link?: NonNullable<AccountBody["proposed_link"]>;
  readonly tenant_id: string;
  /** Trading mode before the account was disabled; it returns when the account is active again. */
  readonly trading_mode_before: Account["trading_mode"] | null;
  /** When the account was disabled last: pending orders of before are void. Absent once they all are cancelled. */
  readonly orders_void_at?: string;
  /** Terms that its platform was asked for, each with the command that asks; absent while there are none. */
  readonly pending?: PendingTerms;
  /** It was closed, and money came back to it: its client may be closed since then. Absent of every other account. */
  readonly reopened?: true;
  /** The snapshot that the account was adopted from: items up to its number are in what was adopted. */
  readonly baseline?: { readonly source_id: string; readonly as_of_seq: string };
  /** Its adoption adds positions in steps, and nothing else is decided about it until all are there; then absent. */
  readonly opening?: Opening;
}

/** The drift that an account is adopted by, and how many of its positions were taken from there so far. */
export interface Opening {
  readonly drift_id: string;
  readonly taken: number;
}

/** A note that a link of an account was proposed; `expires_at` in epoch seconds. */
export interface LinkProposal {
  readonly tenant_id: string;
  readonly account_id: string;
  /** The version of the account that the proposal came with. */
  readonly account_version: number;
  readonly at: string;
  readonly expires_at: number;
}
