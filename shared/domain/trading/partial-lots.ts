import { limits } from "../../limits.ts";
import { type Book, replaced } from "./book.ts";
import { levelHundredths, positionMargin, requirementOf, usedMargin } from "./margin.ts";
import type { Position } from "./position.ts";
import { commissionMinor } from "./pricing/commission.ts";
import type { Market } from "./pricing/quote.ts";
import { decimalText, type Rational, rational, roundToward, zero } from "./pricing/rational.ts";
import { lotDigits, type TradingSymbol } from "./pricing/symbol.ts";
import { grossProfit, shareOf, type Valuation } from "./profit.ts";

/** What closing a number of lot steps comes to, in minor units: all of it rounded as it would be booked. */
interface Part {
  readonly count: bigint;
  readonly closed: bigint;
  readonly open: bigint;
  readonly commission: bigint;
  readonly used: bigint;
  /** The equity above the stop-out level, in ten-thousandths of a minor unit: above zero it is enough. */
  readonly excess: bigint;
  /** Lots and margin that are left on the side of the position, and those of the other side. */
  readonly lots: Rational;
  readonly margin: bigint;
}

/** The parts of a position that can be closed alone: of 1 to `last` lot steps. */
export interface Parts {
  readonly last: bigint;
  readonly textOf: (count: bigint) => string;
  /** Undefined where an amount cannot be converted. */
  readonly partAt: (count: bigint) => Part | undefined;
  /** The most that any part between two can be above the stop-out level. */
  readonly mostBetween: (from: Part, to: Part) => bigint;
}

/**
 * The smallest multiple of the lot step whose close lifts an account above its stop-out level; undefined when none but
 * all of the position would do. `equity` is the account's in minor units, as it was decided on.
 */
export function partialLots(book: Book, victim: Valuation, market: Market, equity: bigint): string | undefined {
  const parts = partsOf(book, victim, market, equity);
  const count = parts && leastEnough(parts);
  return count === undefined ? undefined : parts?.textOf(count);
}

/**
 * The least number of steps that is enough. A range is halved, its lower half first, unless a bound on all of its parts
 * says that none is: a position may have ten million steps, and the bound decides almost every range at once.
 */
export function leastEnough({ last, partAt, mostBetween }: Parts): bigint | undefined {
  const known = new Map<bigint, Part | undefined>();
  const at = (count: bigint): Part | undefined => {
    if (!known.has(count)) known.set(count, partAt(count));
    return known.get(count);
  };
  const isEnough = (count: bigint) => (at(count)?.excess ?? 0n) > 0n;
  const ranges: (readonly [from: bigint, to: bigint])[] = last < 1n ? [] : [[1n, last]];
  for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
    const [from, to] = range;
    const [first, final] = [at(from), at(to)];
    if (first === undefined || final === undefined) return undefined;
    if (first.excess > 0n) return from;
    if (from === to || (final.excess <= 0n && mostBetween(first, final) <= 0n)) continue;
    if (known.size >= limits.trading.partial_close_parts)
      return isEnough(last) ? enoughAfter(from, last, isEnough) : undefined;
    const middle = (from + to) / 2n;
    ranges.push([middle + 1n, to], [from, middle]);
  }
  return undefined;
}

/** A number of steps that is enough and follows one that is not. */
function enoughAfter(from: bigint, to: bigint, isEnough: (count: bigint) => boolean): bigint {
  let [short, enough] = [from, to];
  while (enough - short > 1n) {
    const middle = (short + enough) / 2n;
    if (isEnough(middle)) enough = middle;
    else short = middle;
  }
  return enough;
}

