import { minorDigits } from "../../currencies.ts";
import { limits } from "../../limits.ts";
import type { SideName } from "../../schema/trade.ts";
import type { Account } from "../records/account.ts";
import type { Quote } from "../records/quote.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { type Holdings, levelHundredths, type Metrics, metricsOf, valuePositions } from "./margin.ts";
import { type Conversion, pairsOf } from "./pricing/convert.ts";
import type { Market } from "./pricing/quote.ts";
import { quotient, type Rational, rational, roundToward, zero } from "./pricing/rational.ts";
import { liquidatorOf } from "./pricing/source.ts";
import type { Valuation } from "./profit.ts";
import { divided, lowestTrigger, movesApart, reachOf, type Sensitivity, type Slack, widestMove } from "./slack.ts";

/**
 * When an account must be evaluated again because of one symbol, in units of `10^-trigger_digits`: a quote whose bid is
 * at or below `down`, or whose ask is at or above `up`. Null: no price in that direction matters. As long as every
 * symbol of the account is between its triggers, no evaluation of the account could decide anything new.
 */
export interface Trigger {
  readonly symbol: string;
  readonly down: bigint | null;
  readonly up: bigint | null;
}

/** The largest product of two conversion steps within the widest move: 1 / (1 - 1/20)^2. */
const secondOrder = quotient(400n, 361n);

/**
 * How much equity may fall and rise before the state of the account changes, its next margin call is armed, or it is
 * liquidated. Each position is rounded by itself, which can hide up to one minor unit of its change.
 */
function slackOf(account: Account, metrics: Metrics, armed: boolean, positions: number): Slack {
  const { equity_minor: equity, aside_minor: aside, used_margin_minor: used, margin_status: status } = metrics;
  const rounding = BigInt(positions);
  const at = (percent: string) => levelHundredths(percent) * used;
  const below = (percent: string, money = equity) => floorDivide(money * 10_000n - at(percent), 10_000n) - rounding;
  const above = (percent: string, money = equity) => floorDivide(at(percent) - money * 10_000n, 10_000n) - rounding;
  // Money that is put aside counts against a stop-out alone.
  const whole = equity + aside;
  if (used === 0n) {
    if (whole <= 0n) return { loss: undefined, gain: -whole - rounding };
    // Money that is put aside keeps it from a stop-out, and arms no margin call.
    return { loss: whole - rounding, gain: armed || equity > 0n ? undefined : -equity - rounding };
  }
  if (status === "stop_out") return { loss: undefined, gain: above(account.stop_out_level, whole) };
  if (status === "margin_call") {
    return { loss: below(account.stop_out_level, whole), gain: above(account.margin_call_level) };
  }
  return {
    loss: below(account.margin_call_level),
    gain: armed ? undefined : above(account.margin_rearm_level),
  };
}

function floorDivide(numerator: bigint, denominator: bigint): bigint {
  const cut = numerator / denominator;
  return numerator % denominator !== 0n && numerator < 0n ? cut - 1n : cut;
}

/**
 * The triggers of an account, one per symbol that its equity depends on, conversion pairs included. The moves of all
 * symbols together, before any trigger is met, stay within the way to the next decision. Triggers that are `known` stay
 * where they are as long as that is true with them; the others divide what is left ({@link divided}). Where a price is
 * missing or old every quote of its symbol is a trigger, and so it is where a liquidation of ours is due or could not
 * close everything: {@link wakesAtEveryQuote}.
 */
export function triggersOf(
  holdings: Holdings,
  armed: boolean,
  market: Market,
  now: string,
  known: readonly Trigger[] = [],
): Trigger[] {
  const values = valuePositions(market, holdings.positions, now);
  const metrics = metricsOf(holdings.account, holdings.balance, values, now);
  const sensitivities = sensitivitiesOf(market, values);
  if (metrics.stale) {
    const names = new Set([...sensitivities.keys(), ...holdings.positions.map(({ symbol }) => symbol)]);
    return [...names].map(everyQuote);
  }
  if (sensitivities.size === 0) return [];
  const slack = slackOf(holdings.account, metrics, armed, values.length);
  const unit = 10n ** BigInt(minorDigits[holdings.account.currency]);
  const wakes = wakesAtEveryQuote(holdings, metrics, values, market);
  const stored = new Map(known.map((trigger) => [trigger.symbol, trigger]));
  const { kept, share } = divided(
    slack,
    [...sensitivities.values()].map((one) => ({
      name: one.symbol.symbol,
      reach: wakes(one.symbol.symbol) ? undefined : reachOf(one, stored.get(one.symbol.symbol), slack, unit),
    })),
  );
  const inUnits = (minor: bigint | undefined) => (minor === undefined ? undefined : quotient(minor, unit));
  const shares = { loss: inUnits(share.loss), gain: inUnits(share.gain) };
  return [...sensitivities.values()].map((one) => {
    const name = one.symbol.symbol;
    if (wakes(name)) return everyQuote(name);
    return (kept.has(name) ? stored.get(name) : undefined) ?? triggerOf(one, shares);
  });
}

