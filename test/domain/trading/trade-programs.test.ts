import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import { marginTermsOf, usedMargin } from "../../../shared/domain/trading/margin.ts";
import { rational } from "../../../shared/domain/trading/pricing/rational.ts";
import { netMinor } from "../../../shared/domain/trading/trade.ts";
import { someMarket, someSymbol, usd } from "../../support/builders/trading.ts";
import type { TradingDesk } from "../../support/builders/trading-desk.ts";
import { desk, type Step, step, take } from "./trades-cases.ts";

describe("after any program of executions, closes and swaps", () => {
  const costly = someMarket(
    {},
    ["EURUSD", "USDJPY", "EURGBP", "AUDNZD"].map((name) =>
      someSymbol(name, { commission: { type: "per_million", amount: "35", currency: "USD" } }),
    ),
  );
  const modes = fc.constantFrom<Partial<Account>>(
    { position_mode: "hedging", margin_calculation: "max" },
    { position_mode: "hedging", margin_calculation: "sum" },
    { position_mode: "netting", margin_calculation: "net" },
  );

  function ran(mode: Partial<Account>, steps: readonly Step[]): TradingDesk {
    const account = desk("1000000.00", { ...mode, negative_balance_protection: false });
    for (const one of steps) take(account, costly, one);
    return account;
  }

  it("I9: slices and open lots add up to what was opened, and no cent of swap or commission is lost", () => {
    fc.assert(
      fc.property(modes, fc.array(step, { maxLength: 30 }), (mode, steps) => {
        const account = ran(mode, steps);
        for (const trade of account.trades.values()) {
          if (trade.parent_trade_id !== null) continue;
          const slices = account.closed.filter((slice) => slice.parent_trade_id === trade.id);
          const total = [trade, ...slices].reduce((sum, { lots }) => sum.add(rational(lots)), rational(0n));
          expect(total.equals(rational(trade.initial_lots))).toBe(true);
        }
        const swapOf = (items: Iterable<{ swap_minor: bigint }>) =>
          [...items].reduce((sum, { swap_minor }) => sum + swap_minor, 0n);
        const commission = [...account.trades.values()].reduce((sum, trade) => sum + trade.commission_minor, 0n);
        const booked = (kind: string) =>
          account.ledger.reduce((sum, entry) => sum + (entry.kind === kind ? entry.amount_minor : 0n), 0n);
        expect(commission).toBe(booked("commission"));
        expect(swapOf(account.closed)).toBe(booked("swap"));
        const open = [...account.trades.values()].filter(({ status }) => status === "open");
        expect(swapOf(open)).toBe(swapOf(account.positions.values()));
      }),
      { numRuns: 60 },
    );
  });

  it("I1, I2, I13: the balance is the sum of its ledger and of its raw trades, each entry with its counter", () => {
    fc.assert(
      fc.property(modes, fc.array(step, { maxLength: 30 }), (mode, steps) => {
        const account = ran(mode, steps);
        let balance = usd("1000000.00");
        for (const [place, entry] of account.ledger.entries()) {
          expect(entry).toMatchObject({ balance_before_minor: balance, balance_version: place + 1 });
          balance += entry.amount_minor;
          expect(entry.balance_after_minor).toBe(balance);
        }
        expect(account.balance).toMatchObject({ balance_minor: balance, available_minor: balance });
        const trades = [...account.trades.values()];
        const raw = trades.reduce((sum, trade) => sum + (netMinor(trade) ?? trade.commission_minor), 0n);
        expect(account.balance.balance_minor).toBe(usd("1000000.00") + raw);
        const counter = account.contra.reduce((sum, leg) => sum + leg.amount_minor, 0n);
        expect(counter).toBe(usd("1000000.00") - balance);
        for (const trade of account.closed) {
          const own = account.ledger.filter(({ trade_id }) => trade_id === trade.id);
          const sumOf = (...kinds: string[]) =>
            own.reduce((sum, { kind, amount_minor }) => sum + (kinds.includes(kind) ? amount_minor : 0n), 0n);
          expect(own.filter(({ kind }) => kind === "realised_pnl")).toHaveLength(1);
          expect([trade.gross_minor, trade.swap_minor]).toEqual([sumOf("realised_pnl"), sumOf("swap")]);
          const net = sumOf("realised_pnl", "swap") + trade.commission_minor;
          expect(netMinor(trade)).toBe(net);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("I10: positions, margin and their numbers are those of a recomputation from the open trades alone", () => {
    fc.assert(
      fc.property(modes, fc.array(step, { maxLength: 30 }), (mode, steps) => {
        const account = ran(mode, steps);
        const open = [...account.trades.values()].filter(({ status }) => status === "open");
        expect(account.balance.positions).toBe(open.length);
        const again = open.map((trade) => {
          const position = [...account.positions.values()].find(({ trade_id }) => trade_id === trade.id);
          const symbol = costly.symbols.get(trade.symbol);
          if (position === undefined || symbol === undefined) throw new Error(`${trade.id} has no position.`);
          const { lots, side, open_price, margin_ratio } = trade;
          expect(position).toMatchObject({ lots, side, open_price, margin_ratio });
          // Lots that netting added keep the terms of their own price: programs/margin-moments.test.ts.
          const raised = trade.initial_lots !== lots || mode.position_mode === "netting";
          return raised ? position : { ...position, margin_terms: marginTermsOf(symbol, open_price, margin_ratio) };
        });
        expect(account.balance.used_margin_minor).toBe(usedMargin({ ...account.state, positions: again }));
        if (account.account.position_mode === "netting") {
          expect(new Set(open.map(({ symbol }) => symbol)).size).toBe(open.length);
        }
      }),
      { numRuns: 60 },
    );
  });
});
