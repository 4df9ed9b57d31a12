import { limits } from "../../../limits.ts";
import type { MarketStatusName, SymbolBody } from "../../../schema/symbol.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { type Rational, rational, shortDecimalText, unitsText } from "./rational.ts";
import { instantOf } from "./zone-clock.ts";

/** State of a symbol's market by the clock. */
export interface MarketClock {
  readonly market_status: MarketStatusName;
  readonly next_open_at: string | null;
  readonly next_close_at: string | null;
}

const dayMs = 24 * 3600 * 1000;
const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

type Interval = readonly [openMs: number, closeMs: number];

/**
 * The open intervals of so many days, from the day before `nowMs` on, in order; sessions that touch are one. Days and
 * times are those of the symbol's zone, which is at most a day away from UTC.
 */
function openIntervals(symbol: TradingSymbol, nowMs: number, daysOn: number): Interval[] {
  const { zone = "UTC", sessions, holidays } = symbol;
  const first = Math.floor(nowMs / dayMs) - 1;
  const found: Interval[] = [];
  for (let day = first; day <= first + daysOn + (zone === "UTC" ? 0 : 1); day += 1) {
    const name = days[(day + 4) % 7];
    const today = sessions.filter((session) => session.day === name);
    if (today.length === 0) continue;
    const date = new Date(day * dayMs).toISOString().slice(0, 10);
    if (holidays.includes(date)) continue;
    for (const { open, close } of today) {
      const interval = [instantOf(zone, date, open), instantOf(zone, date, close)] as const;
      // A session within an hour that summer time leaves out is none.
      if (interval[0] < interval[1]) found.push(interval);
    }
  }
  const merged: Interval[] = [];
  for (const next of found.toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && next[0] <= last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], next[1])];
    else merged.push(next);
  }
  return merged;
}

/** Whether the market of a symbol is open at a moment. Opening is inclusive, closing is not. */
export function marketStatus(symbol: TradingSymbol, now: string): MarketStatusName {
  if (symbol.halted) return "halted";
  const nowMs = Date.parse(now);
  // A page of accounts asks this for each of their positions: the two days that can tell are enough.
  const open = openIntervals(symbol, nowMs, 1).some(([from, to]) => from <= nowMs && nowMs < to);
  return open ? "open" : "closed";
}

/** Whether the market of a symbol is open at a moment, and when that changes. Opening is inclusive, closing is not. */
export function marketClock(symbol: TradingSymbol, now: string): MarketClock {
  const nowMs = Date.parse(now);
  const intervals = openIntervals(symbol, nowMs, limits.trading.opening_horizon_days);
  const current = intervals.find(([open, close]) => open <= nowMs && nowMs < close);
  const next = intervals.find(([open]) => open > nowMs);
  const last = intervals.at(-1);
  const shown = (ms: number) => new Date(ms).toISOString();
  const endless =
    current !== undefined &&
    current === last &&
    current[1] >= nowMs + (limits.trading.opening_horizon_days - 2) * dayMs;
  return {
    market_status: marketStatus(symbol, now),
    next_open_at: current === undefined && next !== undefined ? shown(next[0]) : null,
    next_close_at: current === undefined || endless ? null : shown(current[1]),
  };
}

/** Whether a symbol can be executed at a moment. */
export function isMarketOpen(symbol: TradingSymbol, now: string): boolean {
  return marketStatus(symbol, now) === "open";
}

/** Whether the market of a symbol is in one of these states at a moment. */
export function isMarketIn(symbol: TradingSymbol, states: readonly string[], now: string): boolean {
  return states.includes(marketStatus(symbol, now));
}

/** Whether a symbol is a pair of currencies: amounts are divided by its prices, so none is zero or below. */
export function isPair({ calc_mode }: Pick<TradingSymbol, "calc_mode">): boolean {
  return calc_mode === "forex";
}

/** The symbol as the API shows it. */
export function symbolBody(symbol: TradingSymbol, now: string): SymbolBody {
  const { tenant_id: _tenant, halted: _halted, swap_since: _since, ...fields } = symbol;
  const name = encodeURIComponent(symbol.symbol);
  return {
    ...fields,
    object: "symbol",
    zone: symbol.zone ?? "UTC",
    ...marketClock(symbol, now),
    _links: { self: { href: `/v2/symbols/${name}` }, quote: { href: `/v2/quotes/${name}` } },
  };
}

/** Lots in the decimals of the step, and in more where they have more: what a platform booked may be off the step. */
export function lotsOf(symbol: TradingSymbol, lots: Rational): string {
  return shortDecimalText(lots, lotDigits(symbol), limits.trading.rate_digits);
}

/** Digits after the point of a lot of this symbol. */
function lotDigits(symbol: TradingSymbol): number {
  const step = symbol.lot_step;
  const point = step.indexOf(".");
  return point === -1 ? 0 : step.length - point - 1;
}

/** Lots of a symbol in the decimals of its step: `"1"` of EURUSD is `"1.00"`. Undefined when there are more. */
export function lotsText(symbol: TradingSymbol, lots: string): string | undefined {
  const units = unitsOf(lots, lotDigits(symbol));
  return units === undefined ? undefined : unitsText(units, lotDigits(symbol));
}

/** Why a number of lots cannot be traded; undefined when it can. */
export function lotsFault(symbol: TradingSymbol, lots: string): string | undefined {
  const value = rational(lots);
  if (value.lt(symbol.lot_min)) return `must not be below ${symbol.lot_min}`;
  if (value.gt(symbol.lot_max)) return `must not be above ${symbol.lot_max}`;
  return value.divisible(symbol.lot_step) ? undefined : `must be a multiple of ${symbol.lot_step}`;
}

/** A price of a request with exactly the digits of its symbol; undefined when it has more, or is none of a pair. */
export function priceText(symbol: TradingSymbol, price: string): string | undefined {
  const units = unitsOf(price, symbol.digits);
  return units === undefined || (units <= 0n && isPair(symbol)) ? undefined : unitsText(units, symbol.digits);
}

/** A price that has happened: with the digits of its symbol, and more where it has more; undefined for 0 of a pair. */
export function reportedPrice(symbol: TradingSymbol, price: string): string | undefined {
  const value = rational(price);
  if (isPair(symbol) && value.lte(0n)) return undefined;
  return shortDecimalText(value, symbol.digits, limits.trading.trigger_digits);
}

/** A stop that a platform reports, as {@link reportedPrice}; null where there is none, which platforms write as 0. */
export function reportedStop(symbol: TradingSymbol, price: string | null | undefined): string | null | undefined {
  return price === null || price === undefined || rational(price).equals(0n) ? null : reportedPrice(symbol, price);
}

/** The number in units of `10^-digits`; undefined when it has more digits than that, other than zeros. */
function unitsOf(text: string, digits: number): bigint | undefined {
  const [whole = "0", fraction = ""] = text.split(".");
  if (!/^0*$/.test(fraction.slice(digits))) return undefined;
  return BigInt(whole + fraction.slice(0, digits).padEnd(digits, "0"));
}
