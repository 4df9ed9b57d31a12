import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { driveTo } from "../../../shared/domain/sandbox/drive.ts";
import { accrueSwap } from "../../../shared/domain/trading/accrue-swap.ts";
import { amendHoldings } from "../../../shared/domain/trading/amend-holdings.ts";
import { closeTrade } from "../../../shared/domain/trading/close-trade.ts";
import { metricsAt, usedMargin } from "../../../shared/domain/trading/margin.ts";
import { openAtMarket } from "../../../shared/domain/trading/market-trade.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import { fillOrder, placeOrder } from "../../../shared/domain/trading/order.ts";
import { positionBody } from "../../../shared/domain/trading/position.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { valuePosition } from "../../../shared/domain/trading/profit.ts";
import { evaluateMargin } from "../../../shared/domain/trading/stop-out.ts";
import { tradeBody } from "../../../shared/domain/trading/trade.ts";
import { Position as PositionSchema } from "../../../shared/schema/position.ts";
import { Trade as TradeSchema } from "../../../shared/schema/trade.ts";
import { decisionContext, decisionTime, someClient } from "../../support/builders/decisions.ts";
import { someMarket, someQuote, someSymbol, usd } from "../../support/builders/trading.ts";
import type { TradingDesk } from "../../support/builders/trading-desk.ts";
import { buyEuro, desk, refusalOf } from "./trades-cases.ts";

const charged = someMarket({}, [
  someSymbol("EURUSD", { commission: { type: "per_lot", amount: "3.50", currency: "USD" } }),
]);

describe("an execution is refused", () => {
  it.each([
    ["of an unknown symbol", { symbol: "XXXYYY" }, "symbol_not_found"],
    ["at a price of zero with too many digits", { price: "0.000000" }, "invalid_price"],
    ["at no price", { price: "0" }, "invalid_price"],
    ["of less than a step", { lots: "0.005" }, "validation_failed"],
    ["below the least lots", { lots: "0.00" }, "validation_failed"],
    ["above the most lots", { lots: "100.01" }, "validation_failed"],
  ])("%s", (_, fields, code) => {
    const { state } = desk();
    const decision = executeTrade(state, charged, { ...buyEuro, ...fields }, decisionContext());
    expect(refusalOf(decision)).toBe(code);
    expect(decision).not.toHaveProperty("changes");
  });

  it("when there is no way to the account's currency", () => {
    const krw = someMarket({ USDKRW: undefined, EURKRW: ["1500.00", "1500.10"] }, [
      someSymbol("EURKRW", { digits: 2, commission: { type: "per_lot", amount: "1", currency: "KRW" } }),
    ]);
    const execution = { ...buyEuro, symbol: "EURKRW", price: "1500.10" };
    expect(refusalOf(executeTrade(desk().state, krw, execution, decisionContext()))).toBe("no_conversion_path");
  });
});

describe("a position keeps the margin terms that it was opened under", () => {
  const capped = (fields: Partial<TradingSymbol>) => someMarket({}, [someSymbol("EURUSD", fields)]);
  const strict = capped({ max_leverage: 20, margin_factor: "1.5" });
  const opened = (fields: Partial<Account> = {}) => {
    const account = desk("1350.00", fields);
    account.apply(executeTrade(account.state, someMarket(), { ...buyEuro, lots: "1.00" }, decisionContext()));
    return account;
  };
  const closePart = (account: TradingDesk, lots: string, market: Market) =>
    account.apply(
      closeTrade(
        account.state,
        account.open(),
        market,
        { lots, price: "1.10010", reason: "client" },
        decisionContext(),
      ),
    );

  it("when a part is closed after the cap of its symbol fell: used margin falls, it never rises", () => {
    const account = opened();
    expect(account.balance.used_margin_minor).toBe(usd("1100.10"));
    closePart(account, "0.40", strict);
    expect(account.balance.used_margin_minor).toBe(usd("660.06"));
    closePart(account, "0.59", strict);
    expect(account.balance.used_margin_minor).toBe(usd("11.00"));
  });

  it("when a liquidation closes as little of it as is enough", () => {
    const account = opened({ stop_out_mode: "partial" });
    const low = someMarket({ EURUSD: ["1.09080", "1.09090"] }, [someSymbol("EURUSD", { max_leverage: 20 })]);
    const trades = new Map([...account.trades]);
    account.apply(evaluateMargin(account.state, low, trades, decisionContext()));
    // Equity of 420.00 stands above half of what 0.76 lots take under the terms of the opening: 418.04.
    expect(account.open().position.lots).toBe("0.76");
    expect(metricsAt(low, account.state, decisionTime).margin_status).toBe("margin_call");
  });

  it("when another leverage is applied to it, which divides the same terms", () => {
    const { state } = opened();
    expect(usedMargin({ ...state, balance: { ...state.balance, leverage: 50 } })).toBe(usd("2200.20"));
  });

  it("when netting adds lots to it: those take the terms of now, the others keep theirs", () => {
    const account = opened({ position_mode: "netting", margin_calculation: "net" });
    const trades = new Map([...account.trades]);
    const deal = { ...buyEuro, lots: "0.01" };
    account.apply(executeTrade({ ...account.state, trades }, strict, deal, decisionContext()));
    // 1.00 at a hundredth is 1,100.10; 0.01 at 1.5 of a twentieth is 82.51.
    expect(account.balance.used_margin_minor).toBe(usd("1182.61"));
    closePart(account, "0.50", strict);
    expect(account.balance.used_margin_minor).toBe(usd("597.16"));
  });
});

