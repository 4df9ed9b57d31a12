import { describe, expect, it } from "vitest";
import type { Order } from "../../../shared/domain/records/order.ts";
import {
  cancelOrder,
  expireOrder,
  fillOrder,
  type OrderRequest,
  orderBody,
  placeOrder,
  reachStop,
  triggerOf,
} from "../../../shared/domain/trading/order.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { draftRisk } from "../../../shared/domain/trading/risk.ts";
import { Order as OrderSchema } from "../../../shared/schema/order.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { someMarket, someQuote, someSymbol, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

const market = someMarket();
const limit: OrderRequest = { symbol: "EURUSD", side: "buy", type: "limit", lots: "1", price: "1.09000" };

function desk(fields = {}, money = {}) {
  return new TradingDesk(tradingAccount("10000.00", fields, money));
}

function place(account: TradingDesk, request: OrderRequest, on = market): Order {
  return account.apply(placeOrder(account.state, on, request, decisionContext()));
}

/** The market with EURUSD at these two prices. */
const euroAt = (bid: string, ask: string): Market => someMarket({ EURUSD: [bid, ask] });

describe("an order is refused", () => {
  const only = (fields: Parameters<typeof someSymbol>[1]) => someMarket({}, [someSymbol("EURUSD", fields)]);

  it.each([
    ["on a disabled account", { status: "disabled" }, {}, market, {}, "account_disabled"],
    ["on a closed account", { status: "closed" }, {}, market, {}, "account_closed"],
    ["on an account that only closes", {}, { accepts: "close_only" }, market, {}, "account_close_only"],
    ["of an unknown symbol", {}, {}, market, { symbol: "XXXYYY" }, "symbol_not_found"],
    ["of a symbol that only closes", {}, {}, only({ trading_mode: "close_only" }), {}, "symbol_disabled"],
    ["of a symbol without a price", {}, {}, someMarket({ EURUSD: undefined }), {}, "no_quote"],
    ["of half a step", {}, {}, market, { lots: "0.015" }, "validation_failed"],
    ["of too many lots", {}, {}, market, { lots: "101" }, "validation_failed"],
    ["without its price", {}, {}, market, { price: null }, "invalid_price"],
    ["with a price of another type", {}, {}, market, { limit_price: "1.1" }, "invalid_price"],
    ["with a digit too many", {}, {}, market, { price: "1.090001" }, "invalid_price"],
    ["as a limit at the market", {}, {}, market, { price: "1.10010" }, "invalid_price"],
    ["as a stop below the market", {}, {}, market, { type: "stop" }, "invalid_price"],
    ["as a stop limit without a limit", {}, {}, market, { type: "stop_limit", price: null }, "invalid_price"],
    ["with its stop loss above its price", {}, {}, market, { stop_loss: "1.09001" }, "invalid_price"],
    ["good till a date without one", {}, {}, market, { time_in_force: "gtd" }, "validation_failed"],
    ["good till now", {}, {}, market, { time_in_force: "gtd", expires_at: decisionTime }, "validation_failed"],
  ] as const)("%s", (_, fields, money, on, request, code) => {
    const decision = placeOrder(desk(fields, money).state, on, { ...limit, ...request }, decisionContext());
    expect(decision).toMatchObject({ ok: false, refusal: { code } });
  });
});

describe("a new order", () => {
  it("waits, reserves no margin, and is shown in the shape that is published", () => {
    const account = desk();
    const order = place(account, limit);
    expect(order).toMatchObject({ lots: "1.00", price: "1.09000", status: "pending", time_in_force: "gtc" });
    expect(account.balance).toMatchObject({ used_margin_minor: 0n, pos_version: 0, seq: 0 });
    expect(OrderSchema.parse(orderBody(order))).toEqual(orderBody(order));
  });

  it("decided before the account was disabled fails at the commit", () => {
    const account = desk();
    const decision = placeOrder(account.state, market, limit, decisionContext());
    account.balance = { ...account.balance, accepts: "none" };
    expect(() => account.apply(decision)).toThrow(/accepts/);
  });

  it("of a day ends with the UTC day, of a date at that date", () => {
    expect(place(desk(), { ...limit, time_in_force: "day" }).expires_at).toBe("2026-11-22T00:00:00.000Z");
    const dated = { ...limit, time_in_force: "gtd", expires_at: "2026-12-01T01:00:00+01:00" } as const;
    expect(place(desk(), dated).expires_at).toBe("2026-12-01T00:00:00.000Z");
  });
});

