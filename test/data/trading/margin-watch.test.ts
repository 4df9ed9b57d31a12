import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Order } from "../../../shared/domain/records/order.ts";
import type { Exposure } from "../../../shared/domain/records/risk.ts";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { exposures, orders, risks } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someOrder, someSymbol } from "../../support/builders/trading.ts";
import { putItem, putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { itemsOf, itemsOfAccount, type RawItem } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";

const api = await startApi("stream", "watched");
afterAll(async () => {
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
});
afterEach(() => {
  api.watched.interfere = () => undefined;
  api.queues.interfere = () => undefined;
  delete process.env["TIME_SCALE"];
});
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");
const { changeItem, deleteItem } = await import("../../../shared/table/items.ts");
const { marketWatch } = await import("../../support/builders/market-watch.ts");
const market = marketWatch(api);

const calm = ["1.10000", "1.10010"] as const;
const falling = ["1.09400", "1.09410"] as const;
const ruinous = ["1.08000", "1.08010"] as const;

/** A brokerage of its own with accounts that bought, each so much of EURUSD with so little behind it. */
async function floorOf(count: number, amount = "1650.00") {
  const caller = newCaller();
  const tenant = caller.tenant_id;
  const broker = brokerage(api, caller);
  await putMarket(api, tenant);
  const floor = tradingFloor(tenant);
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const account = await broker.account(amount, { type: "demo", leverage: 100 });
    const opened = await floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
    expect(opened.kind).toBe("done");
    ids.push(account.id);
  }
  api.queues.takeMessages();
  return { caller, tenant, broker, floor, ids, first: ids[0] ?? "" };
}

async function itemsAbout(accountId: string, type: string): Promise<RawItem[]> {
  return (await itemsOfAccount(api.emulator, accountId)).filter((item) => item["et"] === type);
}

/** The kinds of the events of trading and margin of an account, in the order of their commits. */
async function announced(accountId: string): Promise<string[]> {
  const outboxes = await itemsOf(api.emulator, { type: "OUTBOX" });
  const bodies = outboxes
    .toSorted((a, b) => (String(a["sk"]) < String(b["sk"]) ? -1 : 1))
    .flatMap(({ events }) => (events as string[]).map((event) => JSON.parse(event)));
  return bodies
    .filter(({ account_id }) => account_id === accountId)
    .map(({ body }) => body.type)
    .filter((type) => /^(?:trade|margin|stop)\./.test(type));
}

