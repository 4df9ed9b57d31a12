import { minorDigits } from "../../currencies.ts";
import type { Position } from "../records/position.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { conversion } from "./pricing/convert.ts";
import type { Market } from "./pricing/quote.ts";
import { type Rational, rational, roundHalfAway } from "./pricing/rational.ts";

/**
 * The swap of a position for a number of nights, rounded once for the whole posting: a triple night is one posting. In
 * points of price, or in percent of the notional a year of 360 days, which a long pays and a short gets. Undefined when
 * there is no way to convert it.
 */
export function swapMinor(
  market: Market,
  symbol: TradingSymbol,
  position: Pick<Position, "side" | "lots" | "open_price" | "currency">,
  nights: number,
): bigint | undefined {
  if (symbol.swap.type === "none" || nights === 0) return 0n;
  const path = conversion(market, symbol.quote_currency, position.currency);
  if (path === undefined) return undefined;
  return swapOf(symbol, position, nights, path.rate);
}

/** Terms that the swap of a night is computed from. */
interface SwapTerms extends Pick<TradingSymbol, "point" | "contract_size"> {
  readonly swap: Pick<TradingSymbol["swap"], "type" | "long" | "short">;
}

/** The swap of a position for a number of nights by its terms and the rate to its account's currency. */
export function swapOf(
  terms: SwapTerms,
  position: Pick<Position, "side" | "lots" | "open_price" | "currency">,
  nights: number,
  rate: Rational,
): bigint {
  if (terms.swap.type === "none") return 0n;
  const perNight = terms.swap.type === "points" ? pointsANight(terms, position) : percentANight(terms, position);
  return roundHalfAway(perNight.mul(BigInt(nights)).mul(rate), minorDigits[position.currency]);
}

function sizeOf(symbol: SwapTerms, lots: string): Rational {
  return rational(lots).mul(rational(symbol.contract_size));
}

function pointsANight(symbol: SwapTerms, { side, lots }: Pick<Position, "side" | "lots">): Rational {
  const points = side === "buy" ? symbol.swap.long : symbol.swap.short;
  return rational(points).mul(rational(symbol.point)).mul(sizeOf(symbol, lots));
}

function percentANight(
  symbol: SwapTerms,
  { side, lots, open_price }: Pick<Position, "side" | "lots" | "open_price">,
): Rational {
  const percent = side === "buy" ? rational(symbol.swap.long).neg() : rational(symbol.swap.short);
  return percent.div(36_000n).mul(sizeOf(symbol, lots)).mul(rational(open_price));
}

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/**
 * Nights that the rollover of a calendar day counts: three on the triple day and none on the weekend that it stands
 * for; a symbol without a triple day counts one every day.
 */
export function nightsOf(symbol: TradingSymbol, date: string): number {
  const { triple_day } = symbol.swap;
  if (triple_day === null) return 1;
  const day = weekdays[new Date(`${date}T00:00:00.000Z`).getUTCDay()];
  if (day === triple_day) return 3;
  return day === "saturday" || day === "sunday" ? 0 : 1;
}