describe("the entries of an account", () => {
  it("are in the order of their times where the clock of a later decision is behind", () => {
    const account = desk();
    const behind = decisionContext({ now: "2026-11-21T06:29:59.000Z" });
    account.apply(executeTrade(account.state, charged, buyEuro, decisionContext()));
    account.apply(closeTrade(account.state, account.open(), charged, { price: "1.10350", reason: "client" }, behind));
    const times = account.ledger.map((entry) => entry.created_at);
    expect(times.length).toBeGreaterThan(1);
    expect(times).toEqual([...times].sort());
    expect(account.balance.posted_at).toBe(decisionTime);
  });
});

describe("V11: a partial close", () => {
  const account = desk();
  const context = decisionContext();
  account.apply(executeTrade(account.state, charged, buyEuro, context));
  const opened = account.balance.balance_minor;
  account.apply(accrueSwap(account, account.open(), usd("-6.20"), context));
  const before = account.open().trade;
  const { trade: slice } = account.apply(
    closeTrade(account.state, account.open(), charged, { lots: "0.40", price: "1.10350", reason: "client" }, context),
  );

  it("books the commission of the opening at the opening", () => {
    expect(opened).toBe(usd("9996.50"));
  });

  it("makes the slice a closed trade of its own, to the last digit", () => {
    expect(tradeBody(slice)).toMatchObject({
      parent_trade_id: before.id,
      status: "closed",
      close_reason: "partial_close",
      lots: "0.40",
      initial_lots: "0.40",
      open_price: "1.10010",
      close_price: "1.10350",
      gross_pnl: "136.00",
      swap: "-2.48",
      commission: "-2.80",
      net_pnl: "130.72",
      margin_rate: "1.1001",
      conversion: { from: "USD", to: "USD", via: [], rate: "1.000000000000" },
    });
    expect(account.balance).toMatchObject({ balance_minor: usd("10128.62"), available_minor: usd("10128.62"), seq: 4 });
  });

  it("leaves the open trade with its id, fewer lots and the rest of its costs", () => {
    const { trade, position } = account.open();
    expect(trade).toMatchObject({ id: before.id, status: "open", lots: "0.60", initial_lots: "1.00" });
    expect(trade).toMatchObject({ swap_minor: usd("-3.72"), commission_minor: usd("-2.10"), gross_minor: null });
    expect(position).toMatchObject({ lots: "0.60", swap_minor: usd("-3.72") });
    expect(account.balance.used_margin_minor).toBe(usd("660.06"));
  });

  it("announces the opening and the slice, each once, as GET shows them", () => {
    expect(account.announced).toEqual(["trade.opened", "trade.closed"]);
    expect(account.events[1]).toMatchObject({ resource: { id: slice.id, version: 1 }, object: tradeBody(slice) });
  });

  it("shows trades and positions in the shapes that are published", () => {
    const { trade, position } = account.open();
    for (const one of [slice, trade]) expect(TradeSchema.parse(tradeBody(one))).toEqual(tradeBody(one));
    const body = positionBody(position, valuePosition(charged, position, decisionTime), usd("660.06"));
    expect(PositionSchema.parse(body)).toEqual(body);
    expect(body).toMatchObject({ current_price: "1.10000", gross_pnl: "-6.00", swap: "-3.72", floating_pnl: "-9.72" });
  });
});