describe("a price", () => {
  it("that meets no trigger enqueues no account and reads no item but whether the stream has connections", async () => {
    const { tenant } = await floorOf(1);
    const record = await market.price(tenant, "EURUSD", ["1.09900", "1.09910"]);
    api.watched.takeCalls();
    expect(await market.see(record)).toEqual([]);
    const calls = api.watched.takeCalls();
    const queries = 2 * limits.trading.first_exposure_shards;
    const [flag, ...found] = calls.toSorted((a, b) => (a.operation < b.operation ? -1 : 1));
    expect([flag?.operation, flag?.tables]).toEqual(["BatchGetItem", [api.emulator.volatileTableName]]);
    expect(found.map(({ operation }) => operation)).toEqual(Array(queries).fill("Query"));
    expect(found.map(({ output }) => output?.["ScannedCount"])).toEqual(Array(queries).fill(0));
    expect(market.sentFor()).toEqual([]);
  });

  it("that a brokerage was made with reads nothing, and the next one of its symbol finds who waits", async () => {
    const { tenant, ids } = await floorOf(1);
    const record = await market.price(tenant, "EURUSD", falling, { seeded: true });
    api.watched.takeCalls();
    expect(await market.see(record)).toEqual([]);
    expect([api.watched.takeCalls(), market.sentFor()]).toEqual([[], []]);
    // Whatever the item of the next one keeps of the first.
    expect(await market.see({ ...record, eventName: "MODIFY" })).toEqual([]);
    expect(market.sentFor().map(([id]) => id)).toEqual(ids);
  });

  it("finds accounts whose triggers were put when there were two shards, and leaves none there", async () => {
    const { tenant, ids } = await floorOf(8);
    const entryOf = async (id: string) => (await itemsAbout(id, "EXPOSURE"))[0] as unknown as Exposure & { pk: string };
    const shardIn = ({ pk }: { pk: string }) => Number(pk.split("|").at(-1));
    for (const id of ids) {
      const { pk, symbol, direction, trigger } = await entryOf(id);
      const entry: Exposure = { tenant_id: tenant, account_id: id, symbol, direction, trigger, shards: 2 };
      await deleteItem({ pk, sk: exposures.keyOf(entry).sk });
      await putItem(api, exposures, entry);
      const triggers = [{ symbol: "EURUSD", down: trigger, up: null, shards: 2 }];
      await changeItem(risks.key(tenant, id), { set: { triggers } });
      expect(shardIn(await entryOf(id))).toBeLessThan(2);
    }
    const { exposure_shards: shards } = limits.trading;
    await market.see(await market.price(tenant, "EURUSD", falling, { exposure_shards: shards }));
    expect((await market.evaluateSent()).toSorted()).toEqual(ids.toSorted());
    const found = await Promise.all(ids.map(entryOf));
    expect(found.map(shardIn)).toEqual(found.map((entry) => exposures.shardOf({ ...entry, shards })));
    expect(Math.max(...found.map(shardIn))).toBeGreaterThan(1);
  });

  it("finds an account again of which one trigger moved and the other is in the same shard among more", async () => {
    const { tenant, broker, floor } = await floorOf(0);
    const shardOf = (account_id: string, shards: number) => exposures.shardOf({ account_id, shards });
    let { id } = await broker.account("4000.00", { type: "demo", leverage: 100 });
    while (shardOf(id, 2) !== shardOf(id, 8)) {
      ({ id } = await broker.account("4000.00", { type: "demo", leverage: 100 }));
    }
    // Its own price converts the profit, so both directions have a trigger.
    await floor.open(id, { symbol: "USDJPY", side: "buy", lots: "1.00" });
    const placesOf = (entries: readonly RawItem[]) => entries.map(({ pk, sk }) => `${pk} ${sk}`).toSorted();
    const placed = await itemsAbout(id, "EXPOSURE");
    expect(placed.map(({ direction }) => direction).toSorted()).toEqual(["dn", "up"]);
    const up = String(placed.find(({ direction }) => direction === "up")?.["trigger"]);
    for (const { pk, sk } of placed) await deleteItem({ pk: String(pk), sk: String(sk) });
    const before = { tenant_id: tenant, account_id: id, symbol: "USDJPY", shards: 2 };
    await putItem(api, exposures, { ...before, direction: "dn", trigger: "1" });
    await putItem(api, exposures, { ...before, direction: "up", trigger: up });
    await changeItem(risks.key(tenant, id), { set: { triggers: [{ symbol: "USDJPY", down: "1", up, shards: 2 }] } });
    await floor.evaluate(id);
    expect(placesOf(await itemsAbout(id, "EXPOSURE"))).toEqual(placesOf(placed));
  });

  it("of another brokerage, or of another symbol, enqueues no account", async () => {
    const [{ first }, other] = [await floorOf(1), newCaller()];
    await putMarket(api, other.tenant_id);
    await market.see(await market.price(other.tenant_id, "EURUSD", ruinous));
    expect(market.sentFor()).toEqual([]);
    expect(await announced(first)).toEqual(["trade.opened"]);
  });

  it("that fell and rose again within a batch enqueues no account: the newest price of a symbol counts", async () => {
    const { tenant } = await floorOf(1);
    await market.see(
      await market.price(tenant, "EURUSD", ruinous),
      await market.price(tenant, "EURUSD", ["1.09900", "1.09910"]),
    );
    expect(market.sentFor()).toEqual([]);
  });

  it("sends for each account at once, then at the end of the window, then not before that is seen", async () => {
    const { tenant, ids } = await floorOf(2);
    // A window that no slow machine outlasts.
    process.env["TIME_SCALE"] = "0.001";
    const sent = async (price: readonly [string, string]) => {
      await market.see(await market.price(tenant, "EURUSD", price));
      return market.sentFor().toSorted();
    };
    const both = (delay: number) => ids.toSorted().map((id) => [id, delay]);
    expect(await sent(falling)).toEqual(both(0));
    expect(await sent(["1.09390", "1.09400"])).toEqual(both(1));
    expect(await sent(["1.09380", "1.09390"])).toEqual([]);
  });

  it("calls and liquidates the accounts that it leads to their levels, and no other", async () => {
    const { tenant, broker, floor, ids, first } = await floorOf(1);
    const rich = await broker.account("50000.00", { type: "demo", leverage: 100 });
    await floor.open(rich.id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
    await market.see(await market.price(tenant, "EURUSD", falling));
    expect(await market.evaluateSent()).toEqual(ids);
    expect(await announced(first)).toEqual(["trade.opened", "margin.call"]);
    await market.see(await market.price(tenant, "EURUSD", ruinous));
    expect(await market.evaluateSent()).toEqual(ids);
    const told = ["trade.opened", "margin.call", "trade.closed", "stop.out", "margin.recovered"];
    expect(await announced(first)).toEqual(told);
    expect(await announced(rich.id)).toEqual(["trade.opened"]);
  });

  it("that could not be looked up comes again, and the other symbols of its batch do not", async () => {
    const [one, two] = [await floorOf(1), await floorOf(1)];
    const records = [
      await market.price(one.tenant, "EURUSD", falling),
      await market.price(two.tenant, "EURUSD", falling),
    ] as const;
    api.watched.interfere = ({ operation, input }) =>
      operation === "Query" && JSON.stringify(input).includes(one.tenant)
        ? failure("ResourceNotFoundException")
        : undefined;
    expect(await market.see(...records)).toEqual([records[0].dynamodb?.SequenceNumber]);
    expect(market.sentFor()).toEqual([[two.first, 0]]);
    api.watched.interfere = () => undefined;
    expect(await market.see(records[0])).toEqual([]);
    expect(market.sentFor()).toEqual([[one.first, 0]]);
  });

  it("whose messages were not taken comes again, and they are sent again", async () => {
    const { tenant, first } = await floorOf(1);
    const record = await market.price(tenant, "EURUSD", falling);
    api.queues.interfere = () => ({ refused: [0], senderFault: true });
    expect(await market.see(record)).toEqual([record.dynamodb?.SequenceNumber]);
    api.queues.interfere = () => undefined;
    expect(await market.see(record)).toEqual([]);
    expect(market.sentFor()).toEqual([[first, 0]]);
  });

  it("that is too old liquidates no account, and the next fresh one judges those that it had found", async () => {
    const { tenant, first } = await floorOf(1);
    const old = new Date(Date.now() - 120_000).toISOString();
    await market.see(await market.price(tenant, "EURUSD", ruinous, { time: old }));
    expect(await market.evaluateSent()).toEqual([first]);
    expect(await announced(first)).toEqual(["trade.opened"]);
    // Not a price of their own that it would meet: whatever comes is judged.
    await market.see(await market.price(tenant, "EURUSD", ["1.08100", "1.08110"]));
    expect(await market.evaluateSent()).toEqual([first]);
    expect((await announced(first)).slice(1, 4)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });
});

describe("an evaluation that was asked for", () => {
  it("by a message that the service did not send comes again, until its queue gives it up", async () => {
    const { tenant, first } = await floorOf(1);
    const known = JSON.stringify({ tenant_id: tenant, account_id: first });
    expect(await market.evaluate(["{", known, "{}"])).toEqual([0, 2]);
  });

  it("of an account that is not there is done", async () => {
    const { tenant } = await floorOf(0);
    const gone = JSON.stringify({ tenant_id: tenant, account_id: "acc_01JD0000000000000000000009" });
    expect(await market.evaluate([gone])).toEqual([]);
  });

  it("without time left, or on a table that fails, comes again with every message of its account", async () => {
    const { tenant, first } = await floorOf(1);
    const body = JSON.stringify({ tenant_id: tenant, account_id: first });
    expect(await market.evaluate([body, body], 500)).toEqual([0, 1]);
    api.watched.interfere = () => failure("ResourceNotFoundException");
    expect(await market.evaluate([body, body])).toEqual([0, 1]);
  });
});

describe("an account whose message was lost", () => {
  it("is sent for again as long as the price stays beyond its trigger, and then forgotten", async () => {
    const { tenant, first } = await floorOf(1);
    await market.see(await market.price(tenant, "EURUSD", falling));
    expect(market.sentFor()).toEqual([[first, 0]]);
    expect(await market.sweep()).toMatchObject({ past_trigger: 0 });
    await market.ageBreach(tenant, "EURUSD");
    expect(await market.sweep()).toMatchObject({ past_trigger: 1, failed: 0 });
    expect(await market.sweep()).toMatchObject({ past_trigger: 0 });
    const noted = async () =>
      (await itemsOf(api.emulator, { tenant })).find(({ pk }) => pk === `${tenant}|BREACH|EURUSD`);
    const waits = async () => Date.parse(String((await noted())?.["wake_at"])) - Date.now();
    expect(await waits()).toBeGreaterThan(90_000);
    expect(await waits()).toBeLessThanOrEqual(120_000);
    expect(await market.evaluateSent()).toEqual([first]);
    expect(await announced(first)).toEqual(["trade.opened", "margin.call"]);
    await market.ageBreach(tenant, "EURUSD");
    expect(await market.sweep()).toMatchObject({ past_trigger: 0, failed: 0 });
    expect(await noted()).toBeUndefined();
  });

  it("is noted before anybody is sent for: where that fails nothing is sent", async () => {
    const { tenant, first } = await floorOf(1);
    const record = await market.price(tenant, "EURUSD", falling);
    api.watched.interfere = ({ operation }) =>
      operation === "PutItem" ? failure("ResourceNotFoundException") : undefined;
    expect(await market.see(record)).toEqual([record.dynamodb?.SequenceNumber]);
    expect(market.sentFor()).toEqual([]);
    api.watched.interfere = () => undefined;
    await market.see(record);
    expect(market.sentFor()).toEqual([[first, 0]]);
  });
});

describe("a liquidation of 30 positions, through the functions", () => {
  it("that dies at every step, before its commit and after it, is carried on and says so once, in order", async () => {
    const caller = newCaller();
    const tenant = caller.tenant_id;
    const account = await brokerage(api, caller).account("2200.00", { type: "demo", leverage: 100 });
    await putMarket(api, tenant, { EURNOK: calm }, [someSymbol("EURNOK", { quote_currency: "USD" })]);
    const floor = tradingFloor(tenant);
    for (let index = 0; index < 30; index += 1) {
      await floor.open(account.id, { symbol: "EURNOK", side: "buy", lots: "0.05" });
    }
    await market.see(await market.price(tenant, "EURNOK", ["1.07000", "1.07010"]));
    const left: number[] = [];
    let deaths = 0;
    while (left.at(-1) !== 0) {
      // One dies before its first commit, the next one when it is done, the third after a second one took effect.
      const [spared, fate] = (
        [
          [0, failure("ResourceNotFoundException")],
          [0, "lose_answer"],
          [1, "lose_answer"],
        ] as const
      )[left.length % 3] ?? [0, undefined];
      let commits = 0;
      api.watched.interfere = ({ operation }) => {
        if (operation !== "TransactWriteItems") return undefined;
        commits += 1;
        if (commits <= spared) return undefined;
        deaths += 1;
        // The dead do nothing more.
        api.watched.interfere = () => failure("ResourceNotFoundException");
        return fate;
      };
      await market.evaluateSent().catch(() => undefined);
      api.watched.interfere = () => undefined;
      left.push((await itemsAbout(account.id, "POSITION")).length);
      const [risk] = await itemsAbout(account.id, "RISK");
      if (risk?.["due_pk"] !== undefined) await market.ageRisk(tenant, account.id);
      // One that died before its first commit left nothing but the note of its symbol.
      else if (left.at(-1) === 30) await market.ageBreach(tenant, "EURNOK");
      await market.sweep();
    }
    expect([left, deaths]).toEqual([[30, 22, 6, 6, 0], 5]);
    await market.evaluateSent();
    const said = (await announced(account.id)).slice(30);
    const closes = Array.from({ length: 30 }, () => "trade.closed");
    expect(said).toEqual(["margin.call", ...closes, "stop.out", "margin.recovered"]);
  });
});

describe("a source that was silent", () => {
  it("and is heard of again has the accounts judged that waited for it, and no others", async () => {
    const { tenant, ids, first, floor } = await floorOf(2);
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
    // The price is old, so both wait; then a fresh one comes for the second alone.
    await market.see(await market.price(tenant, "EURUSD", ruinous, { time: ago(120) }));
    await market.evaluateSent();
    await market.price(tenant, "EURUSD", calm);
    await floor.evaluate(ids[1] ?? "");
    await market.price(tenant, "EURUSD", ruinous);
    expect(await market.see(await market.pulse(tenant, "mt5:live-1", ago(0), ago(50)))).toEqual([]);
    expect(market.sentFor()).toEqual([]);
    expect(await market.see(await market.pulse(tenant, "mt5:live-1", ago(0), ago(90)))).toEqual([]);
    expect(await market.evaluateSent()).toEqual([first]);
    expect((await announced(first)).slice(1, 4)).toEqual(["margin.call", "trade.closed", "stop.out"]);
  });
});

describe("pending orders", () => {
  async function place(tenant: string, account_id: string, fields: Partial<Order> = {}): Promise<string> {
    const now = new Date().toISOString();
    const id = newId("ord");
    await putItem(
      api,
      orders,
      someOrder({ id, tenant_id: tenant, account_id, created_at: now, updated_at: now, ...fields }),
    );
    return id;
  }
  const past = () => new Date(Date.now() - 60_000).toISOString();

  it("end when their time has come, those of a platform by its word alone", async () => {
    const { tenant, broker, first } = await floorOf(1);
    const due = await place(tenant, first, { time_in_force: "gtd", expires_at: past() });
    const later = new Date(Date.now() + 60_000).toISOString();
    const waits = await place(tenant, first, { time_in_force: "gtd", expires_at: later });
    const theirs = await place(tenant, first, { time_in_force: "gtd", expires_at: past(), source: "mt5:live-1" });
    expect(await market.sweep()).toMatchObject({ expired: 1, failed: 0 });
    const status = async (id: string) => (await broker.get(`/orders/${id}`)).status;
    expect([await status(due), await status(waits), await status(theirs)]).toEqual(["expired", "pending", "pending"]);
    expect(await market.sweep()).toMatchObject({ expired: 0 });
  });

  it("are cancelled when their account was disabled, even if it is active again, and later ones stay", async () => {
    const { caller, tenant, broker, first } = await floorOf(1);
    const before = [await place(tenant, first), await place(tenant, first)];
    const theirs = await place(tenant, first, { source: "mt5:live-1" });
    expect((await api.call(caller, "DELETE", `/accounts/${first}`)).status).toBe(200);
    const active = { body: { status: "active" } };
    expect((await api.call(caller, "PATCH", `/accounts/${first}`, active)).status).toBe(200);
    const after = await place(tenant, first, { created_at: new Date(Date.now() + 1000).toISOString() });
    expect(await market.sweep()).toMatchObject({ cancelled: 2, failed: 0 });
    const status = async (id: string) => (await broker.get(`/orders/${id}`)).status;
    const shown = await Promise.all([...before, theirs, after].map(status));
    expect(shown).toEqual(["cancelled", "cancelled", "pending", "pending"]);
    // An index may lag: the account is looked at again until it has been disabled for a while.
    expect(await market.sweep()).toMatchObject({ cancelled: 0, failed: 0 });
    const stored = async () =>
      (await itemsOf(api.emulator, { type: "ACCOUNT", tenant })).find(({ id }) => id === first);
    expect(await stored()).toHaveProperty("due_pk");
    process.env["TIME_SCALE"] = "1000000";
    await market.sweep();
    expect(await stored()).not.toHaveProperty("due_pk");
    expect(await stored()).not.toHaveProperty("orders_void_at");
  });
});
