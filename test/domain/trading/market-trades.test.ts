import { describe, expect, it } from "vitest";
import { draftTenant } from "../../../shared/domain/access/tenant.ts";
import { requestWithdrawal } from "../../../shared/domain/money/request.ts";
import { accrueSwap } from "../../../shared/domain/trading/accrue-swap.ts";
import { metricsAt } from "../../../shared/domain/trading/margin.ts";
import { closeAtMarket, exitReason, openAtMarket } from "../../../shared/domain/trading/market-trade.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decisionContext, decisionTime, someClient } from "../../support/builders/decisions.ts";
import { someMarket, someQuote, someSymbol, tradingAccount, usd } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";
import { buyEuro, desk, refusalOf } from "./trades-cases.ts";

describe("a hold and an opening trade that were decided concurrently", () => {
  const request = { symbol: "EURUSD", side: "buy", lots: "1.00" } as const;
  const decided = () => {
    const account = desk("1500.00");
    const { account: profile, balance } = account;
    const accountContext = { tenant: draftTenant(profile.tenant_id, decisionTime), account: profile, balance };
    const body = { account_id: profile.id, amount: "1400.00" };
    return {
      account,
      opening: openAtMarket(account.state, someMarket(), request, decisionContext()),
      hold: requestWithdrawal(someClient(), accountContext, body, decisionContext()),
    };
  };

  it.each(["hold", "opening"] as const)("are not both committed when the %s comes first", (first) => {
    const { account, opening, hold } = decided();
    const [one, other] = first === "hold" ? [hold, opening] : [opening, hold];
    account.apply<unknown>(one);
    expect(() => account.apply<unknown>(other)).toThrow("The balance is no longer as it was decided on");
    const { equity_minor, used_margin_minor } = metricsAt(someMarket(), account.state, decisionTime);
    expect(equity_minor - used_margin_minor - account.balance.held_minor >= 0n).toBe(true);
  });

  it("are both committed when what the opening is backed by is there all the same", () => {
    const { account, opening } = decided();
    const { balance } = account;
    account.balance = { ...balance, available_minor: balance.available_minor + 1n };
    expect(account.apply<unknown>(opening)).toBeDefined();
  });
});

describe("a trade at the newest price", () => {
  const request = { symbol: "EURUSD", side: "buy", lots: "1.00" } as const;
  const market = someMarket();
  const withSymbol = (fields: Parameters<typeof someSymbol>[1]) => someMarket({}, [someSymbol("EURUSD", fields)]);
  const old = { time: "2026-11-21T06:28:59.999Z", received_at: "2026-11-21T06:28:59.999Z" };
  const stale: Market = {
    ...market,
    quotes: new Map([...market.quotes, ["EURUSD", someQuote("EURUSD", ["1.1", "1.1"], old)]]),
  };

  it.each([
    ["on a disabled account", { status: "disabled" }, {}, market, {}, "account_disabled"],
    ["on a closed account", { status: "closed" }, {}, market, {}, "account_closed"],
    ["on an account that only closes", {}, { accepts: "close_only" }, market, {}, "account_close_only"],
    ["in a closed market", {}, {}, withSymbol({ sessions: [] }), {}, "market_closed"],
    ["in a halted market", {}, {}, withSymbol({ halted: true }), {}, "market_closed"],
    ["of a symbol that only closes", {}, {}, withSymbol({ trading_mode: "close_only" }), {}, "symbol_disabled"],
    ["of a symbol without a price", {}, {}, someMarket({ EURUSD: undefined }), {}, "no_quote"],
    ["at an old price", {}, {}, stale, {}, "metrics_stale"],
    ["with a stop loss above the price", {}, {}, market, { stop_loss: "1.10001" }, "invalid_price"],
    ["with a stop loss at the price", {}, {}, market, { stop_loss: "1.10000" }, "invalid_price"],
    ["with a take profit below it", {}, {}, market, { take_profit: "1.09999" }, "invalid_price"],
    ["with a stop too near", {}, {}, withSymbol({ stops_level: 50 }), { stop_loss: "1.09951" }, "invalid_price"],
    ["without the margin", {}, {}, market, { lots: "10.00" }, "insufficient_margin"],
  ] as const)("%s is refused", (_, fields, money, on, more, code) => {
    const account = new TradingDesk(tradingAccount("10000.00", fields, money));
    expect(refusalOf(openAtMarket(account.state, on, { ...request, ...more }, decisionContext()))).toBe(code);
  });

  it("of a suspended client is refused", () => {
    const state = { ...desk().state, client: { status: "suspended" } as const };
    expect(refusalOf(openAtMarket(state, market, request, decisionContext()))).toBe("client_suspended");
  });

  it("is done at the ask, with stops at their nearest", () => {
    const account = desk();
    const stops = { stop_loss: "1.09950", take_profit: "1.10050" };
    const near = withSymbol({ stops_level: 50 });
    const { trade } = account.apply(openAtMarket(account.state, near, { ...request, ...stops }, decisionContext()));
    expect(trade).toMatchObject({ open_price: "1.10010", ...stops });
  });

  it("needs the margin to the last cent, its spread included", () => {
    const need = usd("1100.10") + usd("10.00");
    for (const [cents, code] of [
      [need - 1n, "insufficient_margin"],
      [need, undefined],
    ] as const) {
      const account = new TradingDesk(tradingAccount("0.00", {}, { balance_minor: cents, available_minor: cents }));
      expect(refusalOf(openAtMarket(account.state, market, request, decisionContext()))).toBe(code);
    }
  });

  it("that takes no more margin is done without any that is free", () => {
    const account = desk("1110.10");
    account.apply(openAtMarket(account.state, market, request, decisionContext()));
    const hedge = { ...request, side: "sell" } as const;
    account.apply(openAtMarket(account.state, market, hedge, decisionContext()));
    expect(account.positions.size).toBe(2);
  });

  it("is closed at the bid, unless the market is closed", () => {
    const account = desk();
    account.apply(openAtMarket(account.state, market, request, decisionContext()));
    const close = (on: Market) =>
      closeAtMarket(account.state, account.open(), on, { reason: "client" }, decisionContext());
    expect(refusalOf(close(withSymbol({ sessions: [] })))).toBe("market_closed");
    expect(refusalOf(close(stale))).toBe("metrics_stale");
    expect(account.apply(close(market)).trade).toMatchObject({ close_price: "1.10000", gross_minor: usd("-10.00") });
  });
});

