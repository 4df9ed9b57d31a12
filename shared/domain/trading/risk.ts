import { limits } from "../../limits.ts";
import { accountBody } from "../accounts/account.ts";
import type { AccountWithBalance } from "../accounts/open-account.ts";
import type { Context, DomainEvent } from "../kernel/decision.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { LiquidationRun, MetricsBody, PlatformRun, Risk } from "../records/risk.ts";
import type { Metrics } from "./margin.ts";

/** Whether an account is being liquidated, here or by commands. */
export function isLiquidating(risk: Pick<Risk, "run" | "requested"> | undefined): boolean {
  return risk !== undefined && (risk.run !== null || risk.requested !== undefined);
}

/** When a stop-out by a platform is over unless another deal continues it, RFC 3339. */
export function quietAt({ last_deal_at }: PlatformRun): string {
  return new Date(Date.parse(last_deal_at) + limits.trading.platform_run_quiet_seconds * 1000).toISOString();
}

/** The margin of an account that was never evaluated. */
export function draftRisk(account: Account, context: Context): Risk {
  return {
    account_id: account.id,
    tenant_id: account.tenant_id,
    client_id: account.client_id,
    margin_status: "normal",
    margin_level: null,
    equity_minor: 0n,
    armed: true,
    episode: 0,
    run: null,
    wake_at: null,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
  };
}

/** Metrics as the API shows them; `since` is when the balance last moved, for an account without a quote to tell. */
export function metricsBody(metrics: Metrics, currency: Account["currency"], since: string): MetricsBody {
  const money = (minor: bigint) => formatAmount(minor, currency);
  return {
    balance: money(metrics.balance_minor),
    credit: money(metrics.credit_minor),
    held: money(metrics.held_minor),
    available_balance: money(metrics.balance_minor - metrics.held_minor),
    floating_pnl: money(metrics.floating_minor),
    equity: money(metrics.equity_minor),
    used_margin: money(metrics.used_margin_minor),
    free_margin: money(metrics.free_margin_minor),
    margin_level: metrics.margin_level,
    withdrawable: money(metrics.withdrawable_minor),
    margin_status: metrics.margin_status,
    metrics_as_of: metrics.as_of ?? since,
    metrics_stale: metrics.stale,
  };
}

/** An account as GET shows it, with its money at the newest prices. */
export function liveAccountBody({ account, balance }: AccountWithBalance, metrics: Metrics) {
  return { ...accountBody(account, balance), ...metricsBody(metrics, account.currency, balance.updated_at) };
}

/** The event of a change of an account's margin; `more` is what only this kind tells. */
export function marginEvent(
  type: "margin.call" | "margin.recovered" | "stop.out",
  holder: AccountWithBalance,
  metrics: Metrics,
  more: { readonly object?: Readonly<Record<string, unknown>>; readonly previous?: DomainEvent["previous"] } = {},
): DomainEvent {
  const { account } = holder;
  return {
    type,
    resource: { type: "account", id: account.id, version: account.version },
    client_id: account.client_id,
    account_id: account.id,
    object: { ...liveAccountBody(holder, metrics), ...more.object },
    ...(more.previous === undefined ? {} : { previous: more.previous }),
  };
}

/** The event of the end of a liquidation, over all its steps. */
export function stopOutEvent(
  holder: AccountWithBalance,
  metrics: Metrics,
  { started_at, before, closed_trade_ids }: Pick<LiquidationRun, "started_at" | "before" | "closed_trade_ids">,
): DomainEvent {
  const { account, balance } = holder;
  const { stop_out_order: order, stop_out_mode: mode, currency } = account;
  const after = metricsBody(metrics, currency, balance.updated_at);
  const stop_out = { order, mode, started_at, before, after, closed_trade_ids };
  return marginEvent("stop.out", holder, metrics, { object: { stop_out } });
}
