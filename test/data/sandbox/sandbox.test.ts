import { describe, expect, it } from "vitest";
import { orders as orderEntity, positions as positionEntity, tradePosition } from "../../../shared/table/entities.ts";
import { changeItem } from "../../../shared/table/items.ts";
import { atOnce } from "../../support/builders/brokerage.ts";
import { someOrder } from "../../support/builders/trading.ts";
import { putItem, putQuote } from "../../support/builders/trading-data.ts";
import { api, broker, euroAt, open, place, post, quote, setPrices, tenant_id, trader } from "./sandbox-cases.ts";

describe("prices are not set, none of them,", () => {
  it.each([
    ["of a symbol that there is none of", { symbol: "NOSUCH", bid: "1" }, 404, "symbol_not_found", "#/prices/1/symbol"],
    ["twice of one symbol", { symbol: "GBPUSD", bid: "1.2" }, 422, "validation_failed", "#/prices/1/symbol"],
    ["without a price", { symbol: "EURUSD" }, 422, "validation_failed", "#/prices/1"],
    [
      "that stand after a seed",
      { symbol: "EURUSD", bid: "1.1", seed: "7" },
      422,
      "validation_failed",
      "#/prices/1/seed",
    ],
    ["crossed", { symbol: "EURUSD", bid: "1.2", ask: "1.1" }, 422, "validation_failed", "#/prices/1/bid"],
    ["of nothing", { symbol: "EURUSD", ask: "0.00000" }, 422, "validation_failed", "#/prices/1/ask"],
    ["below the spread", { symbol: "EURUSD", ask: "0.00010" }, 422, "validation_failed", "#/prices/1/ask"],
    ["with a digit too many", { symbol: "USDJPY", bid: "150.0001" }, 422, "validation_failed", "#/prices/1/bid"],
  ])("%s", async (_, price, status, code, pointer) => {
    const before = await quote("GBPUSD");
    const answer = await setPrices({ symbol: "GBPUSD", bid: "1.30000" }, price);
    expect(answer).toMatchObject({ status, body: { code, errors: [{ pointer }] } });
    expect((await quote("GBPUSD")).sequence).toBe(before.sequence);
  });

  it("of a market that is closed", async () => {
    expect(await setPrices({ symbol: "AAPL", bid: "200.00" })).toMatchObject({
      status: 409,
      body: { code: "market_closed" },
    });
  });
});

describe("a price of the sandbox", () => {
  it("is held: an hour later it is old, and not stale", async () => {
    const { stale, age_ms, source } = await quote("XAUUSD");
    expect([stale, source]).toEqual([false, "sandbox"]);
    expect(age_ms).toBeGreaterThan(3_500_000);
  });

  it("is where it was set, with the spread that it had where one side was named", async () => {
    const answer = await setPrices(
      { symbol: "USDJPY", bid: "151.5" },
      { symbol: "USDCHF", ask: "0.90000" },
      { symbol: "AUDUSD", bid: "0.65", ask: "0.65" },
    );
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.data).toMatchObject([
      { symbol: "USDJPY", bid: "151.500", ask: "151.520", sequence: "2" },
      { symbol: "USDCHF", bid: "0.89980", ask: "0.90000", sequence: "2" },
      { symbol: "AUDUSD", bid: "0.65000", ask: "0.65000", sequence: "2" },
    ]);
    expect(await quote("USDJPY")).toMatchObject({ bid: "151.500", ask: "151.520", stale: false, day_high: "151.500" });
  });

  it("takes the place of a feed's, and numbers its own from there", async () => {
    await putQuote(api, tenant_id, "UKOIL", ["80.00", "80.04"], { source: "mt5:live-1", sequence: "771" });
    const answer = await setPrices({ symbol: "UKOIL", bid: "79" });
    expect(answer.body.data).toMatchObject([{ bid: "79.00", ask: "79.04", sequence: "1" }]);
    expect(await quote("UKOIL")).toMatchObject({ source: "sandbox", stale: false });
  });

  it("is set as often as it is sent at once, or the answer says that it was not", async () => {
    const before = Number((await quote("BTCUSD")).sequence);
    const answers = await atOnce(8, (place) => setPrices({ symbol: "BTCUSD", bid: `${63_000 + place}.00` }));
    const set = answers.filter(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status !== 200).map(({ body }) => body.code)).toEqual(
      Array.from({ length: answers.length - set.length }, () => "service_unavailable"),
    );
    expect(Number((await quote("BTCUSD")).sequence)).toBe(before + set.length);
  });
});

