import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clockOf, nextExpected, planBatch } from "../../shared/domain/feed/batch.ts";
import { accrueDeal, closeDeal, openDeal } from "../../shared/domain/feed/deals.ts";
import { metricsAt } from "../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../shared/domain/trading/open-trade.ts";
import { draftRisk, metricsBody } from "../../shared/domain/trading/risk.ts";
import type { FeedResultBody } from "../../shared/schema/feed.ts";
import { FeedSwap } from "../../shared/schema/feed.ts";
import { someMarket, someSymbol, tradingAccount } from "../support/builders/trading.ts";
import { TradingDesk } from "../support/builders/trading-desk.ts";
import { context, desk, market, type Opening, opening, origin, PlatformPosition, text, unknown } from "./feed-cases.ts";

const batch = (first: number, count: number) => ({
  first_seq: String(first),
  items: Array.from({ length: count }, (_, place) => ({ seq: String(first + place), type: "x" })),
});

const results = (...statuses: FeedResultBody["status"][]) => statuses.map((status) => ({ seq: "1", status }));

describe("the clock of a platform", () => {
  const received = "2026-11-21T10:00:00.000Z";
  const [now, edge, early] = ["2026-11-21T09:59:59Z", "2026-11-21T12:55:00+03:00", "2026-11-21T09:54:59Z"] as const;
  const ahead = { seq: "1", status: "applied", reported_at: "2026-11-21T13:00:00Z" } as const;

  it.each([
    ["shown by no item", [], [], undefined],
    ["shown by an item without a time", [undefined], [{ seq: "1", status: "applied" }], undefined],
    ["not shown by what happened before", [early], [{ seq: "1", status: "applied" }], undefined],
    ["right by an item of now", [early, now], [{ seq: "1", status: "applied" }], "right"],
    ["right at five minutes, in any zone", [edge], [{ seq: "1", status: "applied" }], "right"],
    ["off by an item that is booked at its receipt, though another has the time of now", [now], [ahead], "off"],
    [
      "not shown by an item that was applied before",
      [ahead.reported_at],
      [{ ...ahead, status: "duplicate" }],
      undefined,
    ],
  ] as const)("is %s", (_, times, results, shown) => {
    const expected = shown === "off" ? { reported_at: ahead.reported_at } : shown;
    expect(clockOf(times, results, received)).toEqual(expected);
  });
});

describe("the numbers of a batch", () => {
  it.each([
    [10, 10, 5, 0, 5],
    [10, 7, 5, 3, 2],
    [10, 1, 5, 5, 0],
    [10, 10, 0, 0, 0],
  ])(
    "with %i expected, from %i on, split %i items into %i known and %i fresh",
    (expected, first, count, known, fresh) => {
      const plan = planBatch(String(expected), batch(first, count));
      expect(plan.ok && [plan.known.length, plan.fresh.length]).toEqual([known, fresh]);
    },
  );

  it("after a gap refuse it, an empty one too, and name what is expected", () => {
    for (const count of [0, 3]) {
      expect(planBatch("10", batch(11, count))).toMatchObject({
        refusal: { code: "sequence_gap", extra: { expected_seq: "10" } },
      });
    }
  });

  it("move on to the first that is deferred, whatever came after it", () => {
    expect(nextExpected("10", results("applied", "rejected", "duplicate"))).toBe("13");
    expect(nextExpected("10", results("applied", "deferred", "applied"))).toBe("11");
    expect(nextExpected("10", [])).toBe("10");
  });
});

