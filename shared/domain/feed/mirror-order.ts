import type { FeedData } from "../../schema/feed.ts";
import { type Context, later } from "../kernel/decision.ts";
import type { Account } from "../records/account.ts";
import type { FeedSource } from "../records/feed-source.ts";
import type { Order } from "../records/order.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import { refuseTrading } from "../trading/close-trade.ts";
import { rational } from "../trading/pricing/rational.ts";
import { lotsOf, reportedPrice, reportedStop } from "../trading/pricing/symbol.ts";

type Pending = Extract<FeedData["order"], { status: "pending" }>;
type Ended = Exclude<FeedData["order"], { status: "pending" }>;

/** Where an order comes from and when it happened there. */
export interface Origin {
  readonly source: Pick<FeedSource, "id" | "name" | "authoritative" | "swap_reporting">;
  readonly at: string;
}

/** Claim of an order of a source: its order here is found by this. */
export function orderMarker(source: Pick<FeedSource, "id">, orderId: string): string {
  return JSON.stringify([source.id, orderId]);
}

/** The prices of an order in the digits of its symbol, or undefined when one of them is no price. */
function pricesOf(symbol: TradingSymbol, data: Pending) {
  const names = ["price", "stop_price", "limit_price", "stop_loss", "take_profit"] as const;
  const found = names.map((name) => {
    const given = data[name] ?? null;
    const isStop = name === "stop_loss" || name === "take_profit";
    if (isStop) return [name, reportedStop(symbol, given)] as const;
    return [name, given === null ? null : reportedPrice(symbol, given)] as const;
  });
  const wrong = found.find(([, price]) => price === undefined)?.[0];
  const prices = Object.fromEntries(found) as Record<(typeof names)[number], string | null>;
  return { wrong, prices };
}

/**
 * Decides what a pending order of a platform becomes here: a picture of it. It was accepted there, so neither margin
 * nor the market is looked at; the platform fills it.
 */
export function mirrorOrder(
  account: Account,
  known: Order | undefined,
  symbol: TradingSymbol | undefined,
  data: Pending,
  { source, at }: Origin,
  context: Context,
): TradingDecision<Order> {
  if (account.status === "closed") return refuseTrading("account_closed", "The account is closed.");
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${data.symbol}.`, "symbol");
  const lots = lotsOf(symbol, rational(data.lots));
  if (Number(lots) === 0) return refuseTrading("validation_failed", "must be above 0", "lots");
  const { wrong, prices } = pricesOf(symbol, data);
  if (wrong !== undefined) return refuseTrading("invalid_price", `is no price of ${symbol.symbol}`, wrong);
  const expires = data.expires_at ? new Date(data.expires_at).toISOString() : null;
  const terms = {
    side: data.side,
    type: data.type,
    lots,
    ...prices,
    time_in_force: expires === null ? "gtc" : "gtd",
    expires_at: expires,
  } as const;
  if (known !== undefined) return amended(known, account, symbol, terms, context);
  const order: Order = {
    id: context.newId("ord"),
    tenant_id: context.tenant_id,
    account_id: account.id,
    client_id: account.client_id,
    symbol: symbol.symbol,
    ...terms,
    status: "pending",
    filled_at: null,
    trade_id: null,
    reject_reason: null,
    source: source.name,
    source_order_id: data.order_id,
    stop_reached: false,
    created_at: at,
    updated_at: context.now,
    version: 1,
  };
  const claim: TradingChange = {
    op: "claim",
    kind: "source_order",
    value: orderMarker(source, data.order_id),
    owner: order.id,
    refusal: { code: "illegal_transition", detail: "The order is known." },
    drawn: true,
  };
  return { ok: true, result: order, changes: [{ op: "create", entity: "order", item: order }, claim], events: [] };
}

function amended(
  before: Order,
  account: Account,
  symbol: TradingSymbol,
  terms: Partial<Order>,
  context: Context,
): TradingDecision<Order> {
  if (before.status !== "pending") return refuseTrading("illegal_transition", `The order is ${before.status} already.`);
  if (before.account_id !== account.id || before.symbol !== symbol.symbol) {
    return refuseTrading("validation_failed", "An order stays on its account and in its symbol.", "order_id");
  }
  return updated(before, terms, context);
}

/** Decides the end of an order of a platform; one that has ended the same way stays as it is. */
export function endOrder(
  known: Order | undefined,
  data: Ended,
  tradeId: string | null,
  { at }: Origin,
  context: Context,
): TradingDecision<Order> {
  if (known === undefined) return refuseTrading("unknown_order", "No order of this source has this id.", "order_id");
  if (known.status === data.status) return { ok: true, result: known, changes: [], events: [] };
  if (known.status !== "pending") return refuseTrading("illegal_transition", `The order is ${known.status} already.`);
  const filled = data.status === "filled" ? { filled_at: at, trade_id: tradeId } : {};
  return updated(known, { status: data.status, ...filled }, context);
}

function updated(before: Order, fields: Partial<Order>, context: Context): TradingDecision<Order> {
  const updated_at = later(before.updated_at, context.now);
  const after: Order = { ...before, ...fields, updated_at, version: before.version + 1 };
  return { ok: true, result: after, changes: [{ op: "update", entity: "order", before, after }], events: [] };
}