describe("a trade is not opened", () => {
  it.each([
    ["on an account that there is none of", { account_id: "acc_01JD0000000000000000000009" }, 422, "account_not_found"],
    ["in a symbol that there is none of", { symbol: "NOSUCH" }, 404, "symbol_not_found"],
    ["in a closed market", { symbol: "AAPL", lots: "1" }, 409, "market_closed"],
    ["without the margin", { lots: "60.00" }, 409, "insufficient_margin"],
    ["in parts of a step", { lots: "0.015" }, 422, "validation_failed"],
    ["with a stop loss above a buy", { stop_loss: "1.20000" }, 422, "invalid_price"],
    ["with a take profit that is no price", { take_profit: "1.2000001" }, 422, "invalid_price"],
  ])("%s", async (_, more, status, code) => {
    const account = await trader();
    expect(await open(account, more)).toMatchObject({ status, body: { code } });
  });

  it("nor an order placed on an account of a platform, nor is it driven", async () => {
    const account = await trader("10000.00", { platform: "mt5", platform_login: "4711" });
    const platform = { status: 409, body: { code: "platform_account" } };
    expect(await open(account)).toMatchObject(platform);
    expect(await place(account, { price: "1.05000" })).toMatchObject(platform);
    expect(await post(`/sandbox/accounts/${account.id}/drive`, { margin_level: "80.00" })).toMatchObject(platform);
  });

  it("twice under one key", async () => {
    const account = await trader();
    const body = { account_id: account.id, symbol: "EURUSD", side: "sell", lots: "0.10" };
    const answers = await atOnce(3, () => post("/sandbox/trades", body, { "Idempotency-Key": account.id }));
    expect(new Set(answers.map(({ body: made }) => made.id)).size).toBe(1);
    expect((await broker.get(`/accounts/${account.id}/positions`)).data).toHaveLength(1);
  });
});

describe("a trade", () => {
  it("is opened at the ask, closed in part and whole at the bid, to the cent", async () => {
    await euroAt("1.10000");
    const account = await trader();
    const opened = await open(account, { stop_loss: "1.05", take_profit: "1.2" });
    expect(opened.status, opened.text).toBe(201);
    expect(opened.body).toMatchObject({ open_price: "1.10010", stop_loss: "1.05000", take_profit: "1.20000" });
    expect(opened.body).toEqual(await broker.get(`/trades/${opened.body.id}`));
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "9996.50", used_margin: "1100.10" });
    await euroAt("1.10350");
    const part = await post(`/sandbox/trades/${opened.body.id}/close`, { lots: "0.40" });
    expect(part).toMatchObject({
      status: 200,
      body: { gross_pnl: "136.00", commission: "-2.80", net_pnl: "133.20", parent_trade_id: opened.body.id },
    });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "10131.10", used_margin: "660.06" });
    const rest = await post(`/sandbox/trades/${opened.body.id}/close`, {});
    expect(rest.body).toMatchObject({ id: opened.body.id, status: "closed", lots: "0.60", close_reason: "client" });
    const again = await post(`/sandbox/trades/${opened.body.id}/close`, {});
    expect(again).toMatchObject({ status: 409, body: { code: "illegal_transition" } });
    expect((await broker.get(`/accounts/${account.id}/positions`)).data).toEqual([]);
  });

  it("is not closed with more lots than it has, nor when there is none", async () => {
    const account = await trader();
    const { body } = await open(account, { lots: "0.20" });
    const more = await post(`/sandbox/trades/${body.id}/close`, { lots: "0.30" });
    expect(more).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/lots" }] } });
    expect((await post("/sandbox/trades/trd_01JD0000000000000000000009/close", {})).status).toBe(404);
  });

  it("on a netting account raises, lowers and turns its position", async () => {
    await euroAt("1.10000");
    const account = await trader("10000.00", { position_mode: "netting" });
    await open(account);
    await open(account);
    const turned = await open(account, { side: "sell", lots: "2.50" });
    expect(turned.body).toMatchObject({ side: "sell", lots: "0.50", status: "open" });
    const { data } = await broker.get(`/accounts/${account.id}/positions`);
    expect(data).toMatchObject([{ side: "sell", lots: "0.50" }]);
  });
});

