import { minorDigits } from "../../currencies.ts";
import type { Account, Balance } from "../account.ts";
import type { Unconverted } from "../decision.ts";
import { creditAt } from "../internal-money/credit-lots.ts";
import { formatPercent, greatest, least } from "../money.ts";
import type { Position } from "./position.ts";
import { conversion } from "./pricing/convert.ts";
import type { Market } from "./pricing/quote.ts";
import { decimalText, type Rational, rational, ratioText, roundHalfAway, zero } from "./pricing/rational.ts";
import type { TradingSymbol } from "./pricing/symbol.ts";
import { type Valuation, valuePosition } from "./profit.ts";

/** What an account's own terms say about margin. */
export type MarginTerms = Pick<Account, "leverage" | "currency" | "margin_calculation">;

/** The leverage of a symbol on an account: the smaller of both. */
export function effectiveLeverage(account: Pick<Account, "leverage">, symbol: TradingSymbol): number {
  return symbol.max_leverage === null ? account.leverage : Math.min(account.leverage, symbol.max_leverage);
}

/**
 * The rate from a symbol's margin currency to the account's at the opening of a position, to be frozen with it. Forex
 * takes margin in the base currency, other symbols in the quote currency. Undefined when there is no way.
 */
export function marginRatio(
  market: Market,
  account: MarginTerms,
  symbol: TradingSymbol,
  price: string,
): string | undefined {
  const from = symbol.calc_mode === "forex" ? symbol.base_currency : symbol.quote_currency;
  const path = conversion(market, from, account.currency, { symbol, price });
  return path === undefined ? undefined : ratioText(path.rate);
}

/**
 * The part of a notional that an account must back with margin in a symbol now, as `numerator/denominator`: the
 * symbol's margin factor over the leverage. It is frozen with a position, so that new terms of the symbol never raise
 * the margin of a position that only gets smaller.
 */
export function marginRequirement(account: Pick<Account, "leverage">, symbol: TradingSymbol): string {
  return ratioText(rational(symbol.margin_factor).div(BigInt(effectiveLeverage(account, symbol))));
}

/** What of a symbol the notional of its lots follows from. */
type SizeTerms = Pick<TradingSymbol, "contract_size" | "calc_mode">;

/** The notional of lots in the account's currency, exact: the base of their margin. */
function notionalOf(
  symbol: SizeTerms,
  { lots, open_price, margin_ratio }: Pick<Position, "lots" | "open_price" | "margin_ratio">,
): Rational {
  const size = rational(lots).mul(rational(symbol.contract_size));
  const notional = symbol.calc_mode === "forex" ? size : size.mul(rational(open_price));
  return notional.mul(rational(margin_ratio));
}

/**
 * The requirement that a position was opened under. One that was stored before it was kept follows from its margin.
 */
export function requirementOf(symbol: TradingSymbol, position: Position): string {
  if (position.margin_requirement !== undefined) return position.margin_requirement;
  const margin = rational(position.margin_minor).div(10n ** BigInt(minorDigits[position.currency]));
  return ratioText(margin.div(notionalOf(symbol, position)));
}

/**
 * The requirement of lots that were opened under different ones, so that their margin together is the sum of both: it
 * is weighted by notional, since a mean weighted by lots times a mean price is not that sum.
 */
export function joinedRequirement(
  symbol: TradingSymbol,
  parts: readonly Pick<Position, "lots" | "open_price" | "margin_ratio">[],
  requirements: readonly string[],
  whole: Pick<Position, "lots" | "open_price" | "margin_ratio">,
): string {
  const margin = parts.reduce(
    (sum, part, place) => sum.add(notionalOf(symbol, part).mul(rational(requirements[place] ?? "0"))),
    zero,
  );
  const exact = margin.div(notionalOf(symbol, whole));
  return ratioText(rational(decimalText(exact, requirementDigits)));
}

/** Decimals of a joined requirement: a notional of 10^15 minor units loses less than a thousandth of one. */
const requirementDigits = 18;

/**
 * The margin of one position by itself in minor units, from lots, its frozen requirement and its frozen rate, rounded
 * once. Without a requirement, as for lots that are not open yet, the terms of now count.
 */
export function positionMargin(
  account: MarginTerms,
  symbol: TradingSymbol,
  position: Pick<Position, "lots" | "open_price" | "margin_ratio"> & { readonly margin_requirement?: string },
): bigint {
  const margin_requirement = position.margin_requirement ?? marginRequirement(account, symbol);
  return requiredMargin(symbol, { ...position, margin_requirement, currency: account.currency });
}

/** The margin of one position by itself in minor units, from its requirement alone: {@link positionMargin}. */
export function requiredMargin(
  symbol: SizeTerms,
  position: Pick<Position, "lots" | "open_price" | "margin_ratio" | "currency"> & {
    readonly margin_requirement: string;
  },
): bigint {
  const margin = notionalOf(symbol, position).mul(rational(position.margin_requirement));
  return roundHalfAway(margin, minorDigits[position.currency]);
}

interface Legs {
  readonly lots: Rational;
  readonly margin: bigint;
}

const noLegs: Legs = { lots: zero, margin: 0n };

/**
 * What the positions of one symbol take together: both sides, the side with the larger margin, or the larger side's
 * share that the other does not cover.
 */
