import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { seedQuotes, seedSymbols } from "../../../shared/domain/sandbox/seed.ts";
import type { PriceWalk } from "../../../shared/domain/sandbox/walk.ts";
import {
  orders as orderEntity,
  priceWalks,
  quotes as quoteEntity,
  type StoredQuote,
  symbols as symbolEntity,
} from "../../../shared/table/entities.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { someOrder } from "../../support/builders/trading.ts";
import { putItem, putQuote } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(async () => {
  api.watched.interfere = () => undefined;
  expect(await findings(api.emulator)).toEqual([]);
});

const caller = newCaller();
const broker = brokerage(api, caller);
const { tenant_id } = caller;
const begun = new Date(Date.now() - 3_600_000).toISOString();
for (const symbol of seedSymbols(tenant_id, begun)) {
  // The share keeps the hours of its exchange; here its market is open whenever the tests run.
  const sessions = symbol.symbol === "AAPL" ? [] : symbol.sessions;
  await putItem(api, symbolEntity, { ...symbol, sessions });
}
for (const quote of seedQuotes(begun)) await putItem(api, quoteEntity, { ...quote, tenant_id });

const post = (address: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call(caller, "POST", address, { body, headers });
const setPrices = (...prices: object[]) => post("/sandbox/prices", { prices });
const quote = (symbol: string) => broker.get(`/quotes/${symbol}`);

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

const open = (account: { id: string }, more: object = {}) =>
  post("/sandbox/trades", { account_id: account.id, symbol: "EURUSD", side: "buy", lots: "1.00", ...more });
const place = (account: { id: string }, more: object = {}) =>
  post("/sandbox/orders", {
    account_id: account.id,
    symbol: "EURUSD",
    side: "buy",
    type: "limit",
    lots: "0.10",
    ...more,
  });
/** Sets EURUSD to a bid, with the ask a pip above. */
const euroAt = (bid: string) => setPrices({ symbol: "EURUSD", bid, ask: (Number(bid) + 0.0001).toFixed(5) });
const trader = (amount = "10000.00", more: object = {}) =>
  broker.account(amount, { type: "demo", leverage: 100, ...more });

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

describe("one call of prices", () => {
  it("acts on no more than its bound and says so; the next goes on", async () => {
    await euroAt("1.10000");
    const account = await trader("100000.00");
    const placed = await atOnce(6, () => place(account, { lots: "0.01", price: "1.09000" }));
    expect(new Set(placed.map(({ status }) => status))).toEqual(new Set([201]));
    const { actOn } = await import("../../../shared/sandbox/matching.ts");
    const { systemContext } = await import("../../../shared/table/context.ts");
    api.watched.interfere = () => undefined;
    const attempted = { tenant_id, newContext: () => systemContext(tenant_id, "test"), remainingMs: () => 30_000 };
    const before = await euroAt("1.09500");
    expect(before.body.effects.orders_filled).toEqual([]);
    const { readQuoted } = await import("../../../shared/trading/market.ts");
    await putQuote(api, tenant_id, "EURUSD", ["1.08900", "1.08910"], { held: true });
    const { quotes } = await readQuoted(tenant_id, ["EURUSD"]);
    const first = await actOn(attempted, [...quotes.values()], 4);
    expect([first.orders_filled.length, first.complete]).toEqual([4, false]);
    const second = await actOn(attempted, [...quotes.values()], 4);
    expect([second.orders_filled.length, second.complete]).toEqual([2, true]);
    const slow = await actOn({ ...attempted, remainingMs: () => 1 }, [...quotes.values()], 4);
    expect(slow).toMatchObject({ orders_filled: [], complete: true });
  });
});

describe("a price that walks", async () => {
  const { stepWalks } = await import("../../../shared/sandbox/walks.ts");
  const { readRawItem } = await import("../../../shared/table/table.ts");
  const gold = (more: object) => setPrices({ symbol: "XAUUSD", bid: "2400.20", ask: "2400.50", ...more });
  const bid = async () => (await quote("XAUUSD")).bid;

  async function stored(): Promise<PriceWalk | undefined> {
    const { client, tableName } = api.emulator;
    const key = { pk: { S: `${tenant_id}|WALK` }, sk: { S: "XAUUSD" } };
    const { Item } = await client.send(new GetItemCommand({ TableName: tableName, Key: key, ConsistentRead: true }));
    return Item && readRawItem<PriceWalk>(Item as Parameters<typeof readRawItem>[0]);
  }

  /** Takes one step of every walk, as the schedule does: its time has come. */
  async function step() {
    const walk = await stored();
    if (walk !== undefined) {
      await putItem(api, priceWalks, { ...walk, wake_at: new Date(Date.now() - 1000).toISOString() });
    }
    return stepWalks(() => true);
  }

  it("takes the same way from the same price with the same seed, and another with another", async () => {
    const walked = async (seed: string) => {
      const { body } = await gold({ mode: "walk", seed });
      expect(body.data).toMatchObject([{ bid: "2400.20", mode: "walk", seed }]);
      const way: string[] = [];
      for (let steps = 0; steps < 4; steps += 1) {
        expect(await step()).toEqual({ done: 1, failed: 0 });
        way.push(await bid());
      }
      return way;
    };
    const first = await walked("7");
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(await walked("7")).toEqual(first);
    expect(await walked("8")).not.toEqual(first);
  });

  it("is due again when the schedule comes next, a minute later", async () => {
    await gold({ mode: "walk" });
    await step();
    const dueInMs = Date.parse((await stored())?.wake_at ?? "") - Date.now();
    expect(dueInMs).toBeGreaterThan(10_000);
    expect(dueInMs).toBeLessThan(50_000);
  });

  it("waits for its time, and stands again where it is set or frozen", async () => {
    await gold({ mode: "walk" });
    expect(await stepWalks(() => true)).toEqual({ done: 0, failed: 0 });
    await step();
    const there = await bid();
    const { body } = await setPrices({ symbol: "XAUUSD", mode: "frozen" });
    expect(body.data).toMatchObject([{ bid: there, mode: "frozen", seed: null }]);
    expect(await step()).toEqual({ done: 0, failed: 0 });
    expect(await bid()).toBe(there);
  });

  it("never comes after a price that is set while it takes its step", async () => {
    for (let round = 0; round < 4; round += 1) {
      await gold({ mode: "walk", seed: String(round) });
      await Promise.all([step(), setPrices({ symbol: "XAUUSD", bid: "2500.00" })]);
      expect(await bid()).toBe("2500.00");
      expect(await step()).toEqual({ done: 0, failed: 0 });
    }
  });

  it("dies between its price and its next step, and takes the same step again", async () => {
    await gold({ mode: "walk", seed: "7" });
    api.watched.interfere = ({ operation }) =>
      operation === "TransactWriteItems" ? { status: 500, body: { __type: "InternalServerError" } } : undefined;
    expect(await step()).toEqual({ done: 0, failed: 1 });
    api.watched.interfere = () => undefined;
    const there = await bid();
    expect(await step()).toEqual({ done: 1, failed: 0 });
    expect(await bid()).toBe(there);
  });
});

describe("prices that come by the stream", async () => {
  const { matchQuotes } = await import("../../../shared/sandbox/matching.ts");
  const record = (symbol: string, sequence: string) => ({
    sequence,
    quote: { tenant_id, symbol } as StoredQuote,
  });

  it("fill orders and close at stops at the newest price, once, whoever is first", async () => {
    await euroAt("1.10000");
    const account = await trader();
    const placed = await place(account, { price: "1.09000" });
    const { body: trade } = await open(account, { lots: "0.10", stop_loss: "1.09500" });
    await putQuote(api, tenant_id, "EURUSD", ["1.08900", "1.08910"], { source: "mt5:live-1" });
    const match = () => matchQuotes([record("EURUSD", "1"), record("EURUSD", "2")], () => 30_000);
    const failed = await Promise.all([match(), match()]);
    expect(failed.map((each) => each.size)).toEqual([0, 0]);
    expect(await broker.get(`/orders/${placed.body.id}`)).toMatchObject({ status: "filled", version: 2 });
    expect(await broker.get(`/trades/${trade.id}`)).toMatchObject({ close_reason: "stop_loss", version: 2 });
    expect((await broker.get(`/accounts/${account.id}/positions`)).data).toHaveLength(1);
  });

  it("come again while there is no time, or the table fails", async () => {
    await euroAt("1.10000");
    const placed = await place(await trader(), { price: "1.09000" });
    await putQuote(api, tenant_id, "EURUSD", ["1.08900", "1.08910"]);
    expect([...(await matchQuotes([record("EURUSD", "1")], () => 1))]).toEqual(["1"]);
    api.watched.interfere = ({ operation }) =>
      operation === "TransactWriteItems" ? { status: 500, body: { __type: "InternalServerError" } } : undefined;
    expect([...(await matchQuotes([record("EURUSD", "2")], () => 30_000))]).toEqual(["2"]);
    api.watched.interfere = () => undefined;
    expect((await matchQuotes([record("EURUSD", "3")], () => 30_000)).size).toBe(0);
    expect(await broker.get(`/orders/${placed.body.id}`)).toMatchObject({ status: "filled" });
  });
});

describe("a drive", () => {
  const drive = (account: { id: string }, body: object) => post(`/sandbox/accounts/${account.id}/drive`, body);

  it("is refused where there is nothing to drive, and without a level", async () => {
    const account = await trader("2000.00");
    expect(await drive(account, { margin_level: "80.00" })).toMatchObject({
      status: 409,
      body: { code: "margin_level_unreachable" },
    });
    expect(await drive(account, {})).toMatchObject({ status: 422, body: { errors: [{ pointer: "#/margin_level" }] } });
    expect((await drive({ id: "acc_01JD0000000000000000000009" }, { margin_level: "80.00" })).status).toBe(404);
  });

  it("tells the price, the level that it gives, and that nobody has numbered its event yet", async () => {
    await euroAt("1.10000");
    const account = await trader("2000.00");
    await open(account);
    const answer = await drive(account, { margin_level: "80.00", symbol: "EURUSD" });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      account_id: account.id,
      reached_margin_level: "79.94",
      price: { symbol: "EURUSD", bid: "1.08893", ask: "1.08903" },
      before: { margin_status: "normal" },
      after: { margin_level: "79.94", margin_status: "margin_call" },
      events: [],
      events_complete: false,
    });
  });
});
