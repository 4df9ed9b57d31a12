import { type CurrencyCode, minorDigits } from "../../currencies.ts";
import type { SideName } from "../../schema/trade.ts";
import type { Unconverted } from "../kernel/decision.ts";
import type { Position } from "../records/position.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { type Conversion, conversion, isConvertible, pairsOf } from "./pricing/convert.ts";
import { ageMs, closePrice, isTooOld, type Market } from "./pricing/quote.ts";
import { type Rational, rational, roundHalfAway, shortDecimalText, zero } from "./pricing/rational.ts";
import { isCutOff } from "./pricing/source.ts";
import { isMarketOpen } from "./pricing/symbol.ts";

/** Input to the profit of a closed or open position. */
export interface Deal {
  readonly side: SideName;
  readonly lots: string;
  readonly open_price: string;
  readonly currency: CurrencyCode;
}

/** The profit of a deal at a price, before costs, in the symbol's quote currency. Exact. */
function quoteProfit(symbol: TradingSymbol, deal: Deal, price: string): Rational {
  const move = rational(price).sub(rational(deal.open_price));
  const signed = deal.side === "buy" ? move : move.neg();
  return signed.mul(rational(deal.lots)).mul(rational(symbol.contract_size));
}

/** A profit in minor units of the account's currency, and how it was converted. */
export interface GrossProfit {
  readonly gross_minor: bigint;
  readonly conversion: Conversion;
}

/**
 * The profit of a deal at a price: exact, converted at mid or at the closing price where the symbol is the pair itself,
 * rounded once. Undefined when there is no way from the quote currency to the account's.
 */
export function grossProfit(market: Market, symbol: TradingSymbol, deal: Deal, price: string): GrossProfit | undefined {
  const path = conversion(market, symbol.quote_currency, deal.currency, { symbol, price });
  if (path === undefined) return undefined;
  const exact = quoteProfit(symbol, deal, price).mul(path.rate);
  return { gross_minor: roundHalfAway(exact, minorDigits[deal.currency]), conversion: path };
}

/**
 * Value of a position now. `stale`: a price it needs is missing, or too old while its market is open, or the source it
 * came from is silent; such a value is for information, and nothing is decided on it. `open`: its symbol can be
 * executed.
 */
export interface Valuation {
  readonly position: Position;
  readonly price: string | null;
  readonly quote_at: string | null;
  readonly gross_minor: bigint;
  readonly floating_minor: bigint;
  /** The profit before costs in the symbol's quote currency, exact; undefined without a price or a way to convert. */
  readonly quote_profit: Rational | undefined;
  readonly conversion: Conversion | undefined;
  /** The conversion that no pair makes, although the price is known; a pair without a price yet is waited for. */
  readonly unconverted: Unconverted | undefined;
  readonly stale: boolean;
  readonly open: boolean;
}

/** Shared by the positions of one symbol and side, one currency and one source at a moment of a market. */
interface Mark {
  readonly price: string | null;
  readonly quote_at: string | null;
  readonly conversion: Conversion | undefined;
  readonly unconverted: Unconverted | undefined;
  readonly stale: boolean;
  readonly open: boolean;
}

/** Values of a market at a moment: neither it nor a position ever changes, so nothing is computed twice. */
interface Valued {
  readonly now: string;
  readonly marks: Map<string, Mark>;
  readonly values: WeakMap<Position, Valuation>;
}

const valued = new WeakMap<Market, Valued>();

function valuedAt(market: Market, now: string): Valued {
  const known = valued.get(market);
  if (known?.now === now) return known;
  const fresh = { now, marks: new Map(), values: new WeakMap() };
  valued.set(market, fresh);
  return fresh;
}

/**
 * Values a position at the newest prices. Without a price or a way to convert it counts its swap alone, as stale. A
 * decision asks for it several times; each position is valued once for a market and a moment.
 */
export function valuePosition(market: Market, position: Position, now: string): Valuation {
  const { marks, values } = valuedAt(market, now);
  const known = values.get(position);
  if (known !== undefined) return known;
  const name = `${position.symbol}\n${position.side}\n${position.currency}\n${position.source}`;
  const mark = marks.get(name) ?? markOf(market, position, now);
  marks.set(name, mark);
  const value = valueAt(market, position, mark);
  values.set(position, value);
  return value;
}

function markOf(market: Market, position: Position, now: string): Mark {
  const symbol = market.symbols.get(position.symbol);
  const quote = market.quotes.get(position.symbol);
  const price = quote === undefined ? null : closePrice(quote, position.side);
  const path =
    symbol === undefined || price === null
      ? undefined
      : conversion(market, symbol.quote_currency, position.currency, { symbol, price });
  const used = [position.symbol, ...(path === undefined ? [] : pairsOf(path))];
  return {
    price,
    quote_at: oldest(market, used, now)?.time ?? null,
    conversion: path,
    unconverted:
      symbol !== undefined &&
      price !== null &&
      path === undefined &&
      !isConvertible(market, symbol.quote_currency, position.currency)
        ? { symbol: symbol.symbol, from: symbol.quote_currency, to: position.currency }
        : undefined,
    stale: path === undefined || isCutOff(market, position, now) || used.some((name) => tooOld(market, name, now)),
    open: symbol !== undefined && isMarketOpen(symbol, now),
  };
}

function valueAt(market: Market, position: Position, mark: Mark): Valuation {
  const symbol = market.symbols.get(position.symbol);
  const known = symbol !== undefined && mark.price !== null && mark.conversion !== undefined;
  const profit = known ? quoteProfit(symbol, position, mark.price) : undefined;
  const gross =
    profit === undefined || mark.conversion === undefined
      ? 0n
      : roundHalfAway(profit.mul(mark.conversion.rate), minorDigits[position.currency]);
  return { ...mark, position, gross_minor: gross, floating_minor: gross + position.swap_minor, quote_profit: profit };
}

function tooOld(market: Market, name: string, now: string): boolean {
  const symbol = market.symbols.get(name);
  const quote = market.quotes.get(name);
  return symbol === undefined || quote === undefined || isTooOld(symbol, quote, now);
}

function oldest(market: Market, names: readonly string[], now: string): Quote | undefined {
  const quotes = names.flatMap((name) => market.quotes.get(name) ?? []);
  return quotes.reduce<Quote | undefined>(
    (old, quote) => (old === undefined || ageMs(quote, now) > ageMs(old, now) ? quote : old),
    undefined,
  );
}

/** Lots with a value of their own, a price or a rate. */
export interface Weighted {
  readonly lots: string;
  readonly value: Rational;
}

/** The mean of values weighted by their lots. */
export function weightedMean(parts: readonly Weighted[]): Rational {
  const sum = (of: (part: Weighted) => Rational) => parts.reduce((total, part) => total.add(of(part)), zero);
  return sum(({ lots, value }) => value.mul(rational(lots))).div(sum(({ lots }) => rational(lots)));
}

/**
 * The volume-weighted price of a netting position after an increase, of at least the symbol's digits and at most
 * twelve: what is shown is what profits are computed from, so that a reader can compute every cent again.
 */
export function averagePrice(symbol: TradingSymbol, parts: readonly { lots: string; open_price: string }[]): string {
  const mean = weightedMean(parts.map(({ lots, open_price }) => ({ lots, value: rational(open_price) })));
  return shortDecimalText(mean, symbol.digits, 12);
}

/** The part of a total that `closed` of `open` lots carry; the rest stays, so that no cent is lost or made. */
export function shareOf(totalMinor: bigint, closed: string, open: string): bigint {
  return roundHalfAway(rational(totalMinor).mul(rational(closed)).div(rational(open)), 0);
}
