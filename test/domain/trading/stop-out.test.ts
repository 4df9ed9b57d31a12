import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import { closeTrade } from "../../../shared/domain/trading/close-trade.ts";
import { isAbove, metricsAt } from "../../../shared/domain/trading/margin.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decimalText, quotient, rational } from "../../../shared/domain/trading/pricing/rational.ts";
import { valuePosition } from "../../../shared/domain/trading/profit.ts";
import { metricsBody } from "../../../shared/domain/trading/risk.ts";
import { evaluateMargin } from "../../../shared/domain/trading/stop-out.ts";
import { eventData } from "../../../shared/openapi/examples/events.ts";
import { AccountBalance } from "../../../shared/schema/account.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { marketAt, someMarket, someSymbol, usd } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";
import { desk, euro, evaluate, left, market, nine, type Opening, yen } from "./stop-out-cases.ts";

describe("V13: an account on its way down", () => {
  const account = desk("2000.00", [euro, yen]);
  const call = marketAt({ EURUSD: { bid: "1.09700" }, USDJPY: { ask: "150.290" } });
  const stop = marketAt({ EURUSD: { bid: "1.08850" }, USDJPY: { ask: "150.590" } });

  it("V13a: gets its margin call, with its money as it is then", () => {
    const { metrics, risk } = evaluate(account, call);
    expect(metrics).toMatchObject({
      equity_minor: usd("1590.19"),
      margin_level: "99.38",
      margin_status: "margin_call",
    });
    expect(risk).toMatchObject({ armed: false, episode: 1, margin_status: "margin_call", margin_level: "99.38" });
    expect(account.announced).toEqual(["margin.call"]);
    expect(account.events[0]).toMatchObject({
      resource: { type: "account", id: account.account.id },
      object: { equity: "1590.19", free_margin: "-9.91", margin_level: "99.38", margin_status: "margin_call" },
      previous: { margin_status: "normal" },
    });
  });

  it("gets none again while the level stays where it is: the same evaluation changes nothing", () => {
    const { state } = account;
    const again = evaluateMargin(state, call, new Map(), decisionContext());
    expect(again).toMatchObject({ ok: true, changes: [], events: [] });
  });

  it("V13b, V13c: is stopped out, most losing first, and armed again", () => {
    const { metrics, risk, closed } = evaluate(account, stop);
    expect(closed).toMatchObject([{ symbol: "EURUSD", gross_minor: usd("-1160.00"), close_reason: "stop_out" }]);
    expect(metrics).toMatchObject({
      balance_minor: usd("840.00"),
      equity_minor: usd("640.78"),
      used_margin_minor: usd("500.00"),
      margin_level: "128.15",
      margin_status: "normal",
    });
    expect(risk).toMatchObject({ armed: true, run: null, wake_at: null });
    expect(left(account)).toEqual(["sell 0.50 USDJPY"]);
  });

  it("is what the catalogue of events shows: every member, and the same money", () => {
    const money = Object.keys(metricsBody(metricsAt(call, account.state, decisionTime), "USD", decisionTime));
    const amounts = money.filter((name) => name !== "metrics_as_of");
    const moneyOf = (object: object) =>
      Object.entries(object)
        .filter(([name]) => amounts.includes(name))
        .toSorted();
    for (const { type, object, previous } of account.events) {
      const sample = eventData[type];
      expect(Object.keys(object).toSorted()).toEqual(Object.keys(sample?.object ?? {}).toSorted());
      expect(Object.keys(previous ?? {})).toEqual(Object.keys(sample?.previous ?? {}));
      if (type !== "trade.closed") expect(moneyOf(object)).toEqual(moneyOf(sample?.object ?? {}));
    }
    const told = (object: unknown) => (object as { stop_out: Record<"before" | "after", object> }).stop_out;
    const [stopped, shown] = [told(account.events[2]?.object), told(eventData["stop.out"]?.object)];
    for (const side of ["before", "after"] as const) expect(moneyOf(stopped[side])).toEqual(moneyOf(shown[side]));
  });

  it("announces everything in the stated order", () => {
    expect(account.announced).toEqual(["margin.call", "trade.closed", "stop.out", "margin.recovered"]);
    expect(account.events[2]).toMatchObject({
      object: {
        balance: "840.00",
        margin_status: "normal",
        stop_out: {
          order: "most_losing_first",
          mode: "full",
          before: { equity: "640.78", margin_level: "40.04", margin_status: "stop_out" },
          after: { balance: "840.00", equity: "640.78", used_margin: "500.00", margin_level: "128.15" },
          closed_trade_ids: account.closed.map(({ id }) => id),
        },
      },
    });
  });

  it("shows its money in the shape that is published", () => {
    const object = account.events[2]?.object as Record<string, unknown>;
    const shape = AccountBalance.shape;
    for (const [name, value] of Object.entries(object)) {
      const member = shape[name as keyof typeof shape];
      if (member !== undefined && name !== "object") expect(member.safeParse(value).success).toBe(true);
    }
  });
});

