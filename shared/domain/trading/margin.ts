import { type CurrencyCode, minorDigits } from "../../currencies.ts";
import { limits } from "../../limits.ts";
import { creditAt } from "../accounts/credit-lots.ts";
import type { Unconverted } from "../kernel/decision.ts";
import { formatPercent, greatest, least } from "../kernel/money.ts";
import type { MarginView } from "../money/posting.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { MarginTerm, Position } from "../records/position.ts";
import type { MarginStatus } from "../records/risk.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import { conversion } from "./pricing/convert.ts";
import type { Market } from "./pricing/quote.ts";
import { type Rational, rational, ratioText, roundHalfAway, shortDecimalText, zero } from "./pricing/rational.ts";
import { type Valuation, valuePosition } from "./profit.ts";

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
  currency: CurrencyCode,
  symbol: TradingSymbol,
  price: string,
): string | undefined {
  const from = symbol.calc_mode === "forex" ? symbol.base_currency : symbol.quote_currency;
  const path = conversion(market, from, currency, { symbol, price });
  return path === undefined ? undefined : ratioText(path.rate);
}

/** The margin of one lot at leverage 1 that is opened now, at this price and this {@link marginRatio}. */
export function marginTermsOf(symbol: TradingSymbol, price: string, ratio: string): readonly MarginTerm[] {
  const { margin_factor, contract_size, calc_mode, max_leverage } = symbol;
  const units = rational(margin_factor).mul(contract_size).mul(ratio);
  return [{ max_leverage, per_lot: perLotText(calc_mode === "forex" ? units : units.mul(rational(price).abs())) }];
}

/** The terms of lots that were opened under different ones: at every leverage their margin is the sum of both. */
export function joinedTerms(parts: readonly Pick<Position, "lots" | "margin_terms">[]): readonly MarginTerm[] {
  const lots = parts.reduce((sum, part) => sum.add(part.lots), zero);
  const byCap = new Map<number | null, Rational>();
  for (const part of parts) {
    for (const { max_leverage, per_lot } of part.margin_terms) {
      byCap.set(max_leverage, (byCap.get(max_leverage) ?? zero).add(rational(part.lots).mul(per_lot)));
    }
  }
  return [...byCap].map(([max_leverage, sum]) => ({ max_leverage, per_lot: perLotText(sum.div(lots)) }));
}

function perLotText(value: Rational): string {
  return shortDecimalText(value, 0, limits.trading.margin_term_digits);
}

const margins = new WeakMap<object, { readonly leverage: number; readonly minor: bigint }>();

/**
 * The margin of one position by itself in minor units at a leverage, rounded once. A decision asks for it several
 * times; it is computed once.
 */
export function positionMargin(
  position: Pick<Position, "lots" | "margin_terms" | "currency">,
  leverage: number,
): bigint {
  const known = margins.get(position);
  if (known?.leverage === leverage) return known.minor;
  const perLot = position.margin_terms.reduce((sum, { max_leverage, per_lot }) => {
    return sum.add(rational(per_lot).div(BigInt(Math.min(leverage, max_leverage ?? leverage))));
  }, zero);
  const minor = roundHalfAway(perLot.mul(position.lots), minorDigits[position.currency]);
  margins.set(position, { leverage, minor });
  return minor;
}

interface Legs {
  readonly lots: Rational;
  readonly margin: bigint;
}

const noLegs: Legs = { lots: zero, margin: 0n };

/**
 * Margin of the positions of one symbol together: both sides, the side with the larger margin, or the larger side's
 * share that the other does not cover.
 */
export function symbolMargin(
  mode: Account["margin_calculation"],
  leverage: number,
  positions: readonly Position[],
): bigint {
  const legs = { buy: noLegs, sell: noLegs };
  for (const position of positions) {
    const before = legs[position.side];
    const sum = mode === "net" ? before.lots.add(position.lots) : before.lots;
    legs[position.side] = { lots: sum, margin: before.margin + positionMargin(position, leverage) };
  }
  const { buy, sell } = legs;
  if (mode === "sum") return buy.margin + sell.margin;
  if (mode === "max") return greatest(buy.margin, sell.margin);
  const [larger, smaller] = buy.lots.lt(sell.lots) ? [sell, buy] : [buy, sell];
  if (larger.lots.equals(zero)) return 0n;
  return roundHalfAway(rational(larger.margin).mul(larger.lots.sub(smaller.lots)).div(larger.lots), 0);
}

/**
 * The used margin of an account: the sum over its symbols, at the leverage that its balance carries. That of the
 * account may be of another moment. No price moves it, only lots, leverage and positions.
 */
export function usedMargin({ account, balance, positions }: Holdings): bigint {
  const bySymbol = new Map<string, Position[]>();
  for (const position of positions) {
    const known = bySymbol.get(position.symbol);
    if (known === undefined) bySymbol.set(position.symbol, [position]);
    else known.push(position);
  }
  const { margin_calculation: mode } = account;
  return [...bySymbol.values()].reduce((sum, own) => sum + symbolMargin(mode, balance.leverage, own), 0n);
}

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
  /** Credits of operations that are put aside: they count against a stop-out alone, and are not shown. */
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

/** Terms, money and open positions of an account, read together. */
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
  const used = usedMargin({ account, balance, positions: valuations.map(({ position }) => position) });
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

/** Amounts that the open positions of an account leave at the newest prices. */
export function marginView(market: Market, holdings: Holdings, liquidating: boolean, now: string): MarginView {
  const metrics = metricsAt(market, holdings, now);
  const backed = metrics.equity_minor - metrics.credit_minor - metrics.used_margin_minor;
  return {
    payable_minor: least(holdings.balance.balance_minor, backed),
    free_minor: metrics.free_margin_minor,
    floating_minor: metrics.floating_minor,
    stale: metrics.stale,
    unconverted: metrics.unconverted,
    liquidating,
  };
}
