import { type Refusal, refuseUnvalued } from "../kernel/decision.ts";
import type { Position } from "../records/position.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { refuseTrading } from "../trading/close-trade.ts";
import { type Holdings, levelHundredths, metricsAt, positionMargin } from "../trading/margin.ts";
import { nearestPoint, type Price, pointsOf, priceAt } from "../trading/pricing/points.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { internalSource } from "../trading/pricing/source.ts";
import { isMarketOpen } from "../trading/pricing/symbol.ts";
import { pointBounds } from "./prices.ts";

/** Where an account is to be driven, by the price of which symbol. */
export interface Destination {
  /** Percent: `80.00`. */
  readonly margin_level: string;
  /** The symbol of the position with the largest margin when absent. */
  readonly symbol?: string | undefined;
}

/** The price that takes an account to a margin level, and the level that it gives exactly. */
export interface Drive {
  readonly ok: true;
  readonly symbol: string;
  readonly price: Price;
  readonly margin_level: string | null;
}

type Refused = { readonly ok: false; readonly refusal: Refusal };

/**
 * Finds the price of one symbol, nearest to the newest, at which an account has a margin level. Prices are whole
 * points: falling to a level the account is at it or just below, rising to one it is at it or just above. The spread
 * stays as it is, and every other price.
 */
export function driveTo(holdings: Holdings, market: Market, destination: Destination, now: string): Drive | Refused {
  const { account, positions } = holdings;
  if (account.platform !== "internal" || positions.some(({ source }) => source !== internalSource)) {
    return refuseTrading("platform_account", "A trading platform keeps positions of this account.");
  }
  const name = destination.symbol ?? largestSymbol(holdings);
  if (name === undefined) return unreachable("The account has no open position, so it has no margin level.");
  const symbol = market.symbols.get(name);
  const quote = market.quotes.get(name);
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${name}.`);
  if (!isMarketOpen(symbol, now)) return refuseTrading("market_closed", `The market of ${name} is closed.`);
  if (quote === undefined) return refuseTrading("no_quote", `${name} has no price yet.`);
  const spread = pointsOf(symbol, quote.ask) - pointsOf(symbol, quote.bid);
  const at = (points: bigint) => {
    const price = priceAt(symbol, points, spread);
    const quotes = new Map(market.quotes).set(name, { ...quote, ...price });
    return { price, metrics: metricsAt({ ...market, quotes }, holdings, now) };
  };
  const start = pointsOf(symbol, quote.bid);
  const unvalued = refuseUnvalued(at(start).metrics, "A price that the account depends on is too old.");
  if (unvalued !== undefined) return unvalued;
  const level = levelHundredths(destination.margin_level);
  const above = (points: bigint) => {
    const { equity_minor, used_margin_minor } = at(points).metrics;
    return { over: equity_minor * 10_000n - level * used_margin_minor, used: used_margin_minor };
  };
  const first = above(start);
  if (first.used === 0n) return unreachable("The account uses no margin, so it has no margin level.");
  const met = first.over > 0n ? (p: bigint) => above(p).over <= 0n : (p: bigint) => above(p).over >= 0n;
  const { lowest, highest } = pointBounds(symbol, quote, now);
  const points = first.over === 0n ? start : nearestPoint(start, [lowest, highest - spread], met);
  if (points === undefined) return unreachable(`No price of ${symbol.symbol} takes the account to this level.`);
  const { price, metrics } = at(points);
  return { ok: true, symbol: name, price, margin_level: metrics.margin_level };
}

function unreachable(detail: string): Refused {
  return refuseTrading("margin_level_unreachable", detail);
}

function largestSymbol({ balance, positions }: Holdings): TradingSymbol["symbol"] | undefined {
  const marginOf = (position: Position) => positionMargin(position, balance.leverage);
  const largest = positions.toSorted((a, b) => (marginOf(a) < marginOf(b) ? 1 : -1))[0];
  return largest?.symbol;
}
