import type { OrderBody, RejectReasonName } from "../../schema/order.ts";
import type { SideName } from "../../schema/trade.ts";
import { adjustBalance, equal } from "../accounts/balance.ts";
import { type Context, later, type Refusal } from "../kernel/decision.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Order } from "../records/order.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { refuseTrading } from "./close-trade.ts";
import { type OpeningState, openAtMarket, refuseStopsAt } from "./market-trade.ts";
import type { Executed } from "./open-trade.ts";
import { type Market, openPrice } from "./pricing/quote.ts";
import { rational } from "./pricing/rational.ts";
import { internalSource } from "./pricing/source.ts";
import { lotsFault, lotsText, priceText } from "./pricing/symbol.ts";

/** A new order of a caller, a feed or the sandbox. */
export interface OrderRequest {
  readonly symbol: string;
  readonly side: SideName;
  readonly type: Order["type"];
  readonly lots: string;
  readonly price?: string | null;
  readonly stop_price?: string | null;
  readonly limit_price?: string | null;
  readonly stop_loss?: string | null;
  readonly take_profit?: string | null;
  readonly time_in_force?: Order["time_in_force"];
  readonly expires_at?: string | null;
  readonly source?: string;
  readonly source_order_id?: string | null;
}

/** The order as the API shows it. */
export function orderBody(order: Order): OrderBody {
  const { tenant_id: _tenant, stop_reached: _reached, ...fields } = order;
  return {
    ...fields,
    object: "order",
    _links: {
      self: { href: `/v2/orders/${order.id}` },
      account: { href: `/v2/accounts/${order.account_id}` },
      ...(order.trade_id === null ? {} : { trade: { href: `/v2/trades/${order.trade_id}` } }),
    },
  };
}

/**
 * Decides a pending order: the account and the symbol must be open to trades, its prices possible and on the side of
 * the market that its type waits on. Margin is looked at when it is filled.
 */