describe("V14: which position goes first", () => {
  const on = marketAt({ EURUSD: { bid: "1.09710" }, USDJPY: { ask: "152.720" } });

  it.each([
    ["most_losing_first", "1056.21", "68.74", "margin_call", ["buy 1.00 EURUSD"]],
    ["most_margin_first", "1650.00", "151.24", "normal", ["sell 0.50 USDJPY"]],
  ] as const)("%s", (stop_out_order, balance, level, status, rest) => {
    const account = desk("1950.00", [euro, yen], { stop_out_order });
    expect(metricsAt(on, account.state, decisionTime).margin_level).toBe("47.26");
    const { metrics } = evaluate(account, on);
    expect(metrics).toMatchObject({ balance_minor: usd(balance), margin_level: level, margin_status: status });
    expect(left(account)).toEqual(rest);
  });

  it.each(["most_losing_first", "most_margin_first"] as const)("%s, a tie: the older one", (stop_out_order) => {
    const account = desk("1200.00", [euro, euro], { stop_out_order, margin_calculation: "sum" });
    const [first] = account.positions.values();
    const { closed } = evaluate(account, marketAt({ EURUSD: { bid: "1.09930" } }));
    expect(closed).toMatchObject([{ position_id: first?.id }]);
  });

  it("a tie of losses: the one that takes more margin", () => {
    const openings = [
      ["EURUSD", "buy", "1.00", "1.10010"],
      ["EURGBP", "buy", "0.50", "0.86270"],
      ["EURUSD", "buy", "2.00", "1.10010"],
    ] as const;
    const account = desk("8000.00", openings, { margin_calculation: "sum" });
    for (const position of account.positions.values()) {
      const value = valuePosition(market, position, decisionTime).floating_minor;
      const swap_minor = usd("-2500.00") - value;
      account.positions.set(position.id, { ...position, swap_minor });
      account.trades.set(position.trade_id, { ...account.open(position.id).trade, swap_minor });
    }
    expect(evaluate(account, market).closed[0]).toMatchObject({ lots: "2.00" });
  });
});