describe("a deal of a platform", () => {
  it.each([
    ["of a closed account", { status: "closed" }, {}, "account_closed"],
    ["with a margin rate of nothing", {}, { margin_rate: "0" }, "validation_failed"],
    ["in an unknown symbol", {}, { symbol: "NOPE" }, "symbol_not_found"],
  ] as const)("%s is refused", (_, account, more, code) => {
    expect(openDeal(desk(account).state, market, opening(more), unknown, origin, context)).toMatchObject({
      ok: false,
      refusal: { code },
    });
  });

  it.each([["disabled"], ["active"]] as const)("is booked on a %s account without asking its margin", (status) => {
    const poor = new TradingDesk(tradingAccount("1.00", { status }));
    expect(openDeal(poor.state, market, opening({ lots: "50.00" }), unknown, origin, context).ok).toBe(true);
  });

  it.each([
    ["less than the least", "0.01", { lot_min: "0.10" }],
    ["more than the most", "150.00", { lot_max: "100.00" }],
    ["no multiple of the step", "0.03", { lot_step: "0.02", lot_min: "0.02" }],
  ] as const)("of %s that may be traded is booked, and a request for it is refused", (_, lots, terms) => {
    const strict = someMarket(undefined, [someSymbol("EURUSD", terms)]);
    const account = new TradingDesk(tradingAccount("1000000.00"));
    expect(openDeal(account.state, strict, opening({ lots }), unknown, origin, context).ok).toBe(true);
    const own = { symbol: "EURUSD", side: "buy", lots, price: "1.10010", source: "internal" } as const;
    const refused = executeTrade(account.state, strict, own, context);
    expect(refused).toMatchObject({ ok: false, refusal: { errors: [{ pointer: "#/lots" }] } });
  });

  it("is booked while this service liquidates the account, when a request is refused", () => {
    const account = desk();
    const money = metricsBody(metricsAt(market, account.state, context.now), "USD", context.now);
    const run = { started_at: context.now, before: money, closed_trade_ids: [], steps: 1 };
    const state = { ...account.state, risk: { ...draftRisk(account.account, context), run } };
    expect(openDeal(state, market, opening(), unknown, origin, context).ok).toBe(true);
    const own = { symbol: "EURUSD", side: "buy", lots: "1.00", price: "1.10010", source: "internal" } as const;
    const asked = executeTrade(state, market, own, context, true);
    expect(asked).toMatchObject({ ok: false, refusal: { code: "liquidation_in_progress" } });
  });

  it("of no lots is refused", () => {
    const none = openDeal(desk().state, market, opening({ lots: "0.00" }), unknown, origin, context);
    expect(none).toMatchObject({ ok: false, refusal: { code: "validation_failed" } });
  });

  it("brings its own time, money and margin rate, and claims the name of its position", () => {
    const decision = openDeal(
      desk().state,
      market,
      opening({ margin_rate: "1.2", commission: "-9.99" }),
      unknown,
      origin,
      context,
    );
    if (!decision.ok) throw new Error(decision.refusal.detail);
    const { result: trade, changes } = decision;
    expect(trade).toMatchObject({
      open_at: origin.at,
      source: "mt5:live-1",
      commission_minor: -999n,
      margin_ratio: "6/5",
    });
    expect(changes.at(-1)).toMatchObject({ op: "claim", kind: "source_position", owner: trade?.id });
    expect(changes.at(-1)).not.toHaveProperty("instead_of");
  });

  it("of a position that is known already is refused with hedging, also when it is closed", () => {
    const account = desk();
    const first = openDeal(account.state, market, opening(), unknown, origin, context);
    if (!first.ok || first.result === undefined) throw new Error("The first deal was refused.");
    const again = openDeal(account.state, market, opening(), { trade: first.result, order_id: null }, origin, context);
    expect(again).toMatchObject({ ok: false, refusal: { code: "position_known" } });
  });

  it("that turns a netting position round takes its name from the trade that was closed", () => {
    const account = desk({ position_mode: "netting", margin_calculation: "net" });
    const apply = (data: ReturnType<typeof opening>, known = unknown as Parameters<typeof openDeal>[3]) => {
      const decision = openDeal(account.state, market, data, known, origin, context);
      if (!decision.ok) throw new Error(decision.refusal.detail);
      account.apply({ ...decision, changes: decision.changes.filter(({ op }) => op !== "claim") });
      return decision;
    };
    const { result: first } = apply(opening());
    const raised = apply(opening({ lots: "0.50" }), { trade: first, order_id: null });
    expect(raised.changes.some(({ op }) => op === "claim")).toBe(false);
    const flipped = apply(opening({ side: "sell", lots: "2.00", price: "1.10000" }), { trade: first, order_id: null });
    expect(flipped.result).toMatchObject({ side: "sell", lots: "0.50" });
    expect(flipped.changes.at(-1)).toMatchObject({ op: "claim", owner: flipped.result?.id, instead_of: first?.id });
  });

  it.each([["closes"], ["charges swap on"]])("that %s an unknown position is refused", (what) => {
    const { state } = desk();
    const closing = { action: "close", deal_id: "D-2", position_id: "P-1", price: "1.1" } as const;
    const swap = { position_id: "P-1", amount: "-1.00", for_date: "2026-11-20" };
    const decision =
      what === "closes"
        ? closeDeal(state, market, closing, unknown, origin, context)
        : accrueDeal(state, swap, unknown, origin, context);
    expect(decision).toMatchObject({ ok: false, refusal: { code: "unknown_position" } });
  });
});