describe("a close", () => {
  it.each([
    ["of more than is open", { lots: "1.01", price: "1.1" }, "validation_failed"],
    ["of nothing", { lots: "0", price: "1.1" }, "validation_failed"],
    ["of a part of a step", { lots: "0.001", price: "1.1" }, "validation_failed"],
    ["at no price", { price: "0" }, "invalid_price"],
    ["of no multiple of the step", { lots: "0.33", price: "1.1" }, "validation_failed", { lot_step: "0.05" }],
  ])("%s is refused", (_, request, code, terms: Partial<TradingSymbol> = {}) => {
    const account = desk();
    account.apply(executeTrade(account.state, charged, buyEuro, decisionContext()));
    const closing = { ...request, reason: "client" } as const;
    const market = someMarket({}, [someSymbol("EURUSD", terms)]);
    const decision = closeTrade(account.state, account.open(), market, closing, decisionContext());
    expect(refusalOf(decision)).toBe(code);
  });

  it("of a platform is booked whatever the step is, and so is a close of all that is left", () => {
    const coarse = someMarket({}, [someSymbol("EURUSD", { lot_step: "0.05" })]);
    const account = desk();
    account.apply(executeTrade(account.state, charged, buyEuro, decisionContext()));
    const deal = { lots: "0.33", price: "1.1", reason: "platform", platform: {} } as const;
    account.apply(closeTrade(account.state, account.open(), coarse, deal, decisionContext()));
    expect(account.open().position.lots).toBe("0.67");
    account.apply(
      closeTrade(account.state, account.open(), coarse, { price: "1.1", reason: "client" }, decisionContext()),
    );
    expect(account.positions.size).toBe(0);
  });

  it("decided before another one fails at the commit, so nothing is closed twice", () => {
    const account = desk();
    account.apply(executeTrade(account.state, charged, buyEuro, decisionContext()));
    const close = () =>
      closeTrade(account.state, account.open(), charged, { price: "1.1", reason: "client" }, decisionContext());
    const twice = close();
    account.apply(close());
    expect(() => account.apply(twice)).toThrow(/no longer as it was decided on/);
  });

  it("books the platform's money and keeps our own in addition to it", () => {
    const account = desk();
    account.apply(executeTrade(account.state, charged, buyEuro, decisionContext()));
    const platform = { gross_minor: usd("135.97"), commission_minor: usd("-1.39"), swap_minor: usd("-2.50") };
    const { trade } = account.apply(
      closeTrade(
        account.state,
        account.open(),
        charged,
        { lots: "0.40", price: "1.10350", reason: "platform", platform, at: "2026-11-21T06:00:00.000Z" },
        decisionContext(),
      ),
    );
    expect(trade).toMatchObject({
      pnl_source: "platform",
      gross_minor: usd("135.97"),
      service_gross_minor: usd("136.00"),
      close_reason: "platform",
      close_at: "2026-11-21T06:00:00.000Z",
    });
    expect(account.balance.balance_minor).toBe(usd("9996.50") + usd("135.97") - usd("1.39") - usd("2.50"));
    expect(account.open().position.swap_minor).toBe(0n);
  });

  it.each([
    [true, "0.00", ["trade.opened", "trade.closed", "transaction.created", "transaction.completed"]],
    [false, "-104.00", ["trade.opened", "trade.closed"]],
  ])("that leaves a debt, protected: %s, ends at %s", (negative_balance_protection, end, announced) => {
    const account = desk("500.00", { negative_balance_protection });
    const market = someMarket();
    account.apply(executeTrade(account.state, market, { ...buyEuro, lots: "0.40" }, decisionContext()));
    const closing = { price: "1.08500", reason: "client" } as const;
    account.apply(closeTrade(account.state, account.open(), market, closing, decisionContext()));
    expect(account.balance.balance_minor).toBe(usd(end));
    expect(account.announced.filter((type) => type !== "transaction.updated")).toEqual(announced);
    expect(account.transactions).toHaveLength(negative_balance_protection ? 1 : 0);
  });
});

