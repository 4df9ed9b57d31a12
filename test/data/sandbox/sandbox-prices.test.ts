import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import type { PriceWalk } from "../../../shared/domain/sandbox/walk.ts";
import { priceWalks, type StoredQuote } from "../../../shared/table/entities.ts";
import { atOnce } from "../../support/builders/brokerage.ts";
import { putItem, putQuote } from "../../support/builders/trading-data.ts";
import { api, broker, euroAt, open, place, post, quote, setPrices, tenant_id, trader } from "./sandbox-cases.ts";

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

  /** The time of the next step has come, where the price walks. */
  async function becomeDue() {
    const walk = await stored();
    if (walk === undefined) return;
    await putItem(api, priceWalks, { ...walk, wake_at: new Date(Date.now() - 1000).toISOString() });
  }

  /** Takes one step of every walk, as the schedule does. */
  async function step() {
    await becomeDue();
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
      await becomeDue();
      await Promise.all([stepWalks(() => true), setPrices({ symbol: "XAUUSD", bid: "2500.00" })]);
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

  it("fill orders and close at stops at the newest price, once, in either order", async () => {
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

  it("returns the price, the level that it gives, and that its event has no number yet", async () => {
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