describe("V15: a gap below zero", () => {
  const on = marketAt({ EURUSD: { bid: "1.08500" } });
  const openings: readonly Opening[] = [["EURUSD", "buy", "0.40", "1.10010"]];

  it("announces the call, the close, the correction and the stop-out in this order, and leaves nothing", () => {
    const account = desk("500.00", openings);
    expect(metricsAt(on, account.state, decisionTime)).toMatchObject({
      equity_minor: usd("-104.00"),
      margin_level: "-23.63",
    });
    evaluate(account, on);
    const expected = ["margin.call", "trade.closed", "transaction.created", "transaction.completed", "stop.out"];
    expect(nine(account)).toEqual(expected);
    expect(account.balance).toMatchObject({ balance_minor: 0n, available_minor: 0n, used_margin_minor: 0n, seq: 2 });
    expect(account.events[0]?.object).toMatchObject({ equity: "-104.00", margin_status: "stop_out" });
    expect(account.transactions).toMatchObject([
      { kind: "negative_balance_correction", amount_minor: usd("104.00"), balance_before_minor: usd("-104.00") },
    ]);
    const created = account.events.find(({ type }) => type === "transaction.created");
    expect(created?.object).toMatchObject({ status: "pending", amount: "104.00", version: 1, balance_after: null });
    expect(account.events.at(-2)?.object).toMatchObject({ stop_out: { after: { balance: "0.00" } } });
  });

  it.each([["demo", true] as const, ["live", undefined] as const])(
    "of a %s account is booked as such",
    (type, demo) => {
      const account = desk("500.00", openings, { type });
      evaluate(account, on);
      expect(account.contra).toMatchObject([
        { control_account: "realised_pnl" },
        { control_account: "negative_balance" },
      ]);
      expect(account.contra.map((entry) => entry.demo)).toEqual([demo, demo]);
      const announced = account.events.filter((event) => event.type.startsWith("transaction."));
      const types = [...account.transactions, ...announced.map(({ object }) => object)];
      expect(types.map((each) => (each as { account_type?: string }).account_type)).toEqual(types.map(() => type));
    },
  );

  it("stays a debt where the account is not protected", () => {
    const account = desk("500.00", openings, { negative_balance_protection: false });
    evaluate(account, on);
    expect(account.balance.balance_minor).toBe(usd("-104.00"));
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });
});

describe("V24: a partial stop-out", () => {
  const partial = { stop_out_mode: "partial" } as const;
  const on = marketAt({ EURUSD: { bid: "1.09010" } });

  it("closes the smallest multiple of the lot step that is enough", () => {
    const account = desk("1500.00", [euro], partial);
    const { metrics, closed } = evaluate(account, on);
    expect(closed).toMatchObject([{ lots: "0.10", close_reason: "stop_out" }]);
    expect(metrics).toMatchObject({
      balance_minor: usd("1400.00"),
      used_margin_minor: usd("990.09"),
      equity_minor: usd("500.00"),
      margin_level: "50.50",
      margin_status: "margin_call",
    });
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });

  it("closes all of a position when no part of it is enough, and then of the next", () => {
    const account = desk("1500.00", [euro, ["AUDNZD", "buy", "0.10", "1.09140"]], partial);
    const { closed } = evaluate(account, marketAt({ EURUSD: { bid: "1.08510" } }));
    expect(closed.map(({ lots, symbol }) => `${lots} ${symbol}`)).toEqual(["1.00 EURUSD", "0.10 AUDNZD"]);
  });

  it("never closes a step more than needed, whatever the costs, the step and the margin mode", () => {
    const lots = fc.integer({ min: 2, max: 40 });
    const steps = fc.constantFrom("0.01", "0.05", "0.10");
    const modes = fc.constantFrom<Account["margin_calculation"]>("max", "sum", "net");
    const swaps = fc.integer({ min: -5000, max: 5000 });
    const losses = fc.integer({ min: 1, max: 400 });
    const commissions = fc.constantFrom("0", "3.50", "40");
    fc.assert(
      fc.property(lots, lots, steps, modes, swaps, losses, commissions, (main, hedge, step, mode, swap, loss, fee) => {
        const unit = rational(step);
        const sized = (count: number) => decimalText(unit.mul(BigInt(count)), 2);
        const symbol = someSymbol("EURUSD", {
          lot_step: step,
          lot_min: step,
          commission: { type: "per_lot", amount: fee, currency: "USD" },
        });
        const openings: Opening[] = [["EURUSD", "buy", sized(main), "1.10010"]];
        if (hedge % 2 === 0) openings.push(["EURUSD", "sell", sized(hedge), "1.10010"]);
        const account = desk("0.00", openings, { ...partial, margin_calculation: mode });
        const [first] = account.positions.values();
        if (first === undefined) throw new Error("Nothing was opened.");
        account.positions.set(first.id, { ...first, swap_minor: BigInt(swap) });
        account.trades.set(first.trade_id, { ...account.open(first.id).trade, swap_minor: BigInt(swap) });
        const bid = decimalText(rational("1.10010").sub(quotient(BigInt(loss), 100_000n)), 5);
        const on = someMarket({ EURUSD: [bid, bid] }, [symbol]);
        // Enough that the account stands between a third and a half of its margin.
        const at = metricsAt(on, account.state, decisionTime);
        const wanted = (at.used_margin_minor * 2n) / 5n - at.equity_minor;
        account.balance = { ...account.balance, balance_minor: at.balance_minor + wanted };
        const start = { state: account.state, balance: account.balance };
        const { closed, metrics } = evaluate(account, on);
        const last = closed.at(-1);
        if (last === undefined || last.parent_trade_id === null) return;
        expect(isAbove(metrics.equity_minor, metrics.used_margin_minor, "50.00")).toBe(true);
        if (closed.length > 1 || rational(last.lots).equals(unit)) return;
        const less = decimalText(rational(last.lots).sub(unit), 2);
        const desk2 = new TradingDesk({ account: account.account, balance: start.balance });
        for (const position of start.state.positions) desk2.positions.set(position.id, position);
        const values = smaller(desk2, start.state.trades, on, last.parent_trade_id, less);
        expect(isAbove(values.equity_minor, values.used_margin_minor, "50.00")).toBe(false);
      }),
      { numRuns: 150 },
    );
  });
});