describe("an order is met by the market", () => {
  it.each([
    ["buy", "limit", "1.09000", ["1.08990", "1.09001"], undefined],
    ["buy", "limit", "1.09000", ["1.08990", "1.09000"], "fill"],
    ["sell", "limit", "1.12000", ["1.11999", "1.12010"], undefined],
    ["sell", "limit", "1.12000", ["1.12000", "1.12010"], "fill"],
    ["buy", "stop", "1.12000", ["1.11990", "1.11999"], undefined],
    ["buy", "stop", "1.12000", ["1.11990", "1.12000"], "fill"],
    ["sell", "stop", "1.09000", ["1.09001", "1.09010"], undefined],
    ["sell", "stop", "1.09000", ["1.09000", "1.09010"], "fill"],
  ] as const)("%s %s at %s with %j: %s", (side, type, price, prices, trigger) => {
    const order = place(desk(), { ...limit, side, type, price });
    expect(triggerOf(order, someQuote("EURUSD", prices))).toBe(trigger);
  });

  it("first at its stop price and then at its limit, when it has both", () => {
    const account = desk();
    const request = { symbol: "EURUSD", side: "buy", type: "stop_limit", lots: "0.10" } as const;
    const order = place(account, { ...request, stop_price: "1.12000", limit_price: "1.11500" });
    const below = someQuote("EURUSD", ["1.11490", "1.11500"]);
    const above = someQuote("EURUSD", ["1.12000", "1.12010"]);
    expect(triggerOf(order, below)).toBeUndefined();
    expect(triggerOf(order, above)).toBe("stop_reached");
    const reached = account.apply(reachStop(order, decisionContext()));
    expect(triggerOf(reached, above)).toBeUndefined();
    expect(triggerOf(reached, below)).toBe("fill");
    expect(orderBody(reached)).not.toHaveProperty("stop_reached");
  });
});

describe("a fill", () => {
  it("opens the trade at the newest price, which is the order's or better for a limit", () => {
    const account = desk();
    const order = place(account, { ...limit, stop_loss: "1.08000" });
    const on = euroAt("1.08980", "1.08990");
    const { order: filled, executed } = account.apply(fillOrder(account.state, order, on, decisionContext()));
    expect(executed?.trade).toMatchObject({ open_price: "1.08990", order_id: order.id, stop_loss: "1.08000" });
    expect(filled).toMatchObject({ status: "filled", trade_id: executed?.trade?.id, filled_at: decisionTime });
    expect(account.announced).toEqual(["trade.opened"]);
    expect(triggerOf(filled, someQuote("EURUSD", ["1.0", "1.0"]))).toBeUndefined();
  });

  it.each<[string, Partial<OrderRequest>, Parameters<typeof someSymbol>[1], Order["reject_reason"]]>([
    ["without the margin", { lots: "50" }, {}, "insufficient_margin"],
    ["in a closed market", {}, { sessions: [] }, "market_closed"],
    ["of a symbol that was disabled", {}, { trading_mode: "disabled" }, "symbol_disabled"],
    ["with a stop that the price has passed", { stop_loss: "1.08985" }, {}, "invalid_price"],
  ])("%s rejects the order", (_, fields, symbol, reason) => {
    const account = desk();
    const order = place(account, { ...limit, ...fields });
    const on = someMarket({ EURUSD: ["1.08980", "1.08990"] }, [someSymbol("EURUSD", symbol)]);
    const { order: after, executed } = account.apply(fillOrder(account.state, order, on, decisionContext()));
    expect(after).toMatchObject({ status: "rejected", reject_reason: reason, trade_id: null });
    expect([executed, account.positions.size, account.announced]).toEqual([undefined, 0, []]);
  });

  it("of a suspended client or a disabled account rejects the order", () => {
    const account = desk();
    const order = place(account, limit);
    const on = euroAt("1.08980", "1.08990");
    const disabled = { ...account.state, account: { ...account.account, status: "disabled" } } as const;
    for (const state of [{ ...account.state, client: { status: "suspended" } } as const, disabled]) {
      const decision = fillOrder(state, order, on, decisionContext());
      expect(decision).toMatchObject({ ok: true, result: { order: { reject_reason: "account_disabled" } } });
    }
  });

  it("at an old price, or while the account is liquidated, leaves the order pending", () => {
    const account = desk();
    const order = place(account, limit);
    const old = { time: "2026-11-21T06:00:00.000Z" };
    const quotes = new Map([...market.quotes, ["EURUSD", someQuote("EURUSD", ["1.0", "1.0"], old)]]);
    const stale = fillOrder(account.state, order, { ...market, quotes }, decisionContext());
    expect(stale).toMatchObject({ ok: false, refusal: { code: "metrics_stale" } });
    const run = { started_at: decisionTime, closed_trade_ids: [], steps: 1, before: {} as never };
    const risk = { ...draftRisk(account.account, decisionContext()), run };
    const running = fillOrder({ ...account.state, risk }, order, market, decisionContext());
    expect(running).toMatchObject({ ok: false, refusal: { code: "liquidation_in_progress" } });
  });
});

describe("the end of an order", () => {
  it("comes by a cancel or by its time, once", () => {
    const account = desk();
    const order = place(account, { ...limit, time_in_force: "day" });
    expect(expireOrder(order, decisionContext())).toBeUndefined();
    const late = decisionContext({ now: "2026-11-22T00:00:00.000Z" });
    expect(expireOrder(order, late)).toMatchObject({ result: { status: "expired" } });
    const cancelled = account.apply(cancelOrder(order, decisionContext()));
    expect(cancelled).toMatchObject({ status: "cancelled", version: 2 });
    expect(expireOrder(cancelled, late)).toBeUndefined();
    expect(cancelOrder(cancelled, decisionContext())).toMatchObject({ changes: [], result: { status: "cancelled" } });
  });
});
