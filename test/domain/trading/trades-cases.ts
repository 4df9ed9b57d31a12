import fc from "fast-check";
import type { Account } from "../../../shared/domain/records/account.ts";
import { accrueSwap } from "../../../shared/domain/trading/accrue-swap.ts";
import { closeTrade } from "../../../shared/domain/trading/close-trade.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decimalText, quotient, rational, roundHalfAway } from "../../../shared/domain/trading/pricing/rational.ts";
import { decisionContext } from "../../support/builders/decisions.ts";
import { examplePrices, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

export const buyEuro = { symbol: "EURUSD", side: "buy", lots: "1.00", price: "1.10010", source: "internal" } as const;

export function desk(balance = "10000.00", fields: Partial<Account> = {}) {
  return new TradingDesk(tradingAccount(balance, fields));
}

export function refusalOf(decision: { ok: boolean; refusal?: { code: string } }) {
  return decision.ok ? undefined : decision.refusal?.code;
}

export type Step =
  | {
      readonly kind: "open";
      readonly symbol: string;
      readonly side: "buy" | "sell";
      readonly units: number;
      readonly drift: number;
    }
  | { readonly kind: "close"; readonly which: number; readonly part: number; readonly drift: number }
  | { readonly kind: "swap"; readonly which: number; readonly cents: number };

const drift = fc.integer({ min: -500, max: 500 });

export const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("open" as const),
    symbol: fc.constantFrom("EURUSD", "USDJPY", "EURGBP", "AUDNZD"),
    side: fc.constantFrom("buy" as const, "sell" as const),
    units: fc.integer({ min: 1, max: 300 }),
    drift,
  }),
  fc.record({ kind: fc.constant("close" as const), which: fc.nat(20), part: fc.integer({ min: 1, max: 100 }), drift }),
  fc.record({ kind: fc.constant("swap" as const), which: fc.nat(20), cents: fc.integer({ min: -999, max: 999 }) }),
);

const lotsOf = (units: number) => decimalText(quotient(BigInt(units), 100n), 2);

function priceOf(symbol: string, points: number): string {
  const digits = symbol.endsWith("JPY") ? 3 : 5;
  const move = quotient(BigInt(points), 10n ** BigInt(digits));
  return decimalText(rational(examplePrices[symbol]?.[0] ?? "1").add(move), digits);
}

/** Applies one random step; a close of a position that is not there does nothing. */
export function take(account: TradingDesk, market: Market, one: Step): void {
  const context = decisionContext();
  if (one.kind === "open") {
    const { symbol, side, units, drift: points } = one;
    const execution = { symbol, side, lots: lotsOf(units), price: priceOf(symbol, points), source: "internal" };
    account.apply(executeTrade(account.state, market, execution, context));
    return;
  }
  const open = [...account.positions.keys()];
  if (open.length === 0) return;
  const chosen = account.open(open[one.which % open.length]);
  if (one.kind === "swap") {
    account.apply(accrueSwap(account, chosen, BigInt(one.cents), context));
    return;
  }
  const units = Number(roundHalfAway(rational(chosen.position.lots), 2));
  const closing = {
    lots: lotsOf(Math.max(1, Math.floor((units * one.part) / 100))),
    price: priceOf(chosen.position.symbol, one.drift),
    reason: "client",
  } as const;
  account.apply(closeTrade(account.state, chosen, market, closing, context));
}
