import { limits } from "../../../limits.ts";
import type { FirstPriceBody } from "../../../schema/margin-preview.ts";
import type { Position } from "../../records/position.ts";
import type { MarginStatus } from "../../records/risk.ts";
import { type Holdings, marginStatus, metricsAt, positionMargin } from "../margin.ts";
import { pairsOf } from "../pricing/convert.ts";
import { nearestPoint, type Price, pointsOf, priceAt } from "../pricing/points.ts";
import type { Market } from "../pricing/quote.ts";
import { valuePosition } from "../profit.ts";

/** The first prices of the symbols with the most margin, and the names of the others. */
export interface FirstPrices {
  readonly first_prices: FirstPriceBody[];
  readonly omitted_symbols: string[];
}

/**
 * For each symbol that an account holds, the first price below and above the newest one at which the account is in a
 * margin call or at its stop-out level, while every other price stands and the spread stays as it is. Null where the
 * account is there already, or where no price of one point to twice the bid takes it there.
 */
export function firstPrices(holdings: Holdings, market: Market, now: string): FirstPrices {
  const names = byMargin(holdings);
  const metrics = metricsAt(market, holdings, now);
  const shown = names.slice(0, limits.trading.preview_first_prices);
  const inState = (equity: bigint): MarginStatus => {
    const { used_margin_minor: used, aside_minor } = metrics;
    return marginStatus(holdings.account, equity, used, holdings.positions.length, aside_minor);
  };
  return {
    first_prices: shown.map((name) =>
      firstPrice(holdings, market, name, { equity: metrics.equity_minor, inState, now }),
    ),
    omitted_symbols: names.slice(shown.length),
  };
}

interface Standing {
  readonly equity: bigint;
  readonly inState: (equity: bigint) => MarginStatus;
  readonly now: string;
}

function firstPrice({ positions }: Holdings, market: Market, name: string, { equity, inState, now }: Standing) {
  const symbol = market.symbols.get(name);
  const quote = market.quotes.get(name);
  const none = { margin_call: null, stop_out: null };
  if (symbol === undefined || quote === undefined) return { symbol: name, down: none, up: none };
  const moved = positions.filter((position) => dependsOn(market, position, name, now));
  const others = equity - floating(market, moved, now);
  const start = pointsOf(symbol, quote.bid);
  const spread = pointsOf(symbol, quote.ask) - start;
  const statusAt = (points: bigint) => {
    const quotes = new Map(market.quotes).set(name, { ...quote, ...priceAt(symbol, points, spread) });
    return inState(others + floating({ ...market, quotes }, moved, now));
  };
  const first = (bounds: readonly [bigint, bigint], states: readonly MarginStatus[]): Price | null => {
    const isMet = (points: bigint) => states.includes(statusAt(points));
    if (start < 1n || isMet(start)) return null;
    const points = nearestPoint(start, bounds, isMet);
    return points === undefined ? null : priceAt(symbol, points, spread);
  };
  const both = (bounds: readonly [bigint, bigint]) => ({
    margin_call: first(bounds, ["margin_call", "stop_out"]),
    stop_out: first(bounds, ["stop_out"]),
  });
  return { symbol: name, down: both([1n, start]), up: both([start, 2n * start]) };
}

/** Whether the value of a position moves with the price of a symbol: its own, or one that its profit converts at. */
function dependsOn(market: Market, position: Position, name: string, now: string): boolean {
  const { conversion } = valuePosition(market, position, now);
  return position.symbol === name || (conversion !== undefined && pairsOf(conversion).includes(name));
}

function floating(market: Market, positions: readonly Position[], now: string): bigint {
  return positions.reduce((sum, position) => sum + valuePosition(market, position, now).floating_minor, 0n);
}

/** The symbols of the positions, that with the most margin first. */
function byMargin({ balance, positions }: Holdings): string[] {
  const margins = new Map<string, bigint>();
  for (const position of positions) {
    margins.set(position.symbol, (margins.get(position.symbol) ?? 0n) + positionMargin(position, balance.leverage));
  }
  return [...margins]
    .toSorted(([a, one], [b, other]) => (one === other ? (a < b ? -1 : 1) : one < other ? 1 : -1))
    .map(([name]) => name);
}
