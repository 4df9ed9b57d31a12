import { limits } from "../../../limits.ts";
import type { Quote, SourceMark } from "../../records/quote.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { isNearZero, isOutOfBounds, nextReference, priceBounds } from "./bounds.ts";
import { type Rational, rational } from "./rational.ts";
import { reportedPrice } from "./symbol.ts";

/** A price from a source. */
export interface Tick {
  readonly bid: string;
  readonly ask: string;
  /** The source's clock, RFC 3339 in UTC with milliseconds. */
  readonly time: string;
  readonly sequence: string;
  readonly source: string;
  /** The epoch that its sequence belongs to. */
  readonly epoch: number;
  readonly held?: true;
}

/** Why a tick does not become the quote. */
export type TickFault =
  | "crossed"
  | "invalid_price"
  | "price_out_of_bounds"
  | "old_epoch"
  | "old_sequence"
  | "time_ahead"
  | "time_too_old"
  | "superseded"
  | "deviation_unconfirmed";

/**
 * Result of a tick: the quote it makes, or why it makes none. `memory` is the quote before it with what has to be
 * remembered of the tick; absent when nothing has to.
 */
export type TickOutcome =
  | { readonly ok: true; readonly quote: Quote }
  | { readonly ok: false; readonly reason: TickFault; readonly memory?: Quote };

/**
 * Decides what a tick does. A source's numbers decide between its own ticks: one that is numbered as high as one before
 * is refused, whatever became of that one and whichever source spoke since. Between sources the later arrival wins; the
 * clocks of sources differ, so the time of a tick counts only where it is far off (ADR 0026).
 */
export function acceptTick(symbol: TradingSymbol, before: Quote | undefined, tick: Tick, now: string): TickOutcome {
  const replaced = replacedFault(markOf(before, tick.source), tick);
  if (replaced !== undefined) return { ok: false, reason: replaced };
  const marks = { ...before?.marks, [tick.source]: [tick.epoch, tick.sequence] as const };
  const prices = pricesOf(symbol, before, tick, now);
  const fault = typeof prices === "string" ? prices : timeFault(before, tick, now);
  if (fault !== undefined || typeof prices === "string") {
    return { ok: false, reason: fault as TickFault, ...(before !== undefined && { memory: { ...before, marks } }) };
  }
  if (before !== undefined && tick.held !== true && isOutlier(symbol, before, prices, now)) {
    const memory = { ...before, marks, aside: { ...prices, received_at: now } };
    return { ok: false, reason: "deviation_unconfirmed", memory };
  }
  return { ok: true, quote: quoteOf(symbol, before, { ...tick, ...prices }, marks, now) };
}

/** The last number of a source. */
export function markOf(quote: Quote | undefined, source: string): SourceMark | undefined {
  return quote?.marks[source];
}

function replacedFault(mark: SourceMark | undefined, { epoch, sequence }: Tick): TickFault | undefined {
  if (mark === undefined || epoch > mark[0]) return undefined;
  if (epoch < mark[0]) return "old_epoch";
  return BigInt(sequence) <= BigInt(mark[1]) ? "old_sequence" : undefined;
}

interface Prices {
  readonly bid: string;
  readonly ask: string;
}

/** Bid and ask in the symbol's digits, or why they are none. */
function pricesOf(symbol: TradingSymbol, before: Quote | undefined, tick: Tick, now: string): Prices | TickFault {
  const bid = reportedPrice(symbol, tick.bid);
  const ask = reportedPrice(symbol, tick.ask);
  if (bid === undefined || ask === undefined) return "invalid_price";
  if (rational(bid).gt(rational(ask))) return "crossed";
  return isOutOfBounds(priceBounds(symbol, before, now), bid, ask) ? "price_out_of_bounds" : { bid, ask };
}

/**
 * Why the time of a tick speaks against it: it is ahead of our clock, or while another source's quote stands, it is too
 * old to decide on or was overtaken on its way, as when a source sends what it held back.
 */
function timeFault(before: Quote | undefined, { time, source }: Tick, now: string): TickFault | undefined {
  const age = Date.parse(now) - Date.parse(time);
  const { clock_ahead_ms, backlog_ms } = limits.feed;
  if (age < -clock_ahead_ms) return "time_ahead";
  if (before === undefined || before.source === source) return undefined;
  if (age > limits.trading.metrics_stale_ms) return "time_too_old";
  const standing = Date.parse(now) - Date.parse(before.received_at);
  return age > backlog_ms && standing <= backlog_ms ? "superseded" : undefined;
}

/** Whether a price is too far from the one that stands, and none near it was put aside just before. */
function isOutlier(symbol: TradingSymbol, before: Quote, prices: Prices, now: string) {
  const { max_deviation_percent: most } = symbol;
  if (most === null || isNearZero(symbol, before.bid)) return false;
  if (!deviates(before, prices, most)) return false;
  const { aside } = before;
  if (aside === undefined) return true;
  const waited = Date.parse(now) - Date.parse(aside.received_at);
  return waited > limits.feed.confirmation_ms || deviates(aside, prices, most);
}

/** Whether a side of a price differs by more than so many percent from that of another one. */
function deviates(from: Prices, to: Prices, percent: string): boolean {
  return (["bid", "ask"] as const).some((side) => {
    const distance = rational(to[side]).sub(rational(from[side])).abs();
    return distance.mul(100n).gt(rational(from[side]).abs().mul(rational(percent)));
  });
}

/** The quote of a tick that is taken. */
function quoteOf(
  symbol: TradingSymbol,
  before: Quote | undefined,
  tick: Tick,
  marks: Quote["marks"],
  now: string,
): Quote {
  const { bid, ask, time, sequence, source } = tick;
  const today = before !== undefined && before.received_at.slice(0, 10) === now.slice(0, 10);
  const extreme = (known: string | null | undefined, better: (a: Rational, b: Rational) => boolean) =>
    today && known !== null && known !== undefined && !better(rational(bid), rational(known)) ? known : bid;
  return {
    symbol: symbol.symbol,
    bid,
    ask,
    time,
    received_at: now,
    sequence,
    source,
    ...(tick.held === true && { held: true }),
    marks,
    reference: nextReference(before, bid, now),
    version: before?.version ?? 0,
    session_open: today ? before.session_open : bid,
    day_high: extreme(before?.day_high, (a, b) => a.gt(b)),
    day_low: extreme(before?.day_low, (a, b) => a.lt(b)),
  };
}
