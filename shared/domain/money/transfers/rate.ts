import { minorDigits } from "../../../currencies.ts";
import { refuseField, unchanged } from "../../kernel/decision.ts";
import type { Account } from "../../records/account.ts";
import type { Decision } from "../../records/change.ts";
import type { TransferRate } from "../../records/transfer-quote.ts";
import { clientConversion } from "../../trading/pricing/client-rate.ts";
import { conversionBody, midRate, pairsOf } from "../../trading/pricing/convert.ts";
import type { Market } from "../../trading/pricing/quote.ts";
import { type Rational, rational, roundHalfAway, roundToward } from "../../trading/pricing/rational.ts";

/** The accounts of a transfer, and what is debited, in minor units of the first. */
export interface TransferAmount {
  readonly from: Pick<Account, "currency">;
  readonly to: Pick<Account, "currency">;
  readonly amount_minor: bigint;
}

/**
 * The rate of a transfer at the newest prices: {@link clientConversion} less the mark-up. A cent currency and its
 * parent are one money, so they have no mark-up.
 */
export function transferRate(
  market: Market,
  { from, to, amount_minor: amount }: TransferAmount,
  markUp: string,
  now: string,
): Decision<TransferRate> {
  const none = { income_minor: 0n, mark_up_percent: "0.00", conversion: null };
  if (from.currency === to.currency) return unchanged({ credit_minor: amount, ...none });
  const found = clientConversion(market, from.currency, to.currency, now);
  if (!found.ok) return found;
  const path = found.result;
  const mark_up_percent = pairsOf(path).length === 0 ? none.mark_up_percent : markUp;
  const at = (rate: Rational) => rate.mul(amount).div(10n ** BigInt(minorDigits[from.currency]));
  const marked = at(path.rate).mul(rational("100").sub(mark_up_percent)).div(100n);
  const credit_minor = roundToward(marked, minorDigits[to.currency], "down");
  if (credit_minor === 0n) {
    return refuseField("amount_too_small", "amount", `The amount is less than the smallest unit of ${to.currency}.`);
  }
  const mid = roundHalfAway(at(midRate(path)), minorDigits[to.currency]);
  return unchanged({
    credit_minor,
    income_minor: mid - credit_minor,
    mark_up_percent,
    conversion: conversionBody(path),
  });
}
