import type { CloseSandboxTradeBody, OpenSandboxTradeBody, PlaceSandboxOrderBody } from "../../schema/sandbox.ts";
import { type Context, notFound } from "../kernel/decision.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Client } from "../records/client.ts";
import type { Order } from "../records/order.ts";
import type { Position } from "../records/position.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { type Closed, refuseTrading } from "../trading/close-trade.ts";
import type { Holdings } from "../trading/margin.ts";
import { closeAtMarket, exitReason, type OpeningState, openAtMarket } from "../trading/market-trade.ts";
import type { Executed } from "../trading/open-trade.ts";
import { cancelOrder, expireOrder, fillOrder, placeOrder, reachStop, triggerOf } from "../trading/order.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { internalSource } from "../trading/pricing/source.ts";
import { priceText } from "../trading/pricing/symbol.ts";

function refusePlatform(account: Pick<Account, "platform">) {
  if (account.platform === "internal") return undefined;
  return refuseTrading(
    "platform_account",
    "A trading platform keeps this account; its feed brings what happens there.",
  );
}

/** Decides a trade at the price of the sandbox's market. */
export function openInSandbox(
  state: OpeningState,
  market: Market,
  { symbol, side, lots, ...stops }: OpenSandboxTradeBody,
  context: Context,
): TradingDecision<Executed> {
  const terms = market.symbols.get(symbol);
  const stop_loss = priceIn(terms, stops.stop_loss);
  const take_profit = priceIn(terms, stops.take_profit);
  const request = { symbol, side, lots, stop_loss, take_profit };
  return refusePlatform(state.account) ?? openAtMarket(state, market, request, context);
}

/** A price in the digits of its symbol; one that is none stays as it came, to be refused. */
function priceIn(symbol: TradingSymbol | undefined, price: string | null | undefined): string | null {
  if (price === null || price === undefined) return null;
  return (symbol && priceText(symbol, price)) ?? price;
}

/** The trade that an execution opened or raised, or with netting the one that it closed. */
export function executedTrade({ trade, closed: [first] }: Executed): Trade {
  const shown = trade ?? first;
  if (shown === undefined) throw new Error("The execution did nothing.");
  return shown;
}

/** Decides the close of an open trade, or of some of its lots, at the price of the sandbox's market. */
export function closeInSandbox(
  state: Holdings,
  trade: Trade | undefined,
  market: Market,
  { lots }: CloseSandboxTradeBody,
  context: Context,
): TradingDecision<Closed> {
  if (trade === undefined) return notFound();
  if (trade.source !== internalSource) {
    return refuseTrading("platform_account", `The trade was done at ${trade.source}, which closes it.`);
  }
  const position = state.positions.find(({ trade_id }) => trade_id === trade.id);
  if (trade.status === "closed" || position === undefined) {
    return refuseTrading("illegal_transition", "The trade is closed already.");
  }
  const request = { reason: "client", ...(lots === undefined ? {} : { lots }) } as const;
  return closeAtMarket(state, { position, trade }, market, request, context);
}

/** An account that an order is placed on. */
export interface OrderingState {
  readonly account: Account;
  readonly balance: Balance;
  readonly client: Pick<Client, "status">;
}

/** Decides a pending order in the sandbox; with an end and no word of how long it waits, it waits until then. */
export function placeInSandbox(
  state: OrderingState,
  market: Market,
  { symbol, side, type, lots, expires_at = null, ...request }: PlaceSandboxOrderBody,
  context: Context,
): TradingDecision<Order> {
  const platform = refusePlatform(state.account);
  if (platform !== undefined) return platform;
  if (state.client.status !== "active") {
    return refuseTrading("client_suspended", "The client may not trade while suspended.");
  }
  const time_in_force = request.time_in_force ?? (expires_at === null ? "gtc" : "gtd");
  if (expires_at !== null && time_in_force !== "gtd") {
    return refuseTrading("validation_failed", "is for an order that is good till a date", "expires_at");
  }
  const { price = null, stop_price = null, limit_price = null, stop_loss = null, take_profit = null } = request;
  const prices = { price, stop_price, limit_price, stop_loss, take_profit };
  return placeOrder(state, market, { symbol, side, type, lots, ...prices, time_in_force, expires_at }, context);
}

/** Decides the end of a pending order by its owner; one that is cancelled already stays as it is. */
export function cancelInSandbox(order: Order, context: Context): TradingDecision<Order> {
  if (order.source !== internalSource) {
    return refuseTrading("platform_account", `The order is at ${order.source}, which cancels it.`);
  }
  if (order.status !== "pending" && order.status !== "cancelled") {
    return refuseTrading("illegal_transition", `The order is ${order.status} already.`);
  }
  return cancelOrder(order, context);
}

/** Effect of the newest price on something that waits for one; undefined for none. */
export type Met<R> = R | undefined;

/** Decides what the newest price does to a pending order: an end that has passed comes first. */
export function meetOrder(
  state: OpeningState,
  order: Order | undefined,
  market: Market,
  context: Context,
): TradingDecision<Met<Order>> {
  const quote = order && market.quotes.get(order.symbol);
  if (order === undefined || quote === undefined || order.source !== internalSource) return nothing;
  const expired = expireOrder(order, context);
  if (expired !== undefined) return expired;
  const trigger = triggerOf(order, quote);
  if (trigger === undefined) return nothing;
  if (trigger === "stop_reached") return reachStop(order, context);
  const decision = fillOrder(state, order, market, context);
  return decision.ok ? { ...decision, result: decision.result.order } : decision;
}

/** Decides what the newest price does to a position with a stop loss or a take profit. */
export function meetStops(
  state: Holdings & { readonly trades: ReadonlyMap<string, Trade> },
  position: Position | undefined,
  market: Market,
  context: Context,
): TradingDecision<Met<Trade>> {
  const quote = position && market.quotes.get(position.symbol);
  const trade = position && state.trades.get(position.trade_id);
  if (position === undefined || quote === undefined || trade === undefined) return nothing;
  const reason = position.source === internalSource ? exitReason(position, quote) : undefined;
  if (reason === undefined) return nothing;
  const decision = closeAtMarket(state, { position, trade }, market, { reason }, context);
  return decision.ok ? { ...decision, result: decision.result.trade } : decision;
}

const nothing = { ok: true, result: undefined, changes: [], events: [] } as const;