/** The parts of a position; undefined where its symbol or its price is not known. */
export function partsOf(book: Book, victim: Valuation, market: Market, equity: bigint): Parts | undefined {
  const { position, price } = victim;
  const symbol = market.symbols.get(position.symbol);
  if (symbol === undefined || price === null) return undefined;
  const step = rational(symbol.lot_step);
  const open = rational(position.lots);
  const digits = lotDigits(symbol);
  const textOf = (count: bigint) => decimalText(step.mul(count), digits);
  const sides = sidesOf(book, symbol, position);
  const level = levelHundredths(book.account.stop_out_level);
  const requirement = requirementOf(symbol, position);
  const partAt = (count: bigint): Part | undefined => {
    const lots = textOf(count);
    const rest = decimalText(open.sub(step.mul(count)), digits);
    const profit = (of: string) => grossProfit(market, symbol, { ...position, lots: of }, price)?.gross_minor;
    const [gone, kept] = [profit(lots), profit(rest)];
    const commission = commissionMinor(market, symbol, { lots, price, currency: position.currency });
    if (gone === undefined || kept === undefined || commission === undefined) return undefined;
    const swap = shareOf(position.swap_minor, lots, position.lots);
    const after = equity - victim.floating_minor + gone + swap + commission + kept + (position.swap_minor - swap);
    const left = { ...position, lots: rest, margin_requirement: requirement };
    const margin_minor = positionMargin(book.account, symbol, left);
    const used = usedMargin(book.account.margin_calculation, replaced(book.positions, { ...left, margin_minor }));
    return {
      ...{ count, closed: gone, open: kept, commission, used },
      excess: after * 10_000n - level * used,
      lots: sides.lots.add(rational(rest)),
      margin: sides.margin + margin_minor,
    };
  };
  const last = roundToward(open.div(step), 0, "up") - 1n;
  return { last, textOf, partAt, mostBetween: (from, to) => mostBetween(sides, level, from, to) };
}

/** The other positions of a symbol. */
interface Sides {
  readonly mode: Book["account"]["margin_calculation"];
  /** Those of the side of the position that is closed. */
  readonly lots: Rational;
  readonly margin: bigint;
  readonly opposite: { readonly lots: Rational; readonly margin: bigint };
  /** Whether a lot of the position takes no more margin than one of the others of its side. */
  readonly isLight: boolean;
}

function sidesOf({ account, positions }: Book, symbol: TradingSymbol, position: Position): Sides {
  const others = positions.filter((one) => one.symbol === position.symbol && one.id !== position.id);
  const sum = (members: readonly Position[]) => ({
    lots: members.reduce((lots, one) => lots.add(rational(one.lots)), zero),
    margin: members.reduce((margin, { margin_minor }) => margin + margin_minor, 0n),
  });
  const own = sum(others.filter(({ side }) => side === position.side));
  const whole = positionMargin(account, symbol, { ...position, margin_requirement: requirementOf(symbol, position) });
  const isLight = rational(position.lots)
    .mul(own.margin)
    .gte(own.lots.mul(whole + 1n));
  const opposite = sum(others.filter(({ side }) => side !== position.side));
  return { mode: account.margin_calculation, ...own, opposite, isLight: isLight || own.lots.equals(zero) };
}

/**
 * The most that any part between two can be above the level, the smaller of two bounds. Each amount rises or falls with
 * the steps throughout, so none is above its larger end. And where the margin is linear, or less at both ends than in
 * between, the whole is not above its ends but by what rounding can make of it.
 */
function mostBetween(sides: Sides, level: bigint, from: Part, to: Part): bigint {
  const greater = (a: bigint, b: bigint) => (a > b ? a : b);
  // A profit of two parts is rounded twice at each end.
  const together = greater(from.closed + from.open, to.closed + to.open) + 2n;
  const apart = greater(from.closed, to.closed) + greater(from.open, to.open);
  const profit = together < apart ? together : apart;
  const commission = greater(from.commission, to.commission);
  const rest = (from.excess + level * from.used) / 10_000n - from.closed - from.open - from.commission;
  const byAmounts = (rest + profit + commission) * 10_000n - level * leastUsed(sides, from, to);
  if (!isStraight(sides, from, to)) return byAmounts;
  const byEnds = greater(from.excess, to.excess) + rounding.equity * 10_000n + rounding.margin * level;
  return byEnds < byAmounts ? byEnds : byAmounts;
}

/**
 * How far rounding can take a part and one of the ends apart, in minor units: two profits and a commission, and the
 * margin of a position and of its symbol, each by half a unit on both.
 */
const rounding = { equity: 3n, margin: 2n };

/** The least used margin of the parts between two. It falls with the steps, unless the other side is the larger one. */
function leastUsed({ mode, opposite }: Sides, from: Part, to: Part): bigint {
  if (mode !== "net" || to.lots.gte(opposite.lots)) return to.used;
  return from.lots.lte(opposite.lots) ? from.used : 0n;
}

/** Whether the used margin of parts between two is never below the straight line from one to the other. */
function isStraight({ mode, opposite, isLight }: Sides, from: Part, to: Part): boolean {
  if (mode === "sum") return true;
  if (mode === "max") return to.margin >= opposite.margin || from.margin <= opposite.margin;
  if (from.lots.lte(opposite.lots)) return true;
  return to.lots.gte(opposite.lots) && (isLight || opposite.lots.equals(zero));
}
