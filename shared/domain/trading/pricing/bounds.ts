import { type CurrencyCode, minorDigits } from "../../../currencies.ts";
import { limits } from "../../../limits.ts";
import type { Refusal } from "../../kernel/decision.ts";
import { formatAmount } from "../../kernel/money.ts";
import type { Balance } from "../../records/balance.ts";
import type { Position } from "../../records/position.ts";
import type { Quote } from "../../records/quote.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { commissionMinor } from "./commission.ts";
import { conversion } from "./convert.ts";
import type { Market } from "./quote.ts";
import { decimalText, quotient, type Rational, rational, roundToward, zero } from "./rational.ts";
import { isPair } from "./symbol.ts";

/** The lowest and the highest price that a quote may have, both included. */
export interface PriceBounds {
  readonly lowest: Rational;
  readonly highest: Rational;
}

/**
 * The price that those after a quote are measured from: the first one of the day, and before that one the last there
 * was. Undefined when nothing was taken for so long that the quote may be the wrong one: it must not keep every right
 * price out for ever. A price of the sandbox's market stands for as long as it is held.
 */
function referenceOf(quote: Quote, now: string): string | undefined {
  const silent = Date.parse(now) - Date.parse(quote.received_at);
  if (quote.held !== true && silent > limits.trading.reference_kept_ms) return undefined;
  const today = quote.received_at.slice(0, 10) === now.slice(0, 10);
  return today ? quote.reference : quote.bid;
}

/** Reference of the prices after a quote of this bid on the same day. */
export function nextReference(before: Quote | undefined, bid: string, now: string): string {
  const today = before !== undefined && before.received_at.slice(0, 10) === now.slice(0, 10);
  return (today ? referenceOf(before, now) : undefined) ?? bid;
}

/**
 * So near to zero that a part of a price says nothing of how far the next one is. There the prices of a day are bounded
 * as if the first one were here.
 */
function nearZero({ digits }: TradingSymbol): Rational {
  return quotient(limits.trading.near_zero_points, 10n ** BigInt(digits));
}

/** Whether a price is too near to zero for its deviation to be judged by percent; that of a pair never is. */
export function isNearZero(symbol: TradingSymbol, price: string): boolean {
  return !isPair(symbol) && rational(price).abs().lte(nearZero(symbol));
}

/** How far from zero the prices of a day are measured from, for a symbol whose first one was this. */
function magnitudeOf(symbol: TradingSymbol, reference: string): Rational {
  const size = rational(reference).abs();
  return isNearZero(symbol, reference) ? nearZero(symbol) : size;
}

/**
 * The prices that may follow a quote: within a factor of the first price of the day, on both sides of zero, and those
 * of a pair also at least a part of it, because amounts are divided by them.
 */
export function priceBounds(symbol: TradingSymbol, before: Quote | undefined, now: string): PriceBounds {
  const { max_price, max_daily_factor, max_daily_pair_factor } = limits.trading;
  const most = rational(max_price);
  const pair = isPair(symbol);
  const known = before && referenceOf(before, now);
  if (known === undefined) return { lowest: pair ? zero : most.neg(), highest: most };
  const reference = magnitudeOf(symbol, known);
  const factor = reference.mul(pair ? max_daily_pair_factor : max_daily_factor);
  const highest = factor.lt(most) ? factor : most;
  return { lowest: pair ? reference.div(max_daily_pair_factor) : highest.neg(), highest };
}

/** Whether a quote would lie outside the bounds of its day. */
export function isOutOfBounds({ lowest, highest }: PriceBounds, bid: string, ask: string): boolean {
  return rational(bid).lt(lowest) || rational(ask).gt(highest);
}

/**
 * Refuses to open more where a profit could take the balance beyond its bound: while the balance is above the half that
 * is not kept for trading, and when the positions would be worth more than the other half allows; the proof is at
 * `limits.trading.max_worth_minor`. An execution that lowers the worth is never refused, and a close does not ask.
 */
export function refuseExposure(
  market: Market,
  before: { readonly balance: Balance; readonly positions: readonly Position[] },
  after: readonly Position[],
  now: string,
): { readonly ok: false; readonly refusal: Refusal } | undefined {
  const { balance_minor: balance, currency } = before.balance;
  const { max_traded_minor: half } = limits.money;
  const fixed = atReferences(market, now);
  const worth = worthMinor(fixed, after, currency);
  const full = balance > half || balance < -half;
  if (!full && worth <= limits.trading.max_worth_minor) return undefined;
  if (worth <= worthMinor(fixed, before.positions, currency)) return undefined;
  const most = formatAmount(full ? half : limits.trading.max_worth_minor, currency);
  const detail = full
    ? `Positions are opened while the balance is at most ${most} ${currency}.`
    : `The open positions of an account may be worth ${most} ${currency}.`;
  return { ok: false, refusal: { code: "exposure_too_large", detail } };
}

/** The market at the prices that those of the day are measured from, above zero. */
function atReferences(market: Market, now: string): Market {
  const quotes = [...market.quotes].map(([name, quote]) => {
    const symbol = market.symbols.get(name);
    const first = referenceOf(quote, now) ?? quote.bid;
    const price = symbol === undefined ? first : decimalText(magnitudeOf(symbol, first), limits.trading.trigger_digits);
    return [name, { ...quote, bid: price, ask: price }] as const;
  });
  return { ...market, quotes: new Map(quotes) };
}

/** Worth of positions together, each rounded by itself; those of the same lots and price are worth the same. */
function worthMinor(market: Market, positions: readonly Position[], currency: CurrencyCode): bigint {
  const known = new Map<string, bigint>();
  return positions.reduce((sum, { symbol, lots, open_price }) => {
    const price = market.quotes.get(symbol)?.bid ?? open_price;
    const name = `${symbol}\n${lots}\n${price}`;
    const worth = known.get(name) ?? worthOf(market, symbol, { lots, price, currency });
    known.set(name, worth);
    return sum + worth;
  }, 0n);
}

/** Worth of lots of a symbol at a price, with the commission of both sides, in minor units rounded up. */
function worthOf(
  market: Market,
  name: string,
  deal: { readonly lots: string; readonly price: string; readonly currency: CurrencyCode },
): bigint {
  const { lots, price, currency } = deal;
  const symbol = market.symbols.get(name);
  const path = symbol && conversion(market, symbol.quote_currency, currency, { symbol, price });
  if (symbol === undefined || path === undefined) return 0n;
  const value = rational(lots).mul(rational(symbol.contract_size)).mul(rational(price).abs()).mul(path.rate);
  const commission = commissionMinor(market, symbol, deal) ?? 0n;
  return roundToward(value, minorDigits[currency], "up") - 2n * commission;
}
