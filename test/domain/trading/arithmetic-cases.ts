import type { CurrencyCode } from "../../../shared/currencies.ts";
import { formatAmount } from "../../../shared/domain/kernel/money.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { marginRatio, marginTermsOf, positionMargin } from "../../../shared/domain/trading/margin.ts";
import { grossProfit } from "../../../shared/domain/trading/profit.ts";
import { someMarket } from "../../support/builders/trading.ts";

export interface Case {
  readonly name: string;
  readonly account_currency: CurrencyCode;
  readonly symbol: string;
  readonly calc_mode: TradingSymbol["calc_mode"];
  readonly contract_size: string;
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly leverage: number;
  readonly open_price: string;
  readonly close_price: string;
  readonly used_margin: string;
  readonly gross_pnl: string;
}

export const market = someMarket();

/** Result of a case, as the API would print it. */
export function computed(one: Case, symbol: TradingSymbol) {
  const { account_currency: currency, open_price } = one;
  const margin_ratio = marginRatio(market, currency, symbol, open_price);
  const profit = grossProfit(market, symbol, { ...one, currency }, one.close_price);
  if (margin_ratio === undefined || profit === undefined) throw new Error(`${one.name} has no way to convert.`);
  const margin_terms = marginTermsOf(symbol, open_price, margin_ratio);
  const margin = positionMargin({ ...one, currency, margin_terms }, one.leverage);
  return {
    used_margin: formatAmount(margin, currency),
    gross_pnl: formatAmount(profit.gross_minor, currency),
  };
}
