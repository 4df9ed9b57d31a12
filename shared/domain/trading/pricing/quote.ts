import { limits } from "../../../limits.ts";
import type { QuoteBody, QuoteSetBody } from "../../../schema/quote.ts";
import type { SideName } from "../../../schema/trade.ts";
import type { SourcePulse } from "../../records/feed-source.ts";
import type { Quote } from "../../records/quote.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { decimalText, type Rational, rational, roundHalfAway } from "./rational.ts";
import { isMarketOpen, marketStatus } from "./symbol.ts";

/**
 * Symbols and newest prices that a decision may use, and the pulse of every source that one of its positions is of. A
 * symbol without a quote was never quoted, a source without a pulse is silent.
 */
export interface Market {
  readonly symbols: ReadonlyMap<string, TradingSymbol>;
  readonly quotes: ReadonlyMap<string, Quote>;
  readonly sources?: ReadonlyMap<string, SourcePulse>;
}

/** The price between bid and ask. */
export function midOf(quote: Quote): Rational {
  return rational(quote.bid).add(rational(quote.ask)).div(2n);
}

/** The price at which a position of this side is closed: a buy sells at the bid. */
export function closePrice(quote: Quote, side: SideName): string {
  return side === "buy" ? quote.bid : quote.ask;
}

/** The price at which a position of this side is opened. */
export function openPrice(quote: Quote, side: SideName): string {
  return side === "buy" ? quote.ask : quote.bid;
}

/** Milliseconds since the older of the two moments of a quote: a price repeated late is as old as it says. */
export function ageMs(quote: Quote, now: string): number {
  const moment = quote.time < quote.received_at ? quote.time : quote.received_at;
  return Math.max(0, Date.parse(now) - Date.parse(moment));
}

/**
 * Whether a price is too old to decide on: its market is open and it has not moved for too long. One that is held never
 * is: no source is there that could have moved it.
 */
export function isTooOld(symbol: TradingSymbol, quote: Quote, now: string): boolean {
  return isOlder(quote, limits.trading.metrics_stale_ms, now) && isMarketOpen(symbol, now);
}

/** Whether a quote of an open market is shown as stale, long before it is too old to value positions by. */
export function isStale(symbol: TradingSymbol, quote: Quote, now: string): boolean {
  return isOlder(quote, limits.trading.quote_stale_ms, now) && isMarketOpen(symbol, now);
}

function isOlder(quote: Quote, ms: number, now: string): boolean {
  return quote.held !== true && ageMs(quote, now) > ms;
}

/** The quote as the API shows it. */
export function quoteBody(symbol: TradingSymbol, quote: Quote, now: string): QuoteBody {
  const market_status = marketStatus(symbol, now);
  const { held: _held, marks: _marks, aside: _aside, reference: _reference, version: _version, ...shown } = quote;
  const name = encodeURIComponent(quote.symbol);
  const spread = rational(quote.ask).sub(rational(quote.bid));
  return {
    ...shown,
    object: "quote",
    mid: decimalText(midOf(quote), symbol.digits + 1),
    spread_points: Number(roundHalfAway(spread, symbol.digits)),
    age_ms: ageMs(quote, now),
    stale: isStale(symbol, quote, now),
    market_status,
    _links: {
      self: { href: `/v2/quotes/${name}` },
      symbol: { href: `/v2/symbols/${name}` },
    },
  };
}

/** The quotes of these symbols as the API shows them, and why the others have none. */
export function quoteSetBody(market: Market, names: readonly string[], now: string): QuoteSetBody {
  const data: QuoteBody[] = [];
  const missing: QuoteSetBody["missing"] = [];
  for (const name of names) {
    const symbol = market.symbols.get(name);
    const quote = market.quotes.get(name);
    if (symbol !== undefined && quote !== undefined) data.push(quoteBody(symbol, quote, now));
    else missing.push({ symbol: name, code: symbol === undefined ? "symbol_not_found" : "no_quote" });
  }
  const self = `/v2/quotes?symbols=${names.map(encodeURIComponent).join(",")}`;
  return { object: "quote_set", data, missing, _links: { self: { href: self } } };
}

/** A price in the units of triggers, in which prices of any digits compare. */
export function triggerUnits(price: string): bigint {
  return roundHalfAway(rational(price), limits.trading.trigger_digits);
}
