import { limits } from "../../limits.ts";
import type { AccountBody, CreateAccount, LedgerEntryBody, UpdateAccount } from "../../schema/account.ts";
import type { RetailTerms } from "../access/retail-terms.ts";
import { type Context, type DomainEvent, refuse, refuseFields, refuseScope } from "../kernel/decision.ts";
import { formatAmount, formatPercent, greatest, least } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import type { Contra, Ledger } from "../records/ledger.ts";

/** The mark on an entry of a control account whose account is a demo account. */
export function demoMark(type: Account["type"]): Pick<Contra, "demo"> {
  return type === "demo" ? { demo: true } : {};
}

/** Whether the rules that protect retail clients hold for an account of this type. */
export function isRetailLive(type: Account["type"], client: Client): boolean {
  return type === "live" && client.classification === "retail";
}

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
    client_money: account.client_money ?? "segregated",
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
  ...(["client_money", "group_id", "swap_free", "negative_balance_protection"] as const),
  ...(["platform", "platform_login", "source_id"] as const),
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

/** Whether a trading platform keeps an account too. */
export function isLinked({ platform, platform_login }: Pick<Account, "platform" | "platform_login">): boolean {
  return platform !== "internal" && platform_login !== null;
}
