import { wholeOf } from "../../../currencies.ts";
import { type Decided, refuse, unchanged } from "../../kernel/decision.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { type Conversion, conversionBy, directionOf, type Step } from "./convert.ts";
import { bridge, type Pair } from "./needs.ts";
import { isStale, type Market, midOf } from "./quote.ts";
import { rational } from "./rational.ts";
import { isMarketOpen } from "./symbol.ts";

/** The pairs that may make the rate between two currencies: the way of each to USD, and those that join them. */
interface ClientPairs<P extends Pair> {
  readonly up: readonly P[];
  readonly down: readonly P[];
  readonly direct: readonly P[];
}

/**
 * The pairs that {@link clientConversion} needs; undefined where there is no way. Each currency has one way to USD: its
 * first pair with USD by name, else its first pair by name whose other currency has one.
 */
export function clientPairs<P extends Pair>(known: Iterable<P>, from: string, to: string): ClientPairs<P> | undefined {
  const pairs = [...known].toSorted((a, b) => (a.symbol < b.symbol ? -1 : 1));
  const [whole, target] = [wholeOf(from), wholeOf(to)];
  const [up, down] = [wayToBridge(pairs, whole), wayToBridge(pairs, target)];
  if (up === undefined || down === undefined) return undefined;
  return { up, down, direct: pairs.filter((pair) => directionOf(pair, whole, target) !== undefined) };
}

function wayToBridge<P extends Pair>(pairs: readonly P[], currency: string): readonly P[] | undefined {
  if (currency === bridge) return [];
  const ofBridge = (one: string) => pairs.find((pair) => directionOf(pair, one, bridge) !== undefined);
  const own = ofBridge(currency);
  if (own !== undefined) return [own];
  for (const pair of pairs) {
    const other = otherOf(pair, currency);
    // A pair that is quoted in cents converts nothing.
    const last = other === undefined || wholeOf(other) !== other ? undefined : ofBridge(other);
    if (last !== undefined) return [pair, last];
  }
  return undefined;
}

/** The currency that a pair converts one into; undefined where it converts none. */
function otherOf(pair: Pair, currency: string): string | undefined {
  return [pair.base_currency, pair.quote_currency].find((other) => directionOf(pair, currency, other) !== undefined);
}

/**
 * How an amount that a client gives away for good is converted: at the bid of what it sells and the ask of what it
 * buys, by the lesser of the way between its currencies and each pair that joins them. So no cycle of conversions at
 * one moment gains, whatever the quotes of different pairs say: each way leads through one tree, where a cycle crosses
 * every pair as often at its bid as at its ask, and nothing is better than the way (ADR 0050).
 *
 * A market of the way that is closed, or a quote that is stale or missing, refuses: a rate of Saturday must not buy
 * what Monday opens at, nor one of a minute ago what has moved since. A pair that joins the two is left out instead.
 */
export function clientConversion(market: Market, from: string, to: string, now: string): Decided<Conversion, never> {
  const pairs = clientPairs(market.symbols.values(), from, to);
  if (pairs === undefined) {
    return refuse("no_conversion_path", `No pairs lead from ${from} to ${to}.`, { extra: { from, to } });
  }
  const { up, down } = pairs;
  // Where both ways end with the same pair, they meet before it.
  const shared = up.at(-1) === down.at(-1) ? 1 : 0;
  const way = [...up.slice(0, up.length - shared), ...down.slice(0, down.length - shared).toReversed()];
  const steps: Step[] = [];
  let at = wholeOf(from);
  for (const symbol of way) {
    const step = clientStep(market, symbol, at, now);
    if (!step.ok) return step;
    steps.push(step.result);
    at = otherOf(symbol, at) ?? at;
  }
  const direct = pairs.direct.flatMap((symbol) => {
    const step = clientStep(market, symbol, wholeOf(from), now);
    return step.ok ? [conversionBy(from, to, [step.result])] : [];
  });
  const lesser = (least: Conversion, other: Conversion) => (other.rate.lt(least.rate) ? other : least);
  return unchanged(direct.reduce(lesser, conversionBy(from, to, steps)));
}

/** One step of a client: what they sell is sold at the bid, what they buy is bought at the ask. */
function clientStep(market: Market, symbol: TradingSymbol, from: string, now: string): Decided<Step, never> {
  const { symbol: name, digits } = symbol;
  if (!isMarketOpen(symbol, now)) {
    return refuse("market_closed", `The market of ${name}, which converts the amount, is closed.`);
  }
  const quote = market.quotes.get(name);
  if (quote === undefined || isStale(symbol, quote, now)) {
    return refuse("metrics_stale", `${name}, which converts the amount, has no price of now; try again.`);
  }
  const sells = symbol.base_currency === from;
  const price = rational(sells ? quote.bid : quote.ask);
  return unchanged({ symbol: name, op: sells ? "multiply" : "divide", price, mid: midOf(quote), digits });
}
