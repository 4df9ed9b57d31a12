import { greatest, least } from "../../kernel/money.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { rational, roundHalfAway, unitsText } from "./rational.ts";

/** Bid and ask of a symbol, in its digits. */
export interface Price {
  readonly bid: string;
  readonly ask: string;
}

/** A price in points of its symbol, to the nearest one: a source may quote with more digits. */
export function pointsOf(symbol: TradingSymbol, price: string): bigint {
  return roundHalfAway(rational(price), symbol.digits);
}

/** The price with a bid of so many points and an ask of so many more. */
export function priceAt(symbol: TradingSymbol, bid: bigint, spread: bigint): Price {
  return { bid: unitsText(bid, symbol.digits), ask: unitsText(bid + spread, symbol.digits) };
}

/**
 * The nearest number of points within bounds at which it is met, looked for in doubling steps on both sides and then by
 * halves.
 */
export function nearestPoint(
  start: bigint,
  [lowest, highest]: readonly [bigint, bigint],
  met: (points: bigint) => boolean,
): bigint | undefined {
  for (let inner = 0n, step = 1n; start - inner > lowest || start + inner < highest; inner = step, step *= 2n) {
    const [below, above] = [greatest(start - step, lowest), least(start + step, highest)];
    if (below < start - inner && met(below)) return boundary(start - inner, below, met);
    if (above > start + inner && met(above)) return boundary(start + inner, above, met);
  }
  return undefined;
}

/** Between one where it is not met and one where it is: the met one next to an unmet one. */
function boundary(unmet: bigint, met: bigint, isMet: (points: bigint) => boolean): bigint {
  let [low, high] = [unmet, met];
  while (low - high > 1n || high - low > 1n) {
    const middle = (low + high) / 2n;
    if (isMet(middle)) high = middle;
    else low = middle;
  }
  return high;
}