function everyQuote(symbol: string): Trigger {
  const { highest_trigger } = limits.trading;
  return { symbol, down: highest_trigger, up: -highest_trigger };
}

/**
 * The symbols of which every quote wakes an account at its stop-out level. While something can be closed these are all
 * that it depends on: prices that fall on must not be waited through, whatever became of the message that was to begin
 * the liquidation. Where every market is closed these are the symbols that it holds, whose first quote reopens them; a
 * pair that only converts would wake it in vain. None where its platform liquidates.
 */
function wakesAtEveryQuote(
  { positions }: Holdings,
  { margin_status }: Metrics,
  values: readonly Valuation[],
  market: Market,
): (symbol: string) => boolean {
  if (margin_status !== "stop_out" || liquidatorOf(market, positions) === "platform") return () => false;
  if (values.some(({ open }) => open)) return () => true;
  const traded = new Set(positions.map(({ symbol }) => symbol));
  return (symbol) => traded.has(symbol);
}

/** A trigger where no more than a share can be lost or gained before it is met. */
function triggerOf(
  sensitivity: Sensitivity,
  shares: { readonly loss: Rational | undefined; readonly gain: Rational | undefined },
): Trigger {
  const { symbol, quote, fallLoss, riseLoss, converts } = sensitivity;
  const both = fallLoss.add(riseLoss);
  // Where a fall and a rise can come together, they have to come to no more than the share.
  const isBoth = movesApart(sensitivity) && !fallLoss.equals(zero) && !riseLoss.equals(zero);
  // A cost of a fall can be a gain of a rise, and the other way round.
  const fall = nearest([reach(shares.loss, isBoth ? both : fallLoss), reach(shares.gain, isBoth ? both : riseLoss)]);
  const rise = nearest([reach(shares.loss, isBoth ? both : riseLoss), reach(shares.gain, isBoth ? both : fallLoss)]);
  const cap = widestMove(quote);
  const capped = (distance: Rational | undefined) =>
    converts && (distance === undefined || distance.gt(cap)) ? cap : distance;
  const down = capped(fall);
  const up = capped(rise);
  // Measured across the spread: then neither bid nor ask nor mid has moved further than the distance.
  const lowest = down === undefined ? undefined : triggerAt(symbol, rational(quote.ask).sub(down), "up");
  return {
    symbol: symbol.symbol,
    down: lowest === undefined || lowest <= lowestTrigger(symbol) ? null : lowest,
    up: up === undefined ? null : triggerAt(symbol, rational(quote.bid).add(up), "down"),
  };
}

/** The point of a symbol before a price on the way to it. It stays one when the digits of the symbol grow. */
function triggerAt({ digits }: TradingSymbol, price: Rational, direction: "up" | "down"): bigint {
  return roundToward(price, digits, direction) * 10n ** BigInt(limits.trading.trigger_digits - digits);
}

/** How far a price may move until its share is used up; undefined when the move costs nothing. */
function reach(share: Rational | undefined, perUnit: Rational): Rational | undefined {
  return share === undefined || perUnit.equals(zero) ? undefined : share.div(perUnit);
}

function nearest(distances: readonly (Rational | undefined)[]): Rational | undefined {
  const known = distances.filter((distance) => distance !== undefined);
  return known.reduce<Rational | undefined>((a, b) => (a === undefined || b.lt(a) ? b : a), undefined);
}

function sensitivitiesOf(market: Market, values: readonly Valuation[]): Map<string, Sensitivity> {
  const found = new Map<string, Sensitivity>();
  const entry = (name: string): Sensitivity | undefined => {
    const symbol = market.symbols.get(name);
    const quote = market.quotes.get(name);
    const known = found.get(name);
    if (known !== undefined || symbol === undefined || quote === undefined) return known;
    const fresh: Sensitivity = { symbol, quote, fallLoss: zero, riseLoss: zero, prices: new Set(), converts: false };
    found.set(name, fresh);
    return fresh;
  };
  for (const group of groupsOf(values)) {
    const traded = entry(group.symbol);
    const { conversion: path } = group;
    if (traded === undefined || path === undefined) continue;
    addTraded(traded, group, path);
    for (const profit of [group.won, group.lost]) addConversion(entry, group, profit, path);
  }
  return found;
}

