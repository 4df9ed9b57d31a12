import type { CurrencyCode } from "../../currencies.ts";
import type { LedgerKindName } from "../../schema/account.ts";
import type { FeedCause } from "../kernel/decision.ts";
import type { LotAmount } from "./balance.ts";

/** One posting as it is stored, in a partition that no role may update or delete. */
export interface Ledger {
  readonly id: string;
  readonly tenant_id: string;
  readonly account_id: string;
  readonly kind: LedgerKindName;
  readonly amount_minor: bigint;
  readonly currency: CurrencyCode;
  readonly balance_before_minor: bigint;
  readonly balance_after_minor: bigint;
  readonly balance_version: number;
  /** Credit of the account after it; absent where there is none. */
  readonly credit_after_minor?: bigint;
  readonly transaction_id: string | null;
  /** The trade whose profit, swap or commission it is. */
  readonly trade_id?: string;
  /** Where the debt was not zero before it: how much. */
  readonly debt_before_minor?: bigint;
  /** Where it left a debt: the part of the balance before it that open positions had lost again. */
  readonly offset_minor?: bigint;
  /** It moves the credit of the account and not its balance. */
  readonly moves?: "credit";
  /** Change of each lot; only of an entry that moves credit. */
  readonly lots?: readonly LotAmount[];
  /** Effect of a debit on credit, where the policy of the brokerage does not keep all of it. */
  readonly credit_policy?: CreditPolicy;
  /** Whether it leaves something to be settled, or settles it; absent for almost every entry. */
  readonly settlement?: Settlement;
  /** Number of the entry that it takes back, where it gives a payout back. */
  readonly reverses_seq?: number;
  /** Number of the first entry after it happened, where a platform reported it later and that matters. */
  readonly precedes_seq?: number;
  /** The item of a feed that caused it; absent where the operation of a command has not been reported yet. */
  readonly source_id?: FeedCause["source_id"];
  readonly feed_seq?: FeedCause["feed_seq"];
  /** The command that makes the platform follow what was settled here; absent of almost every entry. */
  readonly command_id?: string;
  readonly created_at: string;
}

/** The control accounts of a tenant: the other side of every posting. */
export const controlAccounts = [
  "clearing",
  "payouts",
  "payouts_in_transit",
  "fee_income",
  "realised_pnl",
  "swap",
  "commission",
  "credit",
  "negative_balance",
  "adjustment",
  "dividend",
  "transfers",
  "in_transit",
  "conversion_income",
] as const;

/** One of the control accounts. */
type ControlAccount = (typeof controlAccounts)[number];

/** The counter entry of a posting on a control account of the tenant; the legs of one posting sum to 0. */
export interface Contra {
  readonly id: string;
  readonly tenant_id: string;
  readonly control_account: ControlAccount;
  readonly amount_minor: bigint;
  readonly currency: CurrencyCode;
  readonly account_id: string;
  /** The entry of the customer's account that it balances; null between two control accounts. */
  readonly ledger_id: string | null;
  readonly transaction_id: string | null;
  readonly trade_id?: string;
  /** The account is a demo account: its entries are no money. Absent of live accounts. */
  readonly demo?: true;
  readonly created_at: string;
}

/**
 * Role of an entry in the settlement of losses. `due`: it left no position open, and what trading took below zero is
 * corrected. `owed`: what is below zero is not for this service to forgive. `paid`: no position was open, so what is
 * not below zero leaves no debt. `credit`, `correction` and `repayment` are the entries that settle: credit that paid,
 * the correction, and what a late credit gave back of both. Of entries that move credit, `policy` is what a withdrawal
 * removed, and `expiry` what was left of a lot at its end.
 */
export type Settlement = "due" | "owed" | "paid" | "credit" | "correction" | "repayment" | "policy" | "expiry";

/** Effect of a withdrawal on the credit of its account; absent, it keeps all of it. */
export type CreditPolicy = "remove" | "prorate";