describe("a deal that turns a netting position round", () => {
  const netting = { position_mode: "netting", margin_calculation: "net" } as const;
  const commission = { type: "per_lot", amount: "3.50", currency: "USD" } as const;
  const perLot = someMarket(undefined, [someSymbol("EURUSD", { commission })]);
  const reversal = (more: Partial<Opening> = {}) => {
    const account = new TradingDesk(tradingAccount("5000.00", netting));
    const deal = (data: Opening) => {
      const decision = openDeal(account.state, perLot, data, unknown, origin, context);
      if (!decision.ok) throw new Error(decision.refusal.detail);
      return account.apply({ ...decision, changes: decision.changes.filter(({ op }) => op !== "claim") });
    };
    deal(opening({ lots: "1.00", price: "1.10000", commission: "0" }));
    deal(opening({ side: "sell", lots: "1.50", price: "1.10105", ...more }));
    return account;
  };

  it("books the commission that the platform charged and nothing of ours: 5,101.50", () => {
    const account = reversal({ profit: "105.00", commission: "-3.50", margin_rate: "1.2" });
    expect(account.balance.balance_minor).toBe(5_101_50n);
    const costs = account.ledger.filter(({ kind }) => kind === "commission").map(({ amount_minor }) => amount_minor);
    expect(costs).toEqual([-2_33n, -1_17n]);
  });

  it("freezes the margin rate of the platform in the position that it opens", () => {
    const account = reversal({ margin_rate: "1.2" });
    expect(account.open().trade).toMatchObject({ side: "sell", lots: "0.50", margin_ratio: "6/5" });
    expect(account.balance.used_margin_minor).toBe(600_00n);
  });

  it("books the platform's numbers to the cent whatever the lots are", () => {
    const cents = fc.integer({ min: 0, max: 100_000 });
    const hundredths = fc.integer({ min: 1, max: 500 });
    fc.assert(
      fc.property(cents, cents, cents, hundredths, hundredths, (profit, swap, cost, held, more) => {
        const account = new PlatformPosition(netting).open({ lots: text(held), commission: "0" });
        const before = account.balance;
        const money = { profit: text(profit), swap: text(-swap), commission: text(-cost) };
        account.open({ side: "sell", lots: text(held + more), ...money });
        expect(account.balance - before).toBe(BigInt(profit - swap - cost));
        const trades = [...account.desk.trades.values()];
        const commission = trades.reduce((sum, { commission_minor }) => sum + commission_minor, 0n);
        expect(commission).toBe(BigInt(-cost));
      }),
    );
  });

  it("is charged nothing where its platform decides and names no commission", () => {
    const account = reversal({ profit: "105.00" });
    expect(account.balance.balance_minor).toBe(5_105_00n);
  });

  it.each(["profit", "swap"] as const)("is one that closes something: %s of a plain opening has no trade", (member) => {
    const decision = openDeal(desk().state, market, opening({ [member]: "-1.00" }), unknown, origin, context);
    expect(decision).toMatchObject({
      ok: false,
      refusal: { code: "validation_failed", errors: [{ pointer: `#/${member}` }] },
    });
    const nothing = openDeal(desk().state, market, opening({ [member]: "0.00" }), unknown, origin, context);
    expect(nothing.ok).toBe(true);
  });
});

describe("money of an item", () => {
  const swap = (amount: string) => FeedSwap.safeParse({ position_id: "1", amount, for_date: "2026-11-20" }).success;

  it("has as many digits as a currency may have, which are eight, and no more", () => {
    expect(["-6.2", "0", "0.123", "-0.123456", "15.00000001"].map(swap)).toEqual([true, true, true, true, true]);
    expect(["0.123456789", "01.0000", "-.5", "1.2345 "].map(swap)).toEqual([false, false, false, false]);
  });
});
