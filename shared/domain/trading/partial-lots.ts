import { type Book, replaced } from "./book.ts";
import { isAbove, positionMargin, requirementOf, usedMargin } from "./margin.ts";
import type { Position } from "./position.ts";
import { commissionMinor } from "./pricing/commission.ts";
import type { Market } from "./pricing/quote.ts";
import { decimalText, rational, roundToward } from "./pricing/rational.ts";
import { lotDigits, type TradingSymbol } from "./pricing/symbol.ts";
import { grossProfit, shareOf, type Valuation } from "./profit.ts";

/** What rounding can make of one close in minor units: the profits of two parts and a margin. */
const roundingSlack = 3n;

/**
 * The smallest multiple of the lot step whose close lifts an account above its stop-out level; undefined when none but
 * all of the position would do. `equity` is the account's in minor units, as it was decided on.
 */
export function partialLots(book: Book, victim: Valuation, market: Market, equity: bigint): string | undefined {
  const { position, price } = victim;
  const symbol = market.symbols.get(position.symbol);
  if (symbol === undefined || price === null || cannotBeEnough(book, position, equity)) return undefined;
  const step = rational(symbol.lot_step);
  const open = rational(position.lots);
  const last = roundToward(open.div(step), 0, "up") - 1n;
  for (let count = firstCount(book, symbol, position, equity); count <= last; count += 1n) {
    const digits = lotDigits(symbol);
    const lots = decimalText(step.mul(count), digits);
    const rest = decimalText(open.sub(step.mul(count)), digits);
    if (isEnough(book, { symbol, market, victim, price, equity }, lots, rest)) return lots;
  }
  return undefined;
}

/** Whether not even the least margin that a part could leave is covered: then there is no need to try each part. */
function cannotBeEnough({ account, positions }: Book, position: Position, equity: bigint): boolean {
  const others = positions.filter(({ id }) => id !== position.id);
  const opposite = others.some(({ symbol, side }) => symbol === position.symbol && side !== position.side);
  const least =
    account.margin_calculation === "net" && opposite
      ? usedMargin(
          account.margin_calculation,
          others.filter(({ symbol }) => symbol !== position.symbol),
        )
      : usedMargin(account.margin_calculation, others);
  return !isAbove(equity + roundingSlack, least - roundingSlack, account.stop_out_level);
}

/**
 * A number of steps below which no part can be enough: a lot frees at most its own margin, and closing earns nothing.
 */
function firstCount({ account, positions }: Book, symbol: TradingSymbol, position: Position, equity: bigint): bigint {
  const level = rational(account.stop_out_level);
  if (level.equals(0n)) return 1n;
  const covered = rational(equity + roundingSlack)
    .mul(100n)
    .div(level);
  const excess = rational(usedMargin(account.margin_calculation, positions) - roundingSlack).sub(covered);
  const margin_requirement = requirementOf(symbol, position);
  const oneLot = positionMargin(account, symbol, { ...position, lots: "1", margin_requirement });
  if (oneLot === 0n || excess.lte(0n)) return 1n;
  // The margin of one lot is rounded: half a unit more is never less than the exact one.
  const perLot = rational(oneLot).add(rational("0.5"));
  const count = roundToward(excess.div(perLot).div(rational(symbol.lot_step)), 0, "down");
  return count < 1n ? 1n : count;
}

interface Attempt {
  readonly symbol: TradingSymbol;
  readonly market: Market;
  readonly victim: Valuation;
  readonly price: string;
  readonly equity: bigint;
}

/** Whether the account is above its stop-out level after a part was closed, all of it rounded as it would be booked. */
function isEnough(book: Book, attempt: Attempt, lots: string, rest: string): boolean {
  const { symbol, market, victim, price, equity } = attempt;
  const { position } = victim;
  const profit = (part: string) => grossProfit(market, symbol, { ...position, lots: part }, price)?.gross_minor;
  const closed = profit(lots);
  const open = profit(rest);
  const commission = commissionMinor(market, symbol, { lots, price, currency: position.currency });
  if (closed === undefined || open === undefined || commission === undefined) return false;
  const swap = shareOf(position.swap_minor, lots, position.lots);
  const after = equity - victim.floating_minor + closed + swap + commission + open + (position.swap_minor - swap);
  const left = { ...position, lots: rest, margin_requirement: requirementOf(symbol, position) };
  const kept = { ...left, margin_minor: positionMargin(book.account, symbol, left) };
  const used = usedMargin(book.account.margin_calculation, replaced(book.positions, kept));
  return isAbove(after, used, book.account.stop_out_level);
}
