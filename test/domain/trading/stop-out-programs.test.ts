import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { metricsAt } from "../../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decimalText, rational } from "../../../shared/domain/trading/pricing/rational.ts";
import { evaluateMargin } from "../../../shared/domain/trading/stop-out.ts";
import { limits } from "../../../shared/limits.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { marketAt, someMarket, someQuote, someSymbol } from "../../support/builders/trading.ts";
import type { TradingDesk } from "../../support/builders/trading-desk.ts";
import { desk, evaluate, lots, market, nine, type Opening } from "./stop-out-cases.ts";

/** Evaluates until nothing is left to do, and tells how often. */
function settle(account: TradingDesk, on: Market): number {
  for (let steps = 1; ; steps += 1) if (!evaluate(account, on).running) return steps;
}

/** The trades that were closed, in the order of their events. */
const closedInOrder = (account: TradingDesk) =>
  account.events.filter(({ type }) => type === "trade.closed").map(({ resource }) => resource.id);

describe("a liquidation of many positions", () => {
  const many = (count: number): Opening[] =>
    Array.from({ length: count }, (_, place) => ["EURUSD", "buy", "0.10", `1.1${String(place).padStart(4, "0")}`]);
  const crash = marketAt({ EURUSD: { bid: "1.05000" } });

  it("closes at most eight a step and takes no new trade in between", () => {
    const account = desk("5000.00", many(30), { margin_calculation: "sum" });
    const first = evaluate(account, crash);
    expect(first).toMatchObject({ running: true, risk: { run: { steps: 1 } } });
    expect(first.closed).toHaveLength(limits.trading.closes_per_step);
    expect(first.risk.wake_at).not.toBeNull();
    const execution = { symbol: "EURUSD", side: "buy", lots: "0.10", price: "1.05000", source: "internal" } as const;
    const opening = executeTrade(account.state, crash, execution, decisionContext(), true);
    expect(opening).toMatchObject({ ok: false, refusal: { code: "liquidation_in_progress" } });
    expect(1 + settle(account, crash)).toBe(4);
    expect(account.positions.size).toBe(0);
    const closes = Array.from({ length: 30 }, () => "trade.closed");
    const correction = ["transaction.created", "transaction.completed"];
    expect(nine(account)).toEqual(["margin.call", ...closes, ...correction, "stop.out"]);
    expect(account.events.find(({ type }) => type === "stop.out")?.object).toMatchObject({
      stop_out: { closed_trade_ids: closedInOrder(account), before: { balance: "5000.00" } },
    });
  });

  it("fits into one transaction at every step", () => {
    const costs = { commission: { type: "per_lot", amount: "3.50", currency: "USD" } } as const;
    const costly = someMarket({ EURUSD: ["1.05000", "1.05000"] }, [someSymbol("EURUSD", costs)]);
    const account = desk("5000.00", many(30), { margin_calculation: "sum" });
    for (const [id, position] of account.positions) {
      account.positions.set(id, { ...position, swap_minor: -100n });
      account.trades.set(position.trade_id, { ...account.open(id).trade, swap_minor: -100n });
    }
    account.largest = 0;
    settle(account, costly);
    expect(account.largest).toBeLessThanOrEqual(90);
    expect(account.largest).toBeGreaterThan(60);
  });

  it("is continued by any worker: a step that was decided twice is written once", () => {
    const account = desk("5000.00", many(30), { margin_calculation: "sum" });
    const decided = () => evaluateMargin(account.state, crash, account.trades, decisionContext());
    const [one, two] = [decided(), decided()];
    account.apply(one);
    expect(() => account.apply(two)).toThrow(/no longer as it was decided on/);
    settle(account, crash);
    expect(account.closed).toHaveLength(30);
  });

  it("ends when the market comes back in between, with what it closed", () => {
    const account = desk("5000.00", many(30), { margin_calculation: "sum" });
    evaluate(account, crash);
    const back = evaluate(account, marketAt({ EURUSD: { bid: "1.20000" } }));
    expect(back).toMatchObject({ running: false, closed: [], risk: { run: null } });
    expect(account.positions.size).toBe(22);
    expect(account.events.find(({ type }) => type === "stop.out")?.object).toMatchObject({
      stop_out: { closed_trade_ids: closedInOrder(account) },
    });
  });
});

const opening = fc.tuple(
  fc.constantFrom("EURUSD", "USDJPY", "EURGBP", "GBPJPY", "AUDNZD"),
  fc.constantFrom("buy" as const, "sell" as const),
  lots,
);

const terms = fc.record({
  stop_out_order: fc.constantFrom("most_losing_first" as const, "most_margin_first" as const),
  stop_out_mode: fc.constantFrom("full" as const, "partial" as const),
  margin_calculation: fc.constantFrom("max" as const, "sum" as const, "net" as const),
  negative_balance_protection: fc.boolean(),
});

const walk = fc.array(
  fc.tuple(fc.constantFrom("EURUSD", "USDJPY", "GBPUSD", "AUDNZD"), fc.integer({ min: 90, max: 110 })),
  {
    minLength: 1,
    maxLength: 6,
  },
);

describe("after any walk of the market", () => {
  it("I11, I12, I15: every stop-out had its call, ends above its level, and a replay changes nothing", () => {
    fc.assert(
      fc.property(fc.array(opening, { minLength: 1, maxLength: 12 }), terms, walk, (openings, fields, moves) => {
        const priced = openings.map(
          ([symbol, side, size]): Opening => [symbol, side, size, market.quotes.get(symbol)?.ask ?? "1"],
        );
        const account = desk("0.00", priced, fields);
        const used = account.balance.used_margin_minor;
        account.balance = { ...account.balance, balance_minor: used * 2n, available_minor: used * 2n };
        let on = market;
        for (const [name, percent] of moves) {
          const mid = rational(market.quotes.get(name)?.bid ?? "1")
            .mul(BigInt(percent))
            .div(100n);
          const price = decimalText(mid, name.endsWith("JPY") ? 3 : 5);
          on = { ...on, quotes: new Map([...on.quotes, [name, someQuote(name, [price, price])]]) };
          const start = account.events.length;
          settle(account, on);
          const happened = account.announced.slice(start);
          if (happened.includes("stop.out")) {
            const metrics = metricsAt(on, account.state, decisionTime);
            expect(metrics.margin_status === "stop_out" && account.positions.size > 0).toBe(false);
            const flat = account.positions.size === 0;
            if (flat && fields.negative_balance_protection) expect(account.balance.balance_minor >= 0n).toBe(true);
            if (!flat) expect(account.transactions.length).toBe(0);
          }
          const replay = evaluateMargin(account.state, on, account.trades, decisionContext());
          expect(replay).toMatchObject({ ok: true, changes: [], events: [] });
        }
        let called = false;
        for (const type of account.announced) {
          if (type === "margin.call") {
            expect(called).toBe(false);
            called = true;
          }
          if (type === "stop.out") expect(called).toBe(true);
          if (type === "margin.recovered") called = false;
        }
        const sum = account.ledger.reduce((total, { amount_minor }) => total + amount_minor, used * 2n);
        expect(account.balance.balance_minor).toBe(sum);
      }),
      { numRuns: 100 },
    );
  });
});
