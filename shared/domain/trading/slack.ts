import { limits } from "../../limits.ts";
import { least } from "../kernel/money.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { Trigger } from "./exposure.ts";
import { triggerUnits } from "./pricing/quote.ts";
import { quotient, type Rational, rational, roundToward, zero } from "./pricing/rational.ts";
import { isPair } from "./pricing/symbol.ts";

/** An amount in minor units for each direction; undefined where no decision lies in it. */
export interface Slack {
  readonly loss: bigint | undefined;
  readonly gain: bigint | undefined;
}

/** Largest cost and gain of one unit of a symbol's price, falling and rising, in units of the account. */
export interface Sensitivity {
  readonly symbol: TradingSymbol;
  readonly quote: Quote;
  fallLoss: Rational;
  riseLoss: Rational;
  /** The prices that these stand for. */
  readonly prices: Set<"bid" | "ask" | "mid">;
  /** Profits are converted at this price: then both directions end at the widest move. */
  converts: boolean;
}

/** The farthest that a price which converts may move, as a part of itself, before the account is looked at again. */
const widest = quotient(1n, 20n);

/** The farthest that the price of a pair which converts may move. */
export function widestMove({ bid }: Quote): Rational {
  return rational(bid).mul(widest);
}

/**
 * Whether both directions can cost the account at once: one price goes one way, but as a spread widens the bid falls
 * and the ask rises, and as it narrows they come back.
 */
export function movesApart({ prices }: Sensitivity): boolean {
  return prices.size > 1;
}

/**
 * The most that an account can lose and gain by one symbol before a trigger of it is met, from the newest price on.
 * Undefined when the trigger is met, or lies where it bounds too little.
 */
export function reachOf(
  sensitivity: Sensitivity,
  trigger: Trigger | undefined,
  slack: Slack,
  unit: bigint,
): Slack | undefined {
  const { symbol, quote, fallLoss, riseLoss, converts } = sensitivity;
  if (trigger === undefined || isMet(trigger, quote)) return undefined;
  // Measured across the spread, as triggers are placed. No price falls below the lowest one.
  const fall = rational(quote.ask).sub(quotient(trigger.down ?? lowestTrigger(symbol), triggerUnit));
  const rise = trigger.up === null ? undefined : quotient(trigger.up, triggerUnit).sub(rational(quote.bid));
  if (converts && (fall.gt(widestMove(quote)) || rise === undefined || rise.gt(widestMove(quote)))) return undefined;
  const most = (perFall: Rational, perRise: Rational) => {
    if (rise === undefined) return perRise.equals(zero) ? perFall.mul(fall) : undefined;
    const [falling, rising] = [perFall.mul(fall), perRise.mul(rise)];
    if (movesApart(sensitivity)) return falling.add(rising);
    return falling.lt(rising) ? rising : falling;
  };
  const loss = slack.loss === undefined ? zero : most(fallLoss, riseLoss);
  const gain = slack.gain === undefined ? zero : most(riseLoss, fallLoss);
  if (loss === undefined || gain === undefined) return undefined;
  const inMinor = (amount: Rational) => roundToward(amount.mul(unit), 0, "up");
  return { loss: inMinor(loss), gain: inMinor(gain) };
}

const triggerUnit = 10n ** BigInt(limits.trading.trigger_digits);

/** The lowest price of a symbol in the units of triggers: a pair has none below zero. */
export function lowestTrigger(symbol: TradingSymbol): bigint {
  return isPair(symbol) ? 0n : -limits.trading.highest_trigger;
}

function isMet({ down, up }: Trigger, { bid, ask }: Quote): boolean {
  return (down !== null && triggerUnits(bid) <= down) || (up !== null && triggerUnits(ask) >= up);
}

/** A symbol and what its stored trigger leaves it; undefined where that has to be placed. */
interface Reached {
  readonly name: string;
  readonly reach: Slack | undefined;
}

interface Divided {
  /** Symbols whose triggers stay. */
  readonly kept: ReadonlySet<string>;
  /** Share of each of the others. */
  readonly share: Slack;
}

/**
 * Divides the way to the next decision among symbols. A trigger that is placed gets an equal part at most. Where the
 * triggers that stay leave too little for that, those that reach furthest are placed again too, as few as possible. So
 * an opening moves one or two triggers of other symbols, and what makes the way longer moves none: a trigger that is
 * met early is placed again by the evaluation that it causes.
 */
export function divided(slack: Slack, symbols: readonly Reached[]): Divided {
  const count = BigInt(symbols.length);
  const limit = { loss: atLeastZero(slack.loss), gain: atLeastZero(slack.gain) };
  const stay = symbols
    .flatMap(({ name, reach }) => (reach === undefined ? [] : [{ name, reach }]))
    .toSorted((a, b) => furthest(a.reach, limit) - furthest(b.reach, limit));
  const left = (direction: keyof Slack) => {
    const whole = limit[direction];
    // No way at all is a bound too, which no trigger of before keeps.
    return whole === undefined ? whole : stay.reduce((rest, { reach }) => rest - (reach[direction] ?? 0n), whole);
  };
  let rest = { loss: left("loss"), gain: left("gain") };
  const isTooLittle = (direction: keyof Slack) => {
    const [whole, room] = [limit[direction], rest[direction]];
    const placed = count - BigInt(stay.length);
    return (
      whole !== undefined && room !== undefined && limits.trading.placed_trigger_divisor * count * room < placed * whole
    );
  };
  while (stay.length > 0 && (isTooLittle("loss") || isTooLittle("gain"))) {
    stay.pop();
    rest = { loss: left("loss"), gain: left("gain") };
  }
  const placed = count - BigInt(stay.length);
  const shareOf = (direction: keyof Slack) => {
    const [whole, room] = [limit[direction], rest[direction]];
    if (whole === undefined || room === undefined || placed === 0n) return undefined;
    return least(room / placed, whole / count);
  };
  return { kept: new Set(stay.map(({ name }) => name)), share: { loss: shareOf("loss"), gain: shareOf("gain") } };
}

function atLeastZero(minor: bigint | undefined): bigint | undefined {
  return minor !== undefined && minor < 0n ? 0n : minor;
}

/** How much of the way a symbol has, for the order in which triggers are placed again. */
function furthest({ loss = 0n, gain = 0n }: Slack, limit: Slack): number {
  const part = (reach: bigint, whole: bigint | undefined) =>
    whole === undefined ? 0 : Number(reach) / (Number(whole) + 1);
  return Math.max(part(loss, limit.loss), part(gain, limit.gain));
}
