import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { type Price, pointsOf, priceAt } from "../trading/pricing/points.ts";
import { decimalText, rational } from "../trading/pricing/rational.ts";
import { isPair } from "../trading/pricing/symbol.ts";

/** A price that walks by itself, step by step, from where it was when the walk began. */
export interface PriceWalk {
  readonly tenant_id: string;
  readonly symbol: string;
  readonly seed: string;
  /** Steps taken so far. */
  readonly tick: number;
  /** Bid and spread at its beginning. */
  readonly base: string;
  readonly spread: string;
  /** When its next step is due, RFC 3339; null at its end. */
  readonly wake_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

/** A walk that begins at a price. */
export function draftWalk(
  symbol: TradingSymbol,
  quote: Quote,
  seed: string,
  { now, wake_at }: { readonly now: string; readonly wake_at: string },
): PriceWalk {
  return {
    tenant_id: symbol.tenant_id,
    symbol: symbol.symbol,
    seed,
    tick: 0,
    base: quote.bid,
    spread: decimalText(rational(quote.ask).sub(quote.bid), symbol.digits),
    wake_at,
    created_at: now,
    updated_at: now,
    version: 1,
  };
}

/** The walk after its next step, and the price there. */
export function nextStep(walk: PriceWalk, symbol: TradingSymbol, now: string, wake_at: string) {
  const tick = walk.tick + 1;
  const after: PriceWalk = { ...walk, tick, wake_at, updated_at: now, version: walk.version + 1 };
  return { after, price: walkPrice(symbol, walk, tick) };
}

/** How far one step goes, about, as a part of the price. */
const strides: Readonly<Record<TradingSymbol["asset_class"], number>> = {
  forex: 0.0001,
  metal: 0.0002,
  index: 0.0002,
  commodity: 0.0003,
  equity: 0.0003,
  crypto: 0.0005,
};

/** Waves of one to 2,048 steps: beyond that the price comes back to where it was, so no sandbox drifts to nowhere. */
const octaves = 12;

/**
 * The price of a walk at a step: the same for the same symbol, seed and beginning, whichever steps were looked at
 * before. Noise is laid over itself in waves of doubling length whose height grows with the root of the length, which
 * looks like a random walk and stays within some 300 strides of its beginning.
 */
export function walkPrice(
  symbol: TradingSymbol,
  { seed, base, spread }: Pick<PriceWalk, "seed" | "base" | "spread">,
  tick: number,
): Price {
  const name = `${symbol.symbol}|${seed}`;
  const away = (displacement(name, tick) - displacement(name, 0)) * strides[symbol.asset_class];
  const start = Number(pointsOf(symbol, base));
  const points = start + Math.round(start * away);
  return priceAt(symbol, BigInt(isPair(symbol) ? Math.max(1, points) : points), pointsOf(symbol, spread));
}

/** Where the noise is at a step, in strides. */
function displacement(name: string, tick: number): number {
  let sum = 0;
  for (let octave = 0; octave < octaves; octave += 1) {
    const length = 2 ** octave;
    const place = Math.floor(tick / length);
    const part = tick / length - place;
    const [from, to] = [noise(name, octave, place), noise(name, octave, place + 1)];
    sum += Math.sqrt(length) * (from + (to - from) * part);
  }
  return sum;
}

/** A number from -1 up to 1 that looks random and is always the same: FNV-1a, with the finish of MurmurHash3. */
function noise(name: string, octave: number, place: number): number {
  let hash = 0x811c9dc5;
  for (const character of `${name}|${octave}|${place}`) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x80000000 - 1;
}