describe("stop loss and take profit", () => {
  const quote = someQuote("EURUSD", ["1.10000", "1.10010"]);

  it.each([
    ["buy", "1.10000", null, "stop_loss"],
    ["buy", "1.09999", "1.10001", undefined],
    ["buy", null, "1.10000", "take_profit"],
    ["sell", "1.10010", null, "stop_loss"],
    ["sell", "1.10011", "1.10009", undefined],
    ["sell", null, "1.10010", "take_profit"],
    ["buy", "1.10000", "1.10000", "stop_loss"],
    ["sell", null, null, undefined],
  ] as const)("of a %s at %s and %s: %s", (side, stop_loss, take_profit, reason) => {
    expect(exitReason({ side, stop_loss, take_profit }, quote)).toBe(reason);
  });
});

describe("V23: a netting account", () => {
  const netting = { position_mode: "netting", margin_calculation: "net" } as const;
  const market = someMarket();

  it("averages on an increase, realises against the average on a decrease", () => {
    const account = desk("10000.00", netting);
    const trade = (side: "buy" | "sell", lots: string, price: string) =>
      account.apply(executeTrade(account.state, market, { ...buyEuro, side, lots, price }, decisionContext()));
    trade("buy", "1.00", "1.10010");
    expect(trade("buy", "1.00", "1.10210").position).toMatchObject({ lots: "2.00", open_price: "1.10110" });
    const { closed, position } = trade("sell", "1.50", "1.10300");
    expect(closed).toMatchObject([{ gross_minor: usd("285.00"), lots: "1.50", close_reason: "partial_close" }]);
    expect(position).toMatchObject({ side: "buy", lots: "0.50" });
    expect(account.open().trade).toMatchObject({ lots: "0.50", initial_lots: "2.00", version: 3 });
    expect(account.announced).toEqual(["trade.opened", "trade.opened", "trade.closed"]);
  });

  it("turns round: closes all and opens the rest on the other side", () => {
    const account = desk("10000.00", netting);
    account.apply(executeTrade(account.state, market, buyEuro, decisionContext()));
    const flip = { ...buyEuro, side: "sell", lots: "1.50", price: "1.10110" } as const;
    const { closed, trade } = account.apply(executeTrade(account.state, market, flip, decisionContext()));
    expect(closed).toMatchObject([{ gross_minor: usd("100.00"), close_reason: "client", lots: "1.00" }]);
    expect(trade).toMatchObject({ side: "sell", lots: "0.50", open_price: "1.10110" });
    expect(account.positions.size).toBe(1);
    const flat = { ...buyEuro, lots: "0.50" } as const;
    expect(account.apply(executeTrade(account.state, market, flat, decisionContext())).trade).toBeUndefined();
    expect(account.positions.size).toBe(0);
    expect(account.balance).toMatchObject({ used_margin_minor: 0n, positions: 0 });
  });
});

describe("swap", () => {
  it("that a platform reports moves no money before the close, and of nothing changes nothing", () => {
    const yen = someMarket({}, [
      someSymbol("EURUSD", {
        swap: { type: "points", long: "-6.2", short: "1", triple_day: "wednesday", rollover_time: "22:00" },
      }),
    ]);
    const account = desk();
    account.apply(executeTrade(account.state, yen, buyEuro, decisionContext()));
    expect(accrueSwap(account, account.open(), 0n, decisionContext())).toMatchObject({ ok: true, changes: [] });
    const positions = account.balance.pos_version;
    account.apply(accrueSwap(account, account.open(), usd("-6.20"), decisionContext()));
    expect(account.balance).toMatchObject({ pos_version: positions + 1, balance_minor: usd("10000.00") });
  });
});
