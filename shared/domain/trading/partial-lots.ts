import { type Book, replaced } from "./book.ts";
import { levelHundredths, usedMargin } from "./margin.ts";
import { commissionMinor } from "./pricing/commission.ts";
import type { Market } from "./pricing/quote.ts";
import { rational, roundToward } from "./pricing/rational.ts";
import { lotsOf } from "./pricing/symbol.ts";
import { grossProfit, shareOf, type Valuation } from "./profit.ts";

/** The parts of a position that can be closed alone: of 1 to `last` lot steps. */
export interface Parts {
  readonly last: bigint;
  readonly textOf: (count: bigint) => string;
  /**
   * The equity above the stop-out level after a close of so many steps, in ten-thousandths of a minor unit: above zero
   * it is enough. Undefined where an amount cannot be converted.
   */
  readonly excessAt: (count: bigint) => bigint | undefined;
}

/**
 * Lots whose close lifts an account above its stop-out level, while a close of one lot step less does not; undefined
 * when all of the position has to be closed. Where more lots do not always help, as of a hedge in net mode, another
 * part of the position may be enough too. `equity` is the account's in minor units, as it was decided on.
 */
export function partialLots(book: Book, victim: Valuation, market: Market, equity: bigint): string | undefined {
  const parts = partsOf(book, victim, market, equity);
  const count = parts && leastEnough(parts);
  return count === undefined ? undefined : parts?.textOf(count);
}

/** A number of steps that is enough and follows one that is not, found by halves; undefined where none is found. */
export function leastEnough({ last, excessAt }: Parts): bigint | undefined {
  let [short, enough] = [0n, last + 1n];
  while (enough - short > 1n) {
    const middle = (short + enough) / 2n;
    if ((excessAt(middle) ?? 0n) > 0n) enough = middle;
    else short = middle;
  }
  return enough > last ? undefined : enough;
}

/** The parts of a position; undefined where its symbol or its price is not known. */
export function partsOf(book: Book, victim: Valuation, market: Market, equity: bigint): Parts | undefined {
  const { position, price } = victim;
  const symbol = market.symbols.get(position.symbol);
  if (symbol === undefined || price === null) return undefined;
  const step = rational(symbol.lot_step);
  const open = rational(position.lots);
  const level = levelHundredths(book.account.stop_out_level);
  const textOf = (count: bigint) => lotsOf(symbol, step.mul(count));
  const excessAt = (count: bigint) => {
    const lots = textOf(count);
    const rest = lotsOf(symbol, open.sub(step.mul(count)));
    const profit = (of: string) => grossProfit(market, symbol, { ...position, lots: of }, price)?.gross_minor;
    const [gone, kept] = [profit(lots), profit(rest)];
    const commission = commissionMinor(market, symbol, { lots, price, currency: position.currency });
    if (gone === undefined || kept === undefined || commission === undefined) return undefined;
    const swap = shareOf(position.swap_minor, lots, position.lots);
    const after = equity - victim.floating_minor + gone + swap + commission + kept + (position.swap_minor - swap);
    const used = usedMargin({ ...book, positions: replaced(book.positions, { ...position, lots: rest }) });
    return after * 10_000n - level * used;
  };
  return { last: roundToward(open.div(step), 0, "up") - 1n, textOf, excessAt };
}
