import type { CloseReasonName, SideName } from "../../schema/trade.ts";
import { type Context, type Refusal, refuseUnvalued } from "../kernel/decision.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Client } from "../records/client.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { type Closed, closeTrade, type OpenTrade, refuseTrading } from "./close-trade.ts";
import { type Holdings, metricsAt } from "./margin.ts";
import { type Executed, executeTrade, type TradingState } from "./open-trade.ts";
import { closePrice, isTooOld, type Market, openPrice } from "./pricing/quote.ts";
import { rational } from "./pricing/rational.ts";
import { internalSource } from "./pricing/source.ts";
import { isMarketOpen, priceText } from "./pricing/symbol.ts";
import { isLiquidating } from "./risk.ts";

/** Opening at the newest price. */
export interface OpeningRequest {
  readonly symbol: string;
  readonly side: SideName;
  readonly lots: string;
  readonly stop_loss?: string | null;
  readonly take_profit?: string | null;
  readonly order_id?: string | null;
  /** The price of the execution, where it is not the newest one. */
  readonly price?: string;
}

/** An account that opens, with the state of its client, which can close it to openings without a change of its own. */
export interface OpeningState extends TradingState {
  readonly client: Pick<Client, "status">;
}

interface Priced {
  readonly ok: true;
  readonly symbol: TradingSymbol;
  readonly quote: Quote;
}

type Refused = { readonly ok: false; readonly refusal: Refusal };

/** The symbol and its newest price, when it can be executed: an open market and a price that is not old. */
function executable(market: Market, name: string, now: string): Priced | Refused {
  const symbol = market.symbols.get(name);
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${name}.`);
  if (!isMarketOpen(symbol, now)) return refuseTrading("market_closed", `The market of ${name} is closed.`);
  const quote = market.quotes.get(name);
  if (quote === undefined) return refuseTrading("no_quote", `${name} has no price yet.`);
  if (isTooOld(symbol, quote, now)) return refuseTrading("metrics_stale", `The price of ${name} is too old.`);
  return { ok: true, symbol, quote };
}

function refuseState({ account, balance, client, risk }: OpeningState): Refused | undefined {
  if (account.status === "closed") return refuseTrading("account_closed", "The account is closed.");
  if (account.status === "disabled") return refuseTrading("account_disabled", "The account is disabled.");
  if (client.status !== "active") return refuseTrading("client_suspended", "The client may not trade while suspended.");
  if (balance.accepts !== "all") return refuseTrading("account_close_only", "The account only allows closing.");
  if (isLiquidating(risk)) return refuseTrading("liquidation_in_progress", "The account is being liquidated.");
  return undefined;
}

/**
 * Decides a trade at the newest price: the account, its client and the symbol must be open to it, its stops possible,
 * and the free margin afterwards not below zero, unless the trade takes no more margin than before.
 */
export function openAtMarket(
  state: OpeningState,
  market: Market,
  request: OpeningRequest,
  context: Context,
): TradingDecision<Executed> {
  const gate = refuseState(state);
  if (gate !== undefined) return gate;
  const priced = executable(market, request.symbol, context.now);
  if (!priced.ok) return priced;
  const { symbol, quote } = priced;
  if (symbol.trading_mode !== "enabled") {
    return refuseTrading("symbol_disabled", `${symbol.symbol} is not open to new trades.`);
  }
  const stops = refuseStops(symbol, quote, request);
  if (stops !== undefined) return stops;
  const before = metricsAt(market, state, context.now);
  const unvalued = refuseUnvalued(before, "A price that the account depends on is too old.");
  if (unvalued !== undefined) return unvalued;
  const price = request.price ?? openPrice(quote, request.side);
  const execution = { ...request, price, source: internalSource };
  const decision = executeTrade(state, market, execution, context, true);
  if (!decision.ok) return decision;
  const after = metricsAt(market, decision.result.holdings, context.now);
  const unvaluedAfter = refuseUnvalued(after, "A price that the trade depends on is too old.");
  if (unvaluedAfter !== undefined) return unvaluedAfter;
  const more = after.used_margin_minor > before.used_margin_minor;
  if (!more || after.free_margin_minor >= 0n) return decision;
  const { currency } = state.account;
  const refusal: Refusal = {
    code: "insufficient_margin",
    detail: "The free margin does not cover the trade.",
    extra: {
      free_margin: formatAmount(before.free_margin_minor, currency),
      required_margin: formatAmount(after.used_margin_minor - before.used_margin_minor, currency),
      currency,
    },
  };
  return { ok: false, refusal };
}

/** Decides a close at the newest price. The state of the account never stands in its way, the market can. */
export function closeAtMarket(
  holdings: Holdings,
  open: OpenTrade,
  market: Market,
  request: { readonly lots?: string; readonly reason: CloseReasonName },
  context: Context,
): TradingDecision<Closed> {
  const priced = executable(market, open.position.symbol, context.now);
  if (!priced.ok) return priced;
  const price = closePrice(priced.quote, open.position.side);
  return closeTrade(holdings, open, market, { ...request, price }, context);
}

/** Stop loss and take profit, and the side that they protect. */
export interface Stops {
  readonly side: SideName;
  readonly stop_loss?: string | null;
  readonly take_profit?: string | null;
}

/** Refuses a stop loss or take profit on the wrong side of the price, or nearer to it than the symbol allows. */
function refuseStops(symbol: TradingSymbol, quote: Quote, stops: Stops): Refused | undefined {
  return refuseStopsAt(symbol, closePrice(quote, stops.side), stops);
}

/** The same at a price that is not there yet, such as that of a pending order. */
export function refuseStopsAt(symbol: TradingSymbol, price: string, stops: Stops): Refused | undefined {
  const distance = rational(symbol.point).mul(BigInt(symbol.stops_level));
  for (const field of ["stop_loss", "take_profit"] as const) {
    const wanted = stops[field];
    if (wanted === undefined || wanted === null) continue;
    const exact = priceText(symbol, wanted);
    if (exact === undefined) return refuseTrading("invalid_price", `is no price of ${symbol.symbol}`, field);
    const above = (stops.side === "buy") === (field === "take_profit");
    const gap = above ? rational(exact).sub(rational(price)) : rational(price).sub(rational(exact));
    if (gap.gt(0n) && gap.gte(distance)) continue;
    const side = above ? "above" : "below";
    return refuseTrading("invalid_price", `must lie ${symbol.stops_level} points or more ${side} ${price}`, field);
  }
  return undefined;
}

/** Whether a quote ends a position by its stop loss or take profit; both at once is the stop loss. */
export function exitReason(
  position: { readonly side: SideName; readonly stop_loss: string | null; readonly take_profit: string | null },
  quote: Quote,
): "stop_loss" | "take_profit" | undefined {
  const price = rational(closePrice(quote, position.side));
  const { side, stop_loss, take_profit } = position;
  const lost = stop_loss !== null && (side === "buy" ? price.lte(stop_loss) : price.gte(stop_loss));
  if (lost) return "stop_loss";
  const won = take_profit !== null && (side === "buy" ? price.gte(take_profit) : price.lte(take_profit));
  return won ? "take_profit" : undefined;
}
