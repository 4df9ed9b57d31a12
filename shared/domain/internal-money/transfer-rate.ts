import { type CurrencyCode, minorDigits } from "../../currencies.ts";

import type { ConversionBody } from "../../schema/trade.ts";
import type { Account } from "../account.ts";
import { type Decision, refuse, refuseField, unchanged } from "../decision.ts";
import { type Conversion, conversion, conversionBody, isConvertible, pairsOf } from "../trading/pricing/convert.ts";
import { isStale, type Market } from "../trading/pricing/quote.ts";
import { rational, roundHalfAway, roundToward } from "../trading/pricing/rational.ts";
import { isMarketOpen } from "../trading/pricing/symbol.ts";

/** What an amount of one account comes to on another, in minor units of the other's currency. */
export interface TransferRate {
  /** What is credited: the amount at the mid less the mark-up, rounded toward zero. */
  readonly credit_minor: bigint;
  /** What the rounding leaves to the brokerage, to the nearest minor unit: 0 or 1. */
  readonly rounding_minor: bigint;
  /** What the mark-up leaves to the brokerage. */
  readonly income_minor: bigint;
  readonly mark_up_percent: string;
  /** The path and its rate before the mark-up; null where both accounts have one currency. */
  readonly conversion: ConversionBody | null;
}

/** The accounts of a transfer, and what is debited, in minor units of the first. */
export interface TransferAmount {
  readonly from: Pick<Account, "currency">;
  readonly to: Pick<Account, "currency">;
  readonly amount_minor: bigint;
}

/**
 * The rate of a transfer at the newest prices. Every pair on the path must be open and its quote not stale: a rate of
 * Saturday must not buy what Monday opens at, nor one of a minute ago what has moved since. A cent currency and its
 * parent are one money, so they have no mark-up.
 */
export function transferRate(
  market: Market,
  { from, to, amount_minor: amount }: TransferAmount,
  markUp: string,
  now: string,
): Decision<TransferRate> {
  const none = { rounding_minor: 0n, income_minor: 0n, mark_up_percent: "0.00", conversion: null };
  if (from.currency === to.currency) return unchanged({ credit_minor: amount, ...none });
  const found = freshPath(market, from.currency, to.currency, now);
  if (!found.ok) return found;
  const path = found.result;
  const pairs = pairsOf(path);
  const mark_up_percent = pairs.length === 0 ? none.mark_up_percent : markUp;
  const digits = minorDigits[to.currency];
  const exact = rational(amount)
    .div(10n ** BigInt(minorDigits[from.currency]))
    .mul(path.rate);
  const marked = exact.mul(rational("100").sub(rational(mark_up_percent))).div(100n);
  const credit_minor = roundToward(marked, digits, "down");
  if (credit_minor === 0n) {
    return refuseField("amount_too_small", "amount", `The amount is less than the smallest unit of ${to.currency}.`);
  }
  const nearest = roundHalfAway(marked, digits);
  return unchanged({
    credit_minor,
    rounding_minor: nearest - credit_minor,
    income_minor: roundHalfAway(exact, digits) - nearest,
    mark_up_percent,
    conversion: conversionBody(path),
  });
}

/** How one currency is converted to another: over pairs that are open and whose quotes are not stale. */
export function freshPath(market: Market, from: CurrencyCode, to: CurrencyCode, now: string): Decision<Conversion> {
  const path = conversion(market, from, to);
  if (path === undefined) return refusePath(market, from, to);
  for (const name of pairsOf(path)) {
    const [symbol, quote] = [market.symbols.get(name), market.quotes.get(name)];
    if (symbol === undefined || !isMarketOpen(symbol, now)) {
      return refuse("market_closed", `The market of ${name}, which converts the amount, is closed.`);
    }
    if (quote === undefined || isStale(symbol, quote, now)) {
      return refuse("metrics_stale", `The price of ${name}, which converts the amount, is too old; try again.`);
    }
  }
  return unchanged(path);
}

function refusePath(market: Market, from: string, to: string) {
  if (isConvertible(market, from, to)) {
    return refuse("metrics_stale", `A pair that converts ${from} to ${to} has no price yet; try again.`);
  }
  return refuse("no_conversion_path", `No pair converts ${from} to ${to}.`, { extra: { from, to } });
}