export function symbolMargin(mode: Account["margin_calculation"], positions: readonly Position[]): bigint {
  const legs = { buy: noLegs, sell: noLegs };
  for (const { side, lots, margin_minor } of positions) {
    const before = legs[side];
    const sum = mode === "net" ? before.lots.add(rational(lots)) : before.lots;
    legs[side] = { lots: sum, margin: before.margin + margin_minor };
  }
  const { buy, sell } = legs;
  if (mode === "sum") return buy.margin + sell.margin;
  if (mode === "max") return greatest(buy.margin, sell.margin);
  const [larger, smaller] = buy.lots.lt(sell.lots) ? [sell, buy] : [buy, sell];
  if (larger.lots.equals(zero)) return 0n;
  return roundHalfAway(rational(larger.margin).mul(larger.lots.sub(smaller.lots)).div(larger.lots), 0);
}

/** The used margin of an account: the sum over its symbols. No price moves it, only lots, leverage and positions. */
export function usedMargin(mode: Account["margin_calculation"], positions: readonly Position[]): bigint {
  const bySymbol = new Map<string, Position[]>();
  for (const position of positions) {
    const known = bySymbol.get(position.symbol);
    if (known === undefined) bySymbol.set(position.symbol, [position]);
    else known.push(position);
  }
  return [...bySymbol.values()].reduce((sum, ofSymbol) => sum + symbolMargin(mode, ofSymbol), 0n);
}

/** States of an account's margin. */
export type MarginStatus = "normal" | "margin_call" | "stop_out";

/** The levels of an account, in percent. */
export type MarginLevels = Pick<Account, "margin_call_level" | "stop_out_level" | "margin_rearm_level">;

/** A level in hundredths of a percent. */
export function levelHundredths(percent: string): bigint {
  const [whole = "0", fraction = ""] = percent.split(".");
  return BigInt(whole + fraction.padEnd(2, "0"));
}

/** Whether equity is above a level of the used margin: an exact comparison of integers, never of shown percentages. */
export function isAbove(equity: bigint, used: bigint, percent: string): boolean {
  return equity * 10_000n > levelHundredths(percent) * used;
}

/**
 * The state that equity and used margin amount to; both bounds are inclusive. Without used margin it is normal, unless
 * positions that cover each other are left with nothing behind them. `aside` counts against a stop-out alone: money
 * that a platform has added and that is put aside here.
 */
export function marginStatus(
  levels: MarginLevels,
  equity: bigint,
  used: bigint,
  positions: number,
  aside = 0n,
): MarginStatus {
  if (used === 0n) return positions > 0 && equity + aside <= 0n ? "stop_out" : "normal";
  if (!isAbove(equity + aside, used, levels.stop_out_level)) return "stop_out";
  return isAbove(equity, used, levels.margin_call_level) ? "normal" : "margin_call";
}

/** Whether the next margin call is armed again: only strictly above the re-arm level. */
export function isRearmed(levels: MarginLevels, equity: bigint, used: bigint, positions: number): boolean {
  if (used === 0n) return positions === 0 || equity > 0n;
  return isAbove(equity, used, levels.margin_rearm_level);
}

/** The money of an account at the newest prices, in minor units. */
export interface Metrics {
  readonly balance_minor: bigint;
  readonly credit_minor: bigint;
  readonly held_minor: bigint;
  readonly floating_minor: bigint;
  readonly equity_minor: bigint;
  /** What operations that are put aside would add: it counts against a stop-out alone, and is not shown. */
  readonly aside_minor: bigint;
  readonly used_margin_minor: bigint;
  readonly free_margin_minor: bigint;
  readonly withdrawable_minor: bigint;
  /** Percent with two digits, truncated; null without used margin. */
  readonly margin_level: string | null;
  readonly margin_status: MarginStatus;
  /** The time of the oldest quote that was used; null without one. */
  readonly as_of: string | null;
  readonly stale: boolean;
  /** The first of its profits that there is no way to convert. */
  readonly unconverted: Unconverted | undefined;
}

/** What an account holds: its terms, its money and its open positions, read together. */
export interface Holdings {
  readonly account: Account;
  readonly balance: Balance;
  readonly positions: readonly Position[];
}

/** Values every position of an account. */
export function valuePositions(market: Market, positions: readonly Position[], now: string): Valuation[] {
  return positions.map((position) => valuePosition(market, position, now));
}

/** The money of an account at a moment, from its balance and its positions valued then; ended credit is none of it. */
export function metricsOf(account: Account, balance: Balance, valuations: readonly Valuation[], now: string): Metrics {
  const { balance_minor, held_minor, aside_minor = 0n } = balance;
  const credit_minor = creditAt(balance, now);
  const floating = valuations.reduce((sum, { floating_minor }) => sum + floating_minor, 0n);
  const used = usedMargin(
    account.margin_calculation,
    valuations.map(({ position }) => position),
  );
  const equity = balance_minor + credit_minor + floating;
  const moments = valuations.flatMap(({ quote_at }) => quote_at ?? []).toSorted();
  return {
    balance_minor,
    credit_minor,
    held_minor,
    floating_minor: floating,
    equity_minor: equity,
    aside_minor,
    used_margin_minor: used,
    free_margin_minor: equity - used - held_minor,
    withdrawable_minor: greatest(0n, least(balance_minor, equity - credit_minor - used) - held_minor),
    margin_level: used === 0n ? null : formatPercent(equity, used),
    margin_status: marginStatus(account, equity, used, valuations.length, aside_minor),
    as_of: moments[0] ?? null,
    stale: valuations.some(({ stale }) => stale),
    unconverted: valuations.find(({ unconverted }) => unconverted !== undefined)?.unconverted,
  };
}

/** The money of an account at the newest prices. */
export function metricsAt(market: Market, { account, balance, positions }: Holdings, now: string): Metrics {
  return metricsOf(account, balance, valuePositions(market, positions, now), now);
}
