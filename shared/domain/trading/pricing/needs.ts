import { wholeOf } from "../../../currencies.ts";
import type { TradingSymbol } from "../../records/symbol.ts";

/** Members of a symbol that tell whether it converts. */
export type Pair = Pick<TradingSymbol, "symbol" | "calc_mode" | "base_currency" | "quote_currency" | "commission">;

/** The currency that a conversion in two steps goes over. */
export const bridge = "USD";

/**
 * The names of the symbols whose prices a deal in one of these symbols depends on, on an account of this currency: the
 * symbol itself and every pair that profit, margin or commission may be converted with.
 */
export function symbolsNeeded(
  known: Iterable<Pair>,
  deals: Iterable<{ readonly symbol: string; readonly currency: string }>,
): Set<string> {
  const pairs = [...known];
  const bySymbol = new Map(pairs.map((pair) => [pair.symbol, pair]));
  const ways = new Set<string>();
  const needed = new Set<string>();
  for (const { symbol, currency } of deals) {
    needed.add(symbol);
    const traded = bySymbol.get(symbol);
    if (traded === undefined) continue;
    const sources = [traded.base_currency, traded.quote_currency, traded.commission.currency].map(wholeOf);
    const target = wholeOf(currency);
    for (const from of sources) ways.add(wayOf(from, target)).add(wayOf(from, bridge));
    ways.add(wayOf(bridge, target));
  }
  for (const { symbol, calc_mode, base_currency, quote_currency } of pairs) {
    if (calc_mode === "forex" && ways.has(wayOf(base_currency, quote_currency))) needed.add(symbol);
  }
  return needed;
}

/** A way between two currencies, whichever comes first. */
function wayOf(a: string, b: string): string {
  return a < b ? `${a}/${b}` : `${b}/${a}`;
}