describe("a pending order", () => {
  it.each([
    ["at a price that is reached", { price: "1.20000" }, 422, "invalid_price"],
    ["without its price", {}, 422, "invalid_price"],
    [
      "with an end and good till it is cancelled",
      { price: "1.05", time_in_force: "gtc", expires_at: "2099-01-01T00:00:00Z" },
      422,
      "validation_failed",
    ],
    ["that has ended", { price: "1.05", expires_at: "2020-01-01T00:00:00Z" }, 422, "validation_failed"],
    ["in a symbol that there is none of", { symbol: "NOSUCH", price: "1" }, 404, "symbol_not_found"],
    [
      "on an account that there is none of",
      { account_id: "acc_01JD0000000000000000000009", price: "1" },
      422,
      "account_not_found",
    ],
  ])("is not placed %s", async (_, more, status, code) => {
    expect(await place(await trader(), more)).toMatchObject({ status, body: { code } });
  });

  it("is filled when its price comes, at the newest, and announces a trade; before, it waits", async () => {
    await euroAt("1.10000");
    const account = await trader();
    const placed = await place(account, { price: "1.09", stop_loss: "1.08" });
    expect(placed).toMatchObject({ status: 201, body: { price: "1.09000", status: "pending", time_in_force: "gtc" } });
    expect((await euroAt("1.09000")).body.effects).toMatchObject({ orders_filled: [] });
    const { body } = await euroAt("1.08980");
    expect(body.effects).toMatchObject({ orders_filled: [placed.body.id], complete: true });
    const order = await broker.get(`/orders/${placed.body.id}`);
    expect(order).toMatchObject({ status: "filled", version: 2 });
    expect(await broker.get(`/trades/${order.trade_id}`)).toMatchObject({
      open_price: "1.08990",
      order_id: order.id,
      stop_loss: "1.08000",
    });
  });

  it("is filled before any index shows it, and its stop acts before one shows the position", async () => {
    await euroAt("1.10000");
    const account = await trader();
    const placed = await place(account, { price: "1.09", stop_loss: "1.08" });
    await changeItem(orderEntity.key(tenant_id, placed.body.id), { remove: ["state_pk", "state_sk"] });
    const { body } = await euroAt("1.08980");
    expect(body.effects).toMatchObject({ orders_filled: [placed.body.id], complete: true });
    const { trade_id } = await broker.get(`/orders/${placed.body.id}`);
    const position = positionEntity.key(tenant_id, account.id, tradePosition(String(trade_id)));
    await changeItem(position, { remove: ["client_pk", "client_sk"] });
    expect((await euroAt("1.07900")).body.effects).toMatchObject({
      trades_closed: expect.arrayContaining([trade_id]),
    });
    expect((await euroAt("1.07800")).body.effects).toMatchObject({ trades_closed: [], orders_filled: [] });
  });

  it("of every type and side is filled by the price that it waits for, in one call", async () => {
    await euroAt("1.10000");
    const account = await trader("50000.00");
    const wanted = [
      { side: "sell", type: "limit", price: "1.11000" },
      { side: "buy", type: "stop", price: "1.11000" },
      { side: "buy", type: "stop_limit", stop_price: "1.10500", limit_price: "1.12000" },
    ];
    const rising = await Promise.all(wanted.map((each) => place(account, each)));
    const below = await place(account, { side: "sell", type: "stop", price: "1.09000" });
    const { body } = await euroAt("1.11000");
    expect(body.effects.orders_filled.toSorted()).toEqual(rising.map((each) => each.body.id).toSorted());
    expect((await euroAt("1.08000")).body.effects.orders_filled).toEqual([below.body.id]);
  });

  it("with a stop and a limit waits for the limit once its stop was met", async () => {
    await euroAt("1.10000");
    const account = await trader();
    const placed = await place(account, { type: "stop_limit", stop_price: "1.10500", limit_price: "1.10600" });
    expect((await euroAt("1.10800")).body.effects.orders_filled).toEqual([]);
    expect((await euroAt("1.10500")).body.effects.orders_filled).toEqual([placed.body.id]);
  });

  it("is rejected when its price comes and the margin is not there", async () => {
    await euroAt("1.10000");
    const account = await trader("100.00");
    const placed = await place(account, { lots: "5.00", price: "1.09" });
    expect((await euroAt("1.08900")).body.effects.orders_ended).toEqual([placed.body.id]);
    const rejected = { status: "rejected", reject_reason: "insufficient_margin" };
    expect(await broker.get(`/orders/${placed.body.id}`)).toMatchObject(rejected);
    const again = await post(`/sandbox/orders/${placed.body.id}/cancel`, undefined);
    expect(again).toMatchObject({ status: 409, body: { code: "illegal_transition" } });
  });

  it("is cancelled, once, and never filled after", async () => {
    await euroAt("1.10000");
    const placed = await place(await trader(), { price: "1.09" });
    for (const _ of [1, 2]) {
      const cancelled = await post(`/sandbox/orders/${placed.body.id}/cancel`, undefined);
      expect(cancelled).toMatchObject({ status: 200, body: { status: "cancelled", version: 2 } });
    }
    expect((await euroAt("1.08000")).body.effects).toMatchObject({ orders_filled: [], orders_ended: [] });
  });

  it("is left to its owner where a platform holds it", async () => {
    await euroAt("1.10000");
    const account = await trader();
    const order = someOrder({
      tenant_id,
      account_id: account.id,
      client_id: account.client_id,
      source: "mt5:live-1",
      price: "1.10500",
    });
    await putItem(api, orderEntity, order);
    expect((await euroAt("1.10600")).body.effects).toMatchObject({
      orders_filled: [],
      orders_ended: [],
      complete: true,
    });
    const cancelled = await post(`/sandbox/orders/${order.id}/cancel`, undefined);
    expect(cancelled).toMatchObject({ status: 409, body: { code: "platform_account" } });
    expect(await broker.get(`/orders/${order.id}`)).toMatchObject({ status: "pending" });
  });
});

describe("a stop loss and a take profit", () => {
  it.each([
    ["a buy at its stop loss", { stop_loss: "1.09500", take_profit: "1.12000" }, "1.09500", "stop_loss"],
    ["a buy at its take profit", { stop_loss: "1.09500", take_profit: "1.12000" }, "1.12050", "take_profit"],
    ["a sell at its stop loss", { side: "sell", stop_loss: "1.10500" }, "1.10490", "stop_loss"],
    ["a sell at its take profit", { side: "sell", take_profit: "1.09500" }, "1.09490", "take_profit"],
  ])("close %s, and not before", async (_, more, bid, reason) => {
    await euroAt("1.10000");
    const { body: trade } = await open(await trader(), { lots: "0.10", ...more });
    expect((await euroAt("1.10020")).body.effects.trades_closed).toEqual([]);
    expect((await euroAt(bid)).body.effects.trades_closed).toEqual([trade.id]);
    expect(await broker.get(`/trades/${trade.id}`)).toMatchObject({ status: "closed", close_reason: reason });
  });
});