/** The money of an account had only so many lots of a trade been closed. */
function smaller(account: TradingDesk, trades: ReadonlyMap<string, unknown>, on: Market, id: string, lots: string) {
  const position = [...account.positions.values()].find(({ trade_id }) => trade_id === id);
  const trade = trades.get(id) as Parameters<typeof closeTrade>[1]["trade"] | undefined;
  if (position === undefined || trade === undefined) throw new Error("The trade was not open.");
  const open = { position, trade: { ...trade, status: "open" as const } };
  const price = on.quotes.get(position.symbol)?.bid ?? "0";
  const decision = closeTrade(account.state, open, on, { lots, price, reason: "stop_out" }, decisionContext());
  if (!decision.ok) throw new Error(decision.refusal.detail);
  return metricsAt(on, decision.result.holdings, decisionTime);
}

describe("the margin call", () => {
  const at = (equity: string) => {
    const account = desk("0.00", [["EURUSD", "buy", "1.00", "1.10000"]]);
    const balance = { ...account.balance, balance_minor: usd(equity) };
    return { account, balance };
  };
  const flat = marketAt({ EURUSD: { bid: "1.10000" } });

  it.each([
    ["1100.01", "normal", []],
    ["1100.00", "margin_call", ["margin.call"]],
    ["550.01", "margin_call", ["margin.call"]],
  ])("V19: with equity %s of 1100.00 the account is %s", (equity, status, announced) => {
    const { account, balance } = at(equity);
    account.balance = balance;
    expect(evaluate(account, flat).risk.margin_status).toBe(status);
    expect(account.announced).toEqual(announced);
  });

  it("comes again only after the level was above the re-arm level", () => {
    const { account } = at("0.00");
    const goTo = (equity: string) => {
      account.balance = { ...account.balance, balance_minor: usd(equity) };
      evaluate(account, flat);
    };
    for (const equity of ["1000.00", "1150.00", "1000.00", "1155.00", "900.00"]) goTo(equity);
    expect(account.announced).toEqual(["margin.call"]);
    for (const equity of ["1155.01", "1155.01", "1000.00", "1000.00"]) goTo(equity);
    expect(account.announced).toEqual(["margin.call", "margin.recovered", "margin.call"]);
    expect(account.risk).toMatchObject({ episode: 2, armed: false });
  });

  it("I11: comes before the stop-out of a gap, and not twice before a later one of the same episode", () => {
    const { account } = at("0.00");
    const goTo = (equity: string) => {
      account.balance = { ...account.balance, balance_minor: usd(equity) };
      evaluate(account, flat);
    };
    for (const equity of ["1000.00", "1120.00", "500.00"]) goTo(equity);
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });
});
