import type { CurrencyCode } from "../../../shared/currencies.ts";
import { formatAmount } from "../../../shared/domain/money.ts";
import { marginRatio, positionMargin } from "../../../shared/domain/trading/margin.ts";
import type { TradingSymbol } from "../../../shared/domain/trading/pricing/symbol.ts";
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

/** What a case comes to, as the API would print it. */
export function computed(one: Case, symbol: TradingSymbol) {
  const account = { currency: one.account_currency, leverage: one.leverage, margin_calculation: "sum" as const };
  const margin_ratio = marginRatio(market, account, symbol, one.open_price);
  const profit = grossProfit(market, symbol, { ...one, currency: one.account_currency }, one.close_price);
  if (margin_ratio === undefined || profit === undefined) throw new Error(`${one.name} has no way to convert.`);
  const margin = positionMargin(account, symbol, { ...one, margin_ratio });
  return {
    used_margin: formatAmount(margin, one.account_currency),
    gross_pnl: formatAmount(profit.gross_minor, one.account_currency),
  };
}
