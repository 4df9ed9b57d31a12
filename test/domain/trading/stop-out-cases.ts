import fc from "fast-check";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { Balance } from "../../../shared/domain/records/balance.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decimalText, quotient } from "../../../shared/domain/trading/pricing/rational.ts";
import { evaluateMargin, nextToClose } from "../../../shared/domain/trading/stop-out.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { someMarket, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

export type Opening = readonly [symbol: string, side: "buy" | "sell", lots: string, price: string];

export const market = someMarket();

export const euro: Opening = ["EURUSD", "buy", "1.00", "1.10010"];

export const yen: Opening = ["USDJPY", "sell", "0.50", "149.990"];

/** An account with open positions, each opened a second after the one before. */
export function desk(
  balance: string,
  openings: readonly Opening[],
  fields: Partial<Account> = {},
  money: Partial<Balance> = {},
) {
  const account = new TradingDesk(tradingAccount(balance, fields, money));
  for (const [place, [symbol, side, lots, price]] of openings.entries()) {
    const at = new Date(Date.parse(decisionTime) + place * 1000).toISOString();
    const execution = { symbol, side, lots, price, at, source: "internal" };
    account.apply(executeTrade(account.state, market, execution, decisionContext()));
  }
  account.events.length = 0;
  return account;
}

/** Evaluates once, with only the trades that the evaluation asked for. */
export function evaluate(account: TradingDesk, on: Market, now = decisionTime) {
  const wanted = new Set(nextToClose(account.state, on, now));
  const trades = new Map([...account.trades].filter(([id]) => wanted.has(id)));
  return account.apply(evaluateMargin(account.state, on, trades, decisionContext({ now })));
}

export const nine = (account: TradingDesk) =>
  account.announced.filter((type) => !["transaction.updated", "margin.recovered"].includes(type));

export const left = (account: TradingDesk) =>
  [...account.positions.values()].map(({ symbol, side, lots }) => `${side} ${lots} ${symbol}`);

export const lots = fc.integer({ min: 1, max: 200 }).map((units) => decimalText(quotient(BigInt(units), 100n), 2));