/** Positions that are converted alike, of one symbol and side: what a price can cost them is in proportion to these. */
interface Group {
  readonly symbol: string;
  readonly side: SideName;
  readonly conversion: Conversion | undefined;
  lots: Rational;
  /** The sum of their profits and that of their losses, in the symbol's quote currency. */
  won: Rational;
  lost: Rational;
}

function groupsOf(values: readonly Valuation[]): Iterable<Group> {
  const groups = new Map<Conversion | string, Group>();
  for (const { position, conversion, quote_profit: profit = zero } of values) {
    const { symbol, side } = position;
    const key = conversion ?? symbol;
    const group = groups.get(key) ?? { symbol, side, conversion, lots: zero, won: zero, lost: zero };
    group.lots = group.lots.add(rational(position.lots));
    if (profit.gt(0n)) group.won = group.won.add(profit);
    else group.lost = group.lost.add(profit);
    groups.set(key, group);
  }
  return groups.values();
}

/** A buy loses when its price falls, a sell when it rises: the size at the rate, and more where the rate may rise. */
function addTraded(traded: Sensitivity, { side, lots }: Group, path: Conversion): void {
  const loss = lots.mul(rational(traded.symbol.contract_size)).mul(path.rate).mul(secondOrder);
  traded.prices.add(closesAt(side));
  if (side === "buy") traded.fallLoss = traded.fallLoss.add(loss);
  else traded.riseLoss = traded.riseLoss.add(loss);
}

function closesAt(side: SideName): "bid" | "ask" {
  return side === "buy" ? "bid" : "ask";
}

/** A profit shrinks and a loss grows with the rates it is converted at, the traded symbol's own among them. */
function addConversion(
  entry: (name: string) => Sensitivity | undefined,
  { symbol: own, side }: Group,
  quoteProfit: Rational,
  path: Conversion,
): void {
  for (const { symbol: name, op, price: rate } of path.steps) {
    const pair = entry(name);
    if (pair === undefined) continue;
    const perUnit = quoteProfit.abs().mul(path.rate).div(rate).mul(secondOrder);
    const fallHurts = quoteProfit.gt(0n) === (op === "multiply");
    if (fallHurts) pair.fallLoss = pair.fallLoss.add(perUnit);
    else pair.riseLoss = pair.riseLoss.add(perUnit);
    pair.converts = true;
    // The pair itself is converted at the price that closes it, every other at mid.
    const isOwn = name === own && pairsOf(path).length === 1;
    if (!quoteProfit.equals(0n)) pair.prices.add(isOwn ? closesAt(side) : "mid");
  }
}

/*
 * How many shards of the exposure index a symbol uses stands on its quote. Entries are put into the shards of the
 * number that their decision read, and a price looks in those of its own record. That loses none, wherever a function
 * dies: the number never falls, and what raises it is a record of the same stream, after all prices with a lower one,
 * whose look finds what they passed over (ADR 0022).
 */

const { exposure_shards: most, first_exposure_shards: least } = limits.trading;

/** Shards in the stored quote of a symbol. */
interface Numbered {
  readonly exposure_shards?: Quote["exposure_shards"] | undefined;
}

/** Shards that a price looks in: all of them where its quote names no number. */
export function shardsRead({ exposure_shards: number = most }: Numbered): number {
  return number;
}

/** Shards that entries are put into: those that every price looks in where the quote names no number. */
export function shardsWritten(quote: Numbered | undefined): number {
  return quote?.exposure_shards ?? least;
}

/**
 * The number of shards after a look that has met so many accounts; at most as many as there are, and never fewer.
 * @param isUsed whether anything is in a shard that entries are not put into at first; asked where no number is named
 */
export async function shardsAfter(
  { exposure_shards: number }: Numbered,
  met: number,
  isUsed: () => Promise<boolean>,
): Promise<number> {
  if (number === undefined) return (await isUsed()) ? most : least;
  return Math.max(number, Math.min(most, Math.ceil(met / limits.trading.met_per_exposure_shard)));
}
