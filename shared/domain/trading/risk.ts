import { limits } from "../../limits.ts";
import type { Account } from "../account.ts";
import { accountBody } from "../account.ts";
import type { Context, DomainEvent } from "../decision.ts";
import { formatAmount } from "../money.ts";
import type { AccountWithBalance } from "../open-account.ts";
import type { MarginStatus, Metrics } from "./margin.ts";

/** A liquidation that is under way: it is carried on until the account is above its level or has nothing to close. */
export interface LiquidationRun {
  readonly started_at: string;
  /** The money of the account when the run began, as the API shows it. */
  readonly before: MetricsBody;
  readonly closed_trade_ids: readonly string[];
  readonly steps: number;
}

/** A liquidation that the platform of the account carries out by commands of this service. */
export interface RequestedRun {
  readonly started_at: string;
  /** The money of the account when the run began, as the API shows it. */
  readonly before: MetricsBody;
  /** Trades that the platform has closed since, by its deals. */
  readonly closed_trade_ids: readonly string[];
  /** Commands that have not ended, and those whose end still matters. */
  readonly command_ids: readonly string[];
  /** The trades that the platform was asked to close, whatever reason its deals give. */
  readonly asked_trade_ids: readonly string[];
}

/** A stop-out that a platform carries out by itself: each of its deals continues it. */
export interface PlatformRun {
  readonly started_at: string;
  /** The money of the account before its first deal, as the API shows it. */
  readonly before: MetricsBody;
  readonly closed_trade_ids: readonly string[];
  /** When the last deal was applied. */
  readonly last_deal_at: string;
}

/**
 * State of an account's margin. `armed`: the next time it falls to its call level a margin call is announced. `episode`
 * counts the margin calls.
 */
export interface Risk {
  readonly account_id: string;
  readonly tenant_id: string;
  readonly client_id: string;
  readonly margin_status: MarginStatus;
  /** Percent with two digits when it was last written; null without used margin. */
  readonly margin_level: string | null;
  readonly equity_minor: bigint;
  readonly armed: boolean;
  readonly episode: number;
  readonly run: LiquidationRun | null;
  /** A liquidation by commands that is under way; absent where there is none. */
  readonly requested?: RequestedRun;
  /** A stop-out by its platform whose deals may not all have come; absent where there is none. */
  readonly platform_run?: PlatformRun;
  /** When the sweep finds an abandoned liquidation. */
  readonly wake_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

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

/** The money of an account as the API shows it. */
export interface MetricsBody {
  readonly balance: string;
  readonly credit: string;
  readonly held: string;
  readonly available_balance: string;
  readonly floating_pnl: string;
  readonly equity: string;
  readonly used_margin: string;
  readonly free_margin: string;
  readonly margin_level: string | null;
  readonly withdrawable: string;
  readonly margin_status: MarginStatus;
  readonly metrics_as_of: string;
  readonly metrics_stale: boolean;
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
