import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account, Balance } from "../../../shared/domain/account.ts";
import { closeTrade } from "../../../shared/domain/trading/close-trade.ts";
import { isAbove, metricsAt } from "../../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import { valuePosition } from "../../../shared/domain/trading/profit.ts";
import type { Market } from "../../../shared/domain/trading/quote.ts";
import { decimalText, quotient, rational } from "../../../shared/domain/trading/rational.ts";
import { metricsBody } from "../../../shared/domain/trading/risk.ts";
import { evaluateMargin, nextToClose } from "../../../shared/domain/trading/stop-out.ts";
import { limits } from "../../../shared/limits.ts";
import { eventData } from "../../../shared/openapi/examples.ts";
import { AccountBalance } from "../../../shared/schema/account.ts";
import { decisionContext, decisionTime } from "../../support/decisions.ts";
import { marketAt, someMarket, someQuote, someSymbol, tradingAccount, usd } from "../../support/trading.ts";
import { TradingDesk } from "../../support/trading-desk.ts";

type Opening = readonly [symbol: string, side: "buy" | "sell", lots: string, price: string];

const market = someMarket();
const euro: Opening = ["EURUSD", "buy", "1.00", "1.10010"];
const yen: Opening = ["USDJPY", "sell", "0.50", "149.990"];

/** An account with open positions, each opened a second after the one before. */
function desk(
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
function evaluate(account: TradingDesk, on: Market, now = decisionTime) {
  const wanted = new Set(nextToClose(account.state, on, now));
  const trades = new Map([...account.trades].filter(([id]) => wanted.has(id)));
  return account.apply(evaluateMargin(account.state, on, trades, decisionContext({ now })));
}

/** Evaluates until nothing is left to do, and tells how often. */
function settle(account: TradingDesk, on: Market): number {
  for (let steps = 1; ; steps += 1) if (!evaluate(account, on).running) return steps;
}

const nine = (account: TradingDesk) =>
  account.announced.filter((type) => !["transaction.updated", "margin.recovered"].includes(type));

/** The trades that were closed, in the order of their events. */
const closedInOrder = (account: TradingDesk) =>
  account.events.filter(({ type }) => type === "trade.closed").map(({ resource }) => resource.id);

const left = (account: TradingDesk) =>
  [...account.positions.values()].map(({ symbol, side, lots }) => `${side} ${lots} ${symbol}`);

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

/** The market with the quote of a symbol as old as it may be, and one millisecond more. */
function aged(on: Market, name: string, byMs: number): Market {
  const moment = new Date(Date.parse(decisionTime) - byMs).toISOString();
  const quote = on.quotes.get(name);
  const prices: readonly [string, string] = [quote?.bid ?? "1", quote?.ask ?? "1"];
  return {
    ...on,
    quotes: new Map([...on.quotes, [name, someQuote(name, prices, { time: moment, received_at: moment })]]),
  };
}

describe("an old price", () => {
  const down = marketAt({ EURUSD: { bid: "1.08850" }, USDJPY: { ask: "150.590" } });

  it("decides nothing: no margin call and no stop-out", () => {
    const account = desk("2000.00", [euro, yen]);
    const result = evaluate(account, aged(down, "EURUSD", limits.trading.metrics_stale_ms + 1));
    expect(result).toMatchObject({ waiting: true, running: false, closed: [], metrics: { stale: true } });
    expect(account.announced).toEqual([]);
    expect(account.risk).toBeUndefined();
  });

  it("of just the age that is allowed decides as a new one does", () => {
    const account = desk("2000.00", [euro, yen]);
    evaluate(account, aged(down, "EURUSD", limits.trading.metrics_stale_ms));
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });

  it("of a conversion pair decides nothing either", () => {
    const account = desk("1150.00", [["EURGBP", "buy", "1.00", "0.86270"]]);
    const on = someMarket({ EURGBP: ["0.85000", "0.85010"] });
    expect(evaluate(account, aged(on, "GBPUSD", 61_000)).waiting).toBe(true);
    expect(evaluate(account, on).waiting).toBe(false);
  });

  it("does not stand in the way when the others alone put the account under; its position is left alone", () => {
    const account = desk("1600.00", [euro, yen]);
    const on = aged(marketAt({ EURUSD: { bid: "1.08850" }, USDJPY: { ask: "160.000" } }), "USDJPY", 61_000);
    evaluate(account, on);
    expect(left(account)).toEqual(["sell 0.50 USDJPY"]);
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });

  it("is believed where it shows a gain: no stop-out comes from leaving it out", () => {
    const account = desk("1600.00", [euro, yen]);
    const on = aged(marketAt({ EURUSD: { bid: "1.08850" }, USDJPY: { ask: "140.000" } }), "USDJPY", 61_000);
    expect(evaluate(account, on).waiting).toBe(true);
    expect(account.announced).toEqual([]);
  });

  it("that is missing decides nothing", () => {
    const account = desk("2000.00", [euro, yen]);
    expect(evaluate(account, someMarket({ EURUSD: undefined })).waiting).toBe(true);
  });
});

describe("a closed market", () => {
  const closed = (price: string) => someMarket({ EURUSD: [price, price] }, [someSymbol("EURUSD", { sessions: [] })]);

  it("I12: keeps its positions out of a stop-out; the account is called, and stays at its level", () => {
    const account = desk("1600.00", [euro]);
    const { risk, running } = evaluate(account, closed("1.08600"));
    expect(risk).toMatchObject({ margin_status: "stop_out", armed: false, run: null });
    expect(running).toBe(false);
    expect(account.announced).toEqual(["margin.call"]);
    evaluate(account, marketAt({ EURUSD: { bid: "1.08600" } }));
    expect(nine(account)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });

  it("has no old prices: the last one counts however long ago it was", () => {
    const account = desk("1600.00", [euro]);
    expect(evaluate(account, aged(closed("1.08600"), "EURUSD", 3_600_000)).waiting).toBe(false);
  });
});

describe("an account that its platform liquidates", () => {
  it("is called and never liquidated by us", () => {
    const account = desk("500.00", [["EURUSD", "buy", "0.40", "1.10010"]]);
    const on = marketAt({ EURUSD: { bid: "1.08500" } });
    const state = { ...account.state, liquidated_by: "platform" } as const;
    expect(nextToClose(state, on, decisionTime)).toEqual([]);
    const { risk } = account.apply(evaluateMargin(state, on, new Map(), decisionContext()));
    expect(risk).toMatchObject({ margin_status: "stop_out", armed: false, run: null });
    expect(account.announced).toEqual(["margin.call"]);
    expect(account.positions.size).toBe(1);
  });
});

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

  it("is carried on by whoever comes: a step that was decided twice is written once", () => {
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

const lots = fc.integer({ min: 1, max: 200 }).map((units) => decimalText(quotient(BigInt(units), 100n), 2));
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
