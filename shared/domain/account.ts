import type { CurrencyCode } from "../currencies.ts";
import { limits } from "../limits.ts";
import type { AccountBody, CreateAccount, LedgerEntryBody, LedgerKindName, UpdateAccount } from "../schema/account.ts";
import type { Client } from "./client.ts";
import type { Settlement } from "./debt.ts";
import {
  type Context,
  type Decision,
  type DomainEvent,
  type FeedCause,
  refuse,
  refuseFields,
  refuseScope,
} from "./decision.ts";
import type { CreditPolicy } from "./internal-money/credit-lots.ts";
import { formatAmount, formatPercent, greatest, least } from "./money.ts";

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
export interface Account extends Omit<AccountBody, MoneyField | "pending" | "proposed_link" | "object" | "_links"> {
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

/** The mark on an entry of a control account whose account is a demo account. */
export function demoMark(type: Account["type"]): Pick<Contra, "demo"> {
  return type === "demo" ? { demo: true } : {};
}

/** Whether the rules that protect retail clients hold for an account of this type. */
export function isRetailLive(type: Account["type"], client: Client): boolean {
  return type === "live" && client.classification === "retail";
}

/** Limits of the settings for a live account of a retail client. */
export interface RetailTerms {
  readonly max_leverage_retail: number;
  /** Percent with two digits. */
  readonly min_stop_out_retail: string;
}

/** The terms of a brokerage that has set none: those of the European Union. */
export const defaultRetailTerms: RetailTerms = { max_leverage_retail: 30, min_stop_out_retail: "50.00" };

/** The largest leverage that an account may have; `retail` are the terms of a live account of a retail client. */
export function maxLeverage(retail: RetailTerms | undefined): number {
  return retail?.max_leverage_retail ?? limits.trading.max_leverage;
}

/** The refusal of a leverage above the cap; it names the cap. */
export function refuseLeverage(retail: RetailTerms | undefined) {
  const max = maxLeverage(retail);
  const detail = `must not be above ${max} for this account`;
  return refuse("leverage_not_allowed", `The leverage ${detail}.`, {
    errors: [{ pointer: "#/leverage", code: "leverage_not_allowed", detail }],
    extra: { max },
  });
}

/** The identifiers of the commands that are to change the terms of an account. */
export function pendingCommandsOf({ pending = {} }: Pick<Account, "pending">): readonly string[] {
  return Object.values(pending).flatMap((asked) => asked?.command_id ?? []);
}

/** Amount that can be paid out: floating profit and credit never count. */
export function withdrawableMinor(balance: Balance, floatingMinor = 0n): bigint {
  const equity = balance.balance_minor + balance.credit_minor + floatingMinor;
  const free = least(balance.balance_minor, equity - balance.credit_minor - balance.used_margin_minor);
  return greatest(0n, free - balance.held_minor);
}

/** The account as GET shows it, from its profile and its money. */
export function accountBody(account: Account, balance: Balance): AccountBody {
  const {
    tenant_id: _tenant,
    trading_mode_before: _before,
    orders_void_at: _void,
    reopened: _reopened,
    baseline: _baseline,
    opening: _opening,
    ...fields
  } = account;
  const money = (minor: bigint) => formatAmount(minor, account.currency);
  const equity = balance.balance_minor + balance.credit_minor;
  const used = balance.used_margin_minor;
  return {
    ...fields,
    object: "account",
    pending: account.pending ?? null,
    proposed_link: account.proposed_link ?? null,
    balance: money(balance.balance_minor),
    credit: money(balance.credit_minor),
    held: money(balance.held_minor),
    available_balance: money(balance.available_minor),
    floating_pnl: money(0n),
    equity: money(equity),
    used_margin: money(used),
    free_margin: money(equity - used - balance.held_minor),
    margin_level: used === 0n ? null : formatPercent(equity, used),
    withdrawable: money(withdrawableMinor(balance)),
    margin_status: "normal",
    metrics_as_of: balance.updated_at,
    metrics_stale: false,
    balance_version: balance.seq,
    _links: {
      self: { href: `/v2/accounts/${account.id}` },
      client: { href: `/v2/clients/${account.client_id}` },
      ledger: { href: `/v2/accounts/${account.id}/ledger` },
    },
  } as AccountBody;
}

/** The event of a change of an account, with its money as it is after that change. */
export function accountUpdated(before: Account, after: Account, balance: Balance): DomainEvent {
  return {
    type: "account.updated",
    resource: { type: "account", id: after.id, version: after.version },
    client_id: after.client_id,
    account_id: after.id,
    object: accountBody(after, balance),
    previous: { status: before.status, version: before.version },
  };
}

/** The posting as the API shows it. */
export function ledgerBody(entry: Ledger): LedgerEntryBody {
  const money = (minor: bigint) => formatAmount(minor, entry.currency);
  return {
    id: entry.id,
    object: "ledger_entry",
    account_id: entry.account_id,
    kind: entry.kind,
    amount: money(entry.amount_minor),
    currency: entry.currency,
    balance_before: money(entry.balance_before_minor),
    balance_after: money(entry.balance_after_minor),
    moves: entry.moves ?? "balance",
    balance_version: entry.balance_version,
    transaction_id: entry.transaction_id,
    trade_id: entry.trade_id ?? null,
    created_at: entry.created_at,
    _links: {
      account: { href: `/v2/accounts/${entry.account_id}` },
      ...(entry.transaction_id === null ? {} : { transaction: { href: `/v2/transactions/${entry.transaction_id}` } }),
      ...(entry.trade_id === undefined ? {} : { trade: { href: `/v2/trades/${entry.trade_id}` } }),
    },
  };
}

/** The three levels of an account, in percent. */
export type Levels = Pick<Account, "margin_call_level" | "stop_out_level" | "margin_rearm_level">;

/**
 * The levels of an account with two digits; the call must lie above the stop-out and below where it arms again. The
 * stop-out is at least that of the retail terms, and a level that is not named follows from it.
 */
export function marginLevels(
  request: { readonly [K in keyof Levels]?: string | undefined },
  retail: RetailTerms | undefined,
): Decision<Levels> {
  const lowest = hundredths(retail?.min_stop_out_retail ?? "0");
  const stop = request.stop_out_level === undefined ? Math.max(5000, lowest) : hundredths(request.stop_out_level);
  const usual = request.stop_out_level === undefined ? Math.max(10_000, stop + 500) : 10_000;
  const call = request.margin_call_level === undefined ? usual : hundredths(request.margin_call_level);
  const rearm = request.margin_rearm_level === undefined ? call + 500 : hundredths(request.margin_rearm_level);
  if (call <= stop) return refuseRange("margin_call_level", "must be above stop_out_level");
  if (rearm <= call) return refuseRange("margin_rearm_level", "must be above margin_call_level");
  if (stop < lowest)
    return refuseRange("stop_out_level", `must be at least ${shownPercent(lowest)} for a retail client`);
  const result = {
    margin_call_level: shownPercent(call),
    stop_out_level: shownPercent(stop),
    margin_rearm_level: shownPercent(rearm),
  };
  return { ok: true, result, changes: [], events: [] };
}

/** Hundredths of a percent as they are shown: `50.00`. */
function shownPercent(value: number): string {
  return `${Math.trunc(value / 100)}.${String(value % 100).padStart(2, "0")}`;
}

/** Members of an opening or a patch that say on which terms an account trades, and where it is kept. */
const terms = [
  ...(["leverage", "force", "margin_call_level", "stop_out_level", "margin_rearm_level"] as const),
  ...(["stop_out_order", "stop_out_mode", "margin_calculation", "position_mode", "trading_mode"] as const),
  ...(["group_id", "swap_free", "negative_balance_protection", "platform", "platform_login", "source_id"] as const),
] satisfies readonly (keyof CreateAccount | keyof UpdateAccount)[];

/**
 * Refuses a request that names terms of an account to a caller without the scope `accounts:terms`, with every member
 * that it names; undefined where it may. An opening takes the others from the settings.
 */
export function refuseTerms(request: CreateAccount | UpdateAccount, { scopes }: Context) {
  const named = terms.filter((name) => name in request);
  if (named.length === 0 || scopes.includes("accounts:terms")) return undefined;
  const { ok, refusal } = refuseScope("accounts:terms");
  const errors = named.map((name) => ({ pointer: `#/${name}`, code: refusal.code, detail: refusal.detail }));
  return { ok, refusal: { ...refusal, errors } };
}

/** Refuses one field of a request as out of range. */
export function refuseRange(field: string, detail: string) {
  return refuseFields([{ pointer: `#/${field}`, code: "out_of_range", detail }]);
}

function hundredths(percent: string): number {
  const [whole = "0", fraction = ""] = percent.split(".");
  return Number(whole + fraction.padEnd(2, "0"));
}