export function placeOrder(
  { account, balance }: { readonly account: Account; readonly balance: Balance },
  market: Market,
  request: OrderRequest,
  context: Context,
): TradingDecision<Order> {
  if (account.status === "closed") return refuseTrading("account_closed", "The account is closed.");
  if (account.status === "disabled") return refuseTrading("account_disabled", "The account is disabled.");
  if (balance.accepts !== "all") return refuseTrading("account_close_only", "The account only allows closing.");
  const symbol = market.symbols.get(request.symbol);
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${request.symbol}.`);
  if (symbol.trading_mode !== "enabled") {
    return refuseTrading("symbol_disabled", `${symbol.symbol} is not open to new trades.`);
  }
  const lots = lotsText(symbol, request.lots);
  const fault = lots === undefined ? `must be a multiple of ${symbol.lot_step}` : lotsFault(symbol, lots);
  if (lots === undefined || fault !== undefined) return refuseTrading("validation_failed", fault ?? "", "lots");
  const quote = market.quotes.get(symbol.symbol);
  if (quote === undefined) return refuseTrading("no_quote", `${symbol.symbol} has no price yet.`);
  const prices = pricesOf(symbol, quote, request);
  if (!prices.ok) return prices;
  const expires = expiryOf(request, context.now);
  if (expires === undefined) return refuseTrading("validation_failed", "must be in the future", "expires_at");
  const { price, stop_price, limit_price, stop_loss, take_profit } = prices;
  const order: Order = {
    id: context.newId("ord"),
    tenant_id: context.tenant_id,
    account_id: account.id,
    client_id: account.client_id,
    symbol: symbol.symbol,
    side: request.side,
    type: request.type,
    lots,
    price,
    stop_price,
    limit_price,
    stop_loss,
    take_profit,
    time_in_force: request.time_in_force ?? "gtc",
    expires_at: expires,
    status: "pending",
    filled_at: null,
    trade_id: null,
    reject_reason: null,
    source: request.source ?? internalSource,
    source_order_id: request.source_order_id ?? null,
    stop_reached: false,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
  };
  const gate = adjustBalance(balance, context, { require: [equal("accepts", "all")] });
  return { ok: true, result: order, changes: [{ op: "create", entity: "order", item: order }, gate], events: [] };
}

/** `gtd` needs an end, `day` ends with the UTC day, `gtc` has none; undefined when the end is not in the future. */
function expiryOf(request: OrderRequest, now: string): string | null | undefined {
  const kind = request.time_in_force ?? "gtc";
  if (kind === "gtc") return null;
  if (kind === "day") return new Date((Math.floor(Date.parse(now) / 86_400_000) + 1) * 86_400_000).toISOString();
  const end = request.expires_at ?? now;
  return Date.parse(end) > Date.parse(now) ? new Date(Date.parse(end)).toISOString() : undefined;
}

type Prices = { readonly ok: true } & Pick<Order, "price" | "stop_price" | "limit_price" | "stop_loss" | "take_profit">;

/** Prices of each type. */
const priceFields = {
  limit: ["price"],
  stop: ["price"],
  stop_limit: ["stop_price", "limit_price"],
} as const satisfies Record<Order["type"], readonly ("price" | "stop_price" | "limit_price")[]>;

function pricesOf(symbol: TradingSymbol, quote: Quote, request: OrderRequest) {
  const prices: Record<"price" | "stop_price" | "limit_price", string | null> = {
    price: null,
    stop_price: null,
    limit_price: null,
  };
  for (const field of ["price", "stop_price", "limit_price"] as const) {
    const given = request[field] ?? null;
    const wanted = (priceFields[request.type] as readonly string[]).includes(field);
    const exact = given === null ? undefined : priceText(symbol, given);
    if (wanted && exact === undefined) {
      return refuseTrading("invalid_price", `must be a price of ${symbol.symbol}`, field);
    }
    if (!wanted && given !== null) return refuseTrading("invalid_price", `is not for a ${request.type} order`, field);
    prices[field] = exact ?? null;
  }
  const waits = request.type === "stop_limit" ? "stop_price" : "price";
  const first = prices[waits] ?? "0";
  if (isReached(request.type === "limit" ? "limit" : "stop", request.side, first, quote)) {
    return refuseTrading("invalid_price", "is already reached by the market", waits);
  }
  const opens = prices.limit_price ?? prices.price ?? first;
  const stops = refuseStopsAt(symbol, opens, request);
  if (stops !== undefined) return stops;
  const text = (value: string | null | undefined) => (value ? (priceText(symbol, value) ?? null) : null);
  const result: Prices = {
    ok: true,
    ...prices,
    stop_loss: text(request.stop_loss),
    take_profit: text(request.take_profit),
  };
  return result;
}

/** Whether the market has come to a price: a limit waits for a better one, a stop for a worse one. Both inclusive. */
function isReached(kind: "limit" | "stop", side: SideName, price: string, quote: Quote): boolean {
  const now = rational(openPrice(quote, side));
  return (kind === "limit") === (side === "buy") ? now.lte(price) : now.gte(price);
}

/**
 * Effect of a quote on a pending order: it fills it, or it meets the stop price of a stop limit order whose limit is
 * not reached. Undefined when it does nothing.
 */
export function triggerOf(order: Order, quote: Quote): "fill" | "stop_reached" | undefined {
  if (order.status !== "pending") return undefined;
  if (order.type !== "stop_limit") {
    return order.price !== null && isReached(order.type, order.side, order.price, quote) ? "fill" : undefined;
  }
  const { stop_price, limit_price } = order;
  if (stop_price === null || limit_price === null) return undefined;
  const reached = order.stop_reached || isReached("stop", order.side, stop_price, quote);
  if (!reached) return undefined;
  if (isReached("limit", order.side, limit_price, quote)) return "fill";
  return order.stop_reached ? undefined : "stop_reached";
}

/** Remembers that a stop limit order has met its stop price: it stays a limit order from then on. */
export function reachStop(order: Order, context: Context): TradingDecision<Order> {
  return changeOrder(order, { stop_reached: true }, context);
}

/** Result of a fill: the order, and its execution unless it was rejected. */
export interface Filled {
  readonly order: Order;
  readonly executed: Executed | undefined;
}

/** Refusals of a fill that are final for the order; with any other it stays pending and is tried again. */
const rejections: Partial<Record<Refusal["code"], RejectReasonName>> = {
  insufficient_margin: "insufficient_margin",
  market_closed: "market_closed",
  symbol_disabled: "symbol_disabled",
  symbol_not_found: "symbol_disabled",
  no_conversion_path: "symbol_disabled",
  account_disabled: "account_disabled",
  account_closed: "account_disabled",
  account_close_only: "account_disabled",
  client_suspended: "account_disabled",
  invalid_price: "invalid_price",
  validation_failed: "invalid_price",
  too_many_positions: "too_many_positions",
  exposure_too_large: "exposure_too_large",
};

/** Whether the account was disabled since an order was placed: it is about to be cancelled and fills no more. */
function isVoid(order: Order, { orders_void_at: at }: Account): boolean {
  return at !== undefined && order.created_at <= at;
}

/**
 * Fills a pending order at the newest price, which is the order's or a better one for a limit and may be worse for a
 * stop. The terms of account and symbol can reject it; an old price or a liquidation leaves it pending.
 */
export function fillOrder(
  state: OpeningState,
  order: Order,
  market: Market,
  context: Context,
): TradingDecision<Filled> {
  if (isVoid(order, state.account)) {
    const ended = cancelOrder(order, context);
    return ended.ok ? { ...ended, result: { order: ended.result, executed: undefined } } : ended;
  }
  const { symbol, side, lots, stop_loss, take_profit } = order;
  const request = { symbol, side, lots, stop_loss, take_profit, order_id: order.id };
  const opening = openAtMarket(state, market, request, context);
  if (!opening.ok) {
    // A missing price of another position is no fault of this order, which waits for it as for its own.
    const isOwn = (opening.refusal.extra?.["symbol"] ?? symbol) === symbol;
    const reason = isOwn ? rejections[opening.refusal.code] : undefined;
    if (reason === undefined) return opening;
    const rejected = changeOrder(order, { status: "rejected", reject_reason: reason }, context);
    return rejected.ok ? { ...rejected, result: { order: rejected.result, executed: undefined } } : rejected;
  }
  const { trade, closed } = opening.result;
  const trade_id = trade?.id ?? closed[0]?.id ?? null;
  const filled = changeOrder(order, { status: "filled", filled_at: context.now, trade_id }, context);
  if (!filled.ok) return filled;
  return {
    ok: true,
    result: { order: filled.result, executed: opening.result },
    changes: [...filled.changes, ...opening.changes],
    events: opening.events,
  };
}

/** Ends a pending order; one that is not pending is left as it is. */
export function cancelOrder(order: Order, context: Context): TradingDecision<Order> {
  return changeOrder(order, { status: "cancelled" }, context);
}

/** Ends an order that was placed before its account was disabled; undefined for any other, and for a platform's own. */
export function voidOrder(order: Order, account: Account, context: Context): TradingDecision<Order> | undefined {
  if (order.status !== "pending" || order.source !== internalSource || !isVoid(order, account)) return undefined;
  return cancelOrder(order, context);
}

/** Ends an order whose time has come; undefined when it has not, and for one that its platform ends. */
export function expireOrder(order: Order, context: Context): TradingDecision<Order> | undefined {
  if (order.status !== "pending" || order.source !== internalSource) return undefined;
  if (order.expires_at === null || order.expires_at > context.now) return undefined;
  return changeOrder(order, { status: "expired" }, context);
}

function changeOrder(order: Order, fields: Partial<Order>, context: Context): TradingDecision<Order> {
  if (order.status !== "pending") return { ok: true, result: order, changes: [], events: [] };
  const updated_at = later(order.updated_at, context.now);
  const after: Order = { ...order, ...fields, updated_at, version: order.version + 1 };
  return { ok: true, result: after, changes: [{ op: "update", entity: "order", before: order, after }], events: [] };
}