describe("a netting position that is raised under other terms takes the margin of both parts", () => {
  const gold = (margin_factor: string) =>
    someMarket({}, [someSymbol("XAUUSD", { calc_mode: "cfd", contract_size: "100", digits: 2, margin_factor })]);
  it.each([
    ["1", "100.00", "10", "200.00", "2100.00"],
    ["1", "2000.00", "10", "1000.00", "12000.00"],
    ["10", "2000.00", "1", "1900.00", "21900.00"],
    ["3", "2000.00", "1", "1900.00", "7900.00"],
  ])("factor %s at %s, then factor %s at %s: %s", (first, price, second, raise, expected) => {
    const account = desk("1000000.00", { position_mode: "netting", margin_calculation: "net" });
    const deal = { symbol: "XAUUSD", side: "buy", lots: "1.00", source: "internal" } as const;
    account.apply(executeTrade(account.state, gold(first), { ...deal, price }, decisionContext()));
    const { state } = account;
    account.apply(executeTrade(state, gold(second), { ...deal, price: raise }, decisionContext()));
    expect(account.balance.used_margin_minor).toBe(usd(expected));
  });
});

describe("an account with a profit that there is no way to convert", () => {
  const account = desk("10000.00");
  account.apply(
    openAtMarket(account.state, someMarket(), { symbol: "EURGBP", side: "buy", lots: "0.10" }, decisionContext()),
  );
  const unquoted = someMarket({ GBPUSD: undefined });
  const cutOff = { ...unquoted, symbols: new Map([...unquoted.symbols].filter(([name]) => name !== "GBPUSD")) };
  const missing = {
    code: "no_conversion_path",
    detail: "The profit of EURGBP cannot be converted from GBP to USD.",
    extra: { symbol: "EURGBP", from: "GBP", to: "USD" },
  };

  it("opens no trade, and the answer names the missing way and no retry", () => {
    const request = { symbol: "EURUSD", side: "buy", lots: "0.10" } as const;
    expect(openAtMarket(account.state, cutOff, request, decisionContext())).toMatchObject({ refusal: missing });
  });

  it("is answered with a retry while the pair is there and only has no price yet", () => {
    const request = { symbol: "EURUSD", side: "buy", lots: "0.10" } as const;
    const opening = openAtMarket(account.state, unquoted, request, decisionContext());
    expect(opening).toMatchObject({ refusal: { code: "metrics_stale" } });
  });

  it("closes a trade and opens a first one as soon as the pair has a price, and not before", () => {
    const closing = { price: "0.85000", reason: "client" } as const;
    const close = (market: Market) => closeTrade(account.state, account.open(), market, closing, decisionContext());
    const pounds = someSymbol("EURUSD", { commission: { type: "per_lot", amount: "3.00", currency: "GBP" } });
    const charging = (market: Market) => ({ ...market, symbols: new Map([...market.symbols, ["EURUSD", pounds]]) });
    const first = (market: Market) =>
      executeTrade(desk("10000.00").state, charging(market), { ...buyEuro, lots: "0.10" }, decisionContext());
    for (const decide of [close, first]) {
      expect(decide(unquoted)).toMatchObject({ refusal: { code: "no_quote" } });
      expect(decide(cutOff)).toMatchObject({ refusal: { code: "no_conversion_path" } });
      expect(decide(someMarket()).ok).toBe(true);
    }
  });

  it("gets no higher margin and is not driven to a level", () => {
    const owned = { account: account.account, balance: account.balance, client: someClient() };
    const lower = amendHoldings(
      owned,
      { ...account.state, risk: undefined },
      { leverage: 5 },
      cutOff,
      decisionContext(),
    );
    expect(lower).toMatchObject({ refusal: missing });
    const driven = driveTo(account.state, cutOff, { margin_level: "80.00", symbol: "EURGBP" }, decisionTime);
    expect(driven).toMatchObject({ refusal: missing });
  });

  it("keeps its pending orders until there is a way", () => {
    const limit = { symbol: "EURUSD", side: "buy", type: "limit", lots: "0.10", price: "1.09000" } as const;
    const order = account.apply(placeOrder(account.state, someMarket(), limit, decisionContext()));
    const at = {
      ...cutOff,
      quotes: new Map([...cutOff.quotes, ["EURUSD", someQuote("EURUSD", ["1.08980", "1.08990"])]]),
    };
    expect(fillOrder(account.state, order, at, decisionContext())).toMatchObject({ ok: false, refusal: missing });
  });
});
