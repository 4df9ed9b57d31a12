import type { Account, Balance } from "../account.ts";
import type { Client } from "../client.ts";
import type { Context } from "../decision.ts";
import type { Tenant } from "../tenant.ts";
import type { TradingDecision } from "../trading/changes.ts";
import { refuseTrading } from "../trading/close-trade.ts";
import type { TradingState } from "../trading/open-trade.ts";
import type { Market } from "../trading/quote.ts";
import type { Trade } from "../trading/trade.ts";
import { requestDeposit, requestWithdrawal } from "../transaction.ts";
import type { ReadItem } from "./batch.ts";
import { accrueDeal, closeDeal, openDeal } from "./deals.ts";
import type { Origin } from "./mirror-order.ts";

/** An item that moves the positions or the money of an account. */
export type AccountItem = Extract<ReadItem, { type: "execution" | "swap" | "balance_operation" }>;

/** An account with what an item of a feed may need of it. */
export interface ItemState extends TradingState {
  readonly account: Account;
  readonly balance: Balance;
  readonly client: Client;
}

/** What is known of the things that an item names. */
export interface ItemLinks {
  readonly tenant: Tenant;
  /** The trade that its position stands for. */
  readonly trade_id: string | undefined;
  readonly order_id: string | null;
}

/** Identifiers of what an item made or changed. */
export type Made = Readonly<Record<string, string>>;

/** What happened at a platform was allowed there: policies of this service about new requests do not hold it up. */
function asHappened(tenant: Tenant): Tenant {
  return { ...tenant, four_eyes: false, require_verified_client: "none" };
}

/** Decides what an item does to its account. */
export function applyItem(
  state: ItemState,
  market: Market,
  item: AccountItem,
  links: ItemLinks,
  origin: Origin,
  context: Context,
): TradingDecision<Made> {
  if (item.type === "balance_operation") return moveMoney(state, item, links, origin, context);
  const trade = links.trade_id === undefined ? undefined : state.trades.get(links.trade_id);
  const known = { trade, order_id: links.order_id };
  const decision = tradeDecision(state, market, item, known, origin, context);
  if (!decision.ok) return decision;
  const made: Made = decision.result === undefined ? {} : { trade_id: decision.result.id };
  return { ...decision, result: made };
}

function tradeDecision(
  state: ItemState,
  market: Market,
  item: Exclude<AccountItem, { type: "balance_operation" }>,
  known: { readonly trade: Trade | undefined; readonly order_id: string | null },
  origin: Origin,
  context: Context,
): TradingDecision<Trade | undefined> {
  if (item.type === "swap") return accrueDeal(state, item.data, known, context);
  return item.data.action === "open"
    ? openDeal(state, market, item.data, known, origin, context)
    : closeDeal(state, market, item.data, known, origin, context);
}

/**
 * Money that a platform moved is a transaction that is completed at once, with the platform as its provider. What it
 * paid out was free there, so the margin is not asked again; more than the balance it cannot have been.
 */
function moveMoney(
  { account, balance, client }: ItemState,
  { data }: Extract<AccountItem, { type: "balance_operation" }>,
  { tenant }: ItemLinks,
  { source }: Origin,
  context: Context,
): TradingDecision<Made> {
  const request = {
    account_id: account.id,
    amount: data.amount,
    method: "internal",
    provider: source.name,
    provider_reference: data.operation_id,
    status: "completed",
  } as const;
  const around = { account, balance, tenant: asHappened(tenant) };
  const settling = { ...context, scopes: [...context.scopes, "transactions:settle" as const] };
  const decision =
    data.kind === "deposit"
      ? requestDeposit(around, request, settling)
      : requestWithdrawal(client, around, request, settling);
  return decision.ok ? { ...decision, result: { transaction_id: decision.result.id } } : decision;
}

/** The trades that an item needs: that of its position, and with netting that of the position it may meet. */
export function tradesNeeded(state: Pick<TradingState, "positions">, item: AccountItem, tradeId: string | undefined) {
  const met =
    item.type === "execution" && item.data.action === "open"
      ? state.positions.filter(({ symbol }) => symbol === item.data["symbol" as never])
      : [];
  return [...new Set([...met.map(({ trade_id }) => trade_id), ...(tradeId === undefined ? [] : [tradeId])])];
}

/** Refusals that say nothing of the item: it is sent again and then applied. */
const passing = new Set(["liquidation_in_progress", "service_unavailable"]);

/** Whether a refusal passes by itself, so that the item waits instead of being put aside. */
export function passes(code: string): boolean {
  return passing.has(code);
}

/** A decision that fails itself must not hold up the feed: its item is put aside like one that is refused. */
export function failed(): { readonly ok: false; readonly refusal: { code: "item_failed"; detail: string } } {
  return refuseTrading("item_failed", "The item could not be applied.") as ReturnType<typeof failed>;
}
