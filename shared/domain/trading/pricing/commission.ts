import { type CurrencyCode, minorDigits } from "../../../currencies.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { conversion } from "./convert.ts";
import type { Market } from "./quote.ts";
import { rational, roundHalfAway } from "./rational.ts";

/**
 * The commission of one side of a deal, zero or below, in minor units of the account's currency: per lot, per million
 * USD of notional, or a percentage of the notional. Undefined when there is no way to convert it.
 */
export function commissionMinor(
  market: Market,
  symbol: TradingSymbol,
  deal: { readonly lots: string; readonly price: string; readonly currency: CurrencyCode },
): bigint | undefined {
  const { type, amount, currency } = symbol.commission;
  if (type === "none") return 0n;
  const own = { symbol, price: deal.price };
  const lots = rational(deal.lots);
  const notional = lots.mul(rational(symbol.contract_size)).mul(rational(deal.price).abs());
  const rateOf = (from: string, to: string) => conversion(market, from, to, own)?.rate;
  const dollars = type === "per_million" ? rateOf(symbol.quote_currency, "USD") : rational(1n);
  const toAccount = rateOf(type === "percent" ? symbol.quote_currency : currency, deal.currency);
  if (dollars === undefined || toAccount === undefined) return undefined;
  const base = {
    per_lot: lots,
    per_million: notional.mul(dollars).div(1_000_000n),
    percent: notional.div(100n),
  }[type];
  return -roundHalfAway(base.mul(rational(amount)).mul(toAccount), minorDigits[deal.currency]);
}
