import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { symbols } from "../../../shared/table/entities.ts";
import { bridge, closing, opening } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { examplePrices, someSymbol } from "../../support/builders/trading.ts";
import { putItem, putMarket, putQuote, putQuotes } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { itemsOf, itemsOfAccount, type RawItem } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";
import { type CauseGround, stopOutCauses } from "../../support/oracles/stop-out-causes.ts";

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
const { marketWatch } = await import("../../support/builders/market-watch.ts");
const { streamWork } = await import("../../support/emulator/stream-work.ts");
const market = marketWatch(api);
const work = await streamWork(api);

/** A brokerage of its own with the market of the worked examples, at prices that do not age. */
async function groundOf() {
  const caller = newCaller();
  const tenant = caller.tenant_id;
  await putMarket(api, tenant);
  await putQuotes(api, tenant, examplePrices, { held: true });
  const ground: CauseGround = {
    price: (symbol, pair) => putQuote(api, tenant, symbol, pair, { held: true }),
    floor: tradingFloor(tenant),
    silence: async (name, seconds) => {
      await market.pulse(tenant, name, new Date(Date.now() - seconds * 1000).toISOString());
    },
    call: async (method, path, body) => {
      const answer = await api.call(caller, method, path, body === undefined ? {} : { body });
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
  };
  return { ...ground, tenant, caller, broker: brokerage(api, caller) };
}

async function itemOf(accountId: string, type: string): Promise<RawItem | undefined> {
  return (await itemsOfAccount(api.emulator, accountId)).find((item) => item["et"] === type);
}

async function closeReasons(accountId: string): Promise<unknown[]> {
  const items = await itemsOfAccount(api.emulator, accountId);
  const trades = items.filter(({ et, status }) => et === "TRADE" && status === "closed");
  return trades.map(({ close_reason }) => close_reason);
}

/** The events about an account that wait to be published. */
async function outboxEvents(accountId: string): Promise<{ type: string; data: unknown }[]> {
  const outboxes = await itemsOf(api.emulator, { type: "OUTBOX" });
  const events = outboxes.flatMap((item) => (item["events"] as string[]).map((event) => JSON.parse(event)));
  return events.flatMap(({ account_id, body }) => (account_id === accountId ? [body] : []));
}

/** Lets everything happen that waits, until nothing is left; returns how many messages there were. */
async function settle(): Promise<number> {
  for (let messages = 0; ; ) {
    await work.deliver();
    const evaluated = await market.evaluateSent();
    messages += evaluated.length;
    if (evaluated.length === 0) return messages;
  }
}

describe("terms of a symbol that changed a moment after an account was judged", () => {
  const commission = { type: "per_lot", amount: "7.00", currency: "USD" } as const;

  it("count for what is opened and for what a stop-out closes", async () => {
    const { tenant, broker, floor, price } = await groundOf();
    const { id } = await broker.account("1200.00", { type: "demo" });
    const lot = { symbol: "EURUSD", side: "buy", lots: "1.00" } as const;
    expect((await floor.open(id, lot)).kind).toBe("done");
    await price("EURUSD", ["1.10000", "1.10010"]);
    await floor.evaluate(id);
    await putItem(api, symbols, someSymbol("EURUSD", { tenant_id: tenant, lot_max: "0.50", commission }));
    expect(await floor.open(id, { ...lot, lots: "0.60" })).toMatchObject({ kind: "refused" });
    await price("EURUSD", ["1.09300", "1.09310"]);
    await floor.evaluate(id);
    const items = await itemsOfAccount(api.emulator, id);
    const closed = items.filter(({ et, status }) => et === "TRADE" && status === "closed");
    expect(closed.map(({ commission_minor }) => commission_minor)).toEqual([{ number: "-700" }]);
  });
});

describe("an account is handed to the evaluator at once, without a sweep, by", () => {
  it.each(stopOutCauses)("$name", async ({ prepare }) => {
    const ground = await groundOf();
    const { account_id, act } = await prepare(ground);
    // No window of the margin watch holds a message back.
    process.env["TIME_SCALE"] = "1000000";
    await settle();
    expect(await closeReasons(account_id)).not.toContain("stop_out");
    await act();
    await work.deliver();
    expect(market.sentFor().map(([id]) => id)).toContain(account_id);
    await market.evaluate([JSON.stringify({ tenant_id: ground.tenant, account_id })]);
    expect(await closeReasons(account_id)).toContain("stop_out");
    expect(await itemOf(account_id, "POSITION")).toBeUndefined();
    // It is over then: what the liquidation wrote wakes nothing.
    await work.deliver();
    expect(market.sentFor()).toEqual([]);
  });
});

/** An account of a cause, ready to act, with nothing left to do. */
async function readyFor(name: string) {
  const cause = stopOutCauses.find((one) => one.name === name);
  if (cause === undefined) throw new Error(`There is no cause ${name}.`);
  const ground = await groundOf();
  const prepared = await cause.prepare(ground);
  process.env["TIME_SCALE"] = "1000000";
  await settle();
  return { ...ground, ...prepared };
}

const forced = "a leverage that is lowered with force";

describe("the hand-over", () => {
  it("needs nothing of the function that committed: it may die right after", async () => {
    const { account_id, act } = await readyFor(forced);
    api.watched.interfere = ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      // The dead do nothing more.
      api.watched.interfere = () => failure("ResourceNotFoundException");
      return "lose_answer";
    };
    await expect(act()).rejects.toThrow();
    api.watched.interfere = () => undefined;
    await work.deliver();
    expect(await market.evaluateSent()).toEqual([account_id]);
    expect(await closeReasons(account_id)).toEqual(["stop_out"]);
  });

  it("comes again until its message is taken, and holds no event meanwhile", async () => {
    const { account_id, act } = await readyFor(forced);
    await act();
    const records = await work.routed();
    api.queues.interfere = ({ queue }) => (queue === "margin" ? "unavailable" : undefined);
    const failed = await work.route(records);
    expect(failed.length).toBe(1);
    expect(await work.publishSent()).toBe(0);
    expect(market.sentFor()).toEqual([]);
    const outboxes = await itemsOf(api.emulator, { type: "OUTBOX" });
    const left = outboxes.filter(({ pk }) => String(pk).endsWith(account_id));
    expect(left).toEqual([]);
    api.queues.interfere = () => undefined;
    const again = records.filter(({ dynamodb }) => failed.includes(dynamodb?.SequenceNumber ?? ""));
    expect(await work.route(again)).toEqual([]);
    expect(market.sentFor()).toEqual([[account_id, 0]]);
  });

  it("does not wait for events that cannot be published", async () => {
    const { account_id, act } = await readyFor(forced);
    await act();
    const records = await work.routed();
    api.watched.interfere = ({ operation }) =>
      operation === "TransactWriteItems" ? failure("ValidationException") : undefined;
    expect(await work.route(records)).toEqual([]);
    expect(await work.publishSent()).toBe(0);
    expect(market.sentFor()).toEqual([[account_id, 0]]);
    api.watched.interfere = () => undefined;
    await work.route(records);
    expect(await work.publishSent()).toBe(0);
  });

  it("that happens twice, and out of order, liquidates once", async () => {
    const { account_id, act } = await readyFor(forced);
    await act();
    const records = await work.routed();
    await work.route(records);
    await market.evaluateSent();
    await work.route(records.toReversed());
    expect(await market.evaluateSent()).toEqual([account_id]);
    expect(await closeReasons(account_id)).toEqual(["stop_out"]);
  });

  it("sends one message for an account however many of its commits are in a batch", async () => {
    const { account_id, call, act } = await readyFor(forced);
    await act();
    for (const leverage of [19, 18, 17]) await call("PATCH", `/accounts/${account_id}`, { leverage, force: true });
    await work.deliver();
    expect(market.sentFor()).toEqual([[account_id, 0]]);
  });

  it("that is lost is made up for by the next price, although it meets no level", async () => {
    const { account_id, act, price } = await readyFor(forced);
    await act();
    await work.deliver();
    expect(market.sentFor()).toEqual([[account_id, 0]]);
    await price("EURUSD", ["1.09999", "1.10009"]);
    await work.deliver();
    expect(await market.evaluateSent()).toEqual([account_id]);
    expect(await closeReasons(account_id)).toEqual(["stop_out"]);
  });

  it.each([
    ["falls", true],
    ["stays", false],
  ])("follows a price that %s between the reading of a commit and its end: %s", async (_, falls) => {
    const { broker, floor, price } = await groundOf();
    const account = await broker.account("1650.00", { type: "demo", leverage: 100 });
    process.env["TIME_SCALE"] = "1000000";
    await settle();
    api.watched.interfere = async ({ operation }) => {
      if (operation !== "TransactWriteItems") return undefined;
      api.watched.interfere = () => undefined;
      await price("EURUSD", falls ? ["1.08000", "1.08010"] : ["1.10000", "1.10010"]);
      // The watch looks before the commit has said at which price it wants to be woken.
      await work.deliver();
      return undefined;
    };
    await floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
    await settle();
    expect(await closeReasons(account.id)).toEqual(falls ? ["stop_out"] : []);
  });

  it("of an account that no price has reached reads the quotes of its symbols once, and sends nothing", async () => {
    const { broker, floor } = await groundOf();
    const account = await broker.account("5000.00", { type: "demo", leverage: 100 });
    await settle();
    for (const side of ["buy", "sell"] as const) await floor.open(account.id, { symbol: "EURGBP", side, lots: "1.00" });
    const records = await work.routed();
    api.watched.takeCalls();
    expect(await work.route(records)).toEqual([]);
    const { volatileTableName: name } = api.emulator;
    const reads = api.watched.takeCalls().filter(({ tables }) => tables.includes(name));
    const keys = reads.flatMap(
      ({ input }) => (input["RequestItems"] as Record<string, { Keys: unknown[] }>)[name]?.Keys,
    );
    expect(keys).toHaveLength(2);
    expect(market.sentFor()).toEqual([]);
  });

  it("leaves alone what cannot be closed now, however often it is evaluated", async () => {
    const { account_id, tenant, act, call } = await readyFor(forced);
    const halted = { ...someSymbol("EURUSD", { halted: true }), tenant_id: tenant };
    await putItem(api, symbols, halted);
    await act();
    await work.deliver();
    expect(market.sentFor()).toEqual([]);
    const body = JSON.stringify({ tenant_id: tenant, account_id });
    for (let times = 0; times < 3; times += 1) {
      expect(await market.evaluate([body])).toEqual([]);
      await work.deliver();
      expect(market.sentFor()).toEqual([]);
    }
    expect(await call("GET", `/accounts/${account_id}`)).toMatchObject({ margin_status: "stop_out" });
  });

  it("is made once for a run of many steps", async () => {
    const ground = await groundOf();
    const account = await ground.broker.account("2600.00", { type: "demo", leverage: 100 });
    for (let index = 0; index < 20; index += 1) {
      await ground.floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.05" });
    }
    process.env["TIME_SCALE"] = "1000000";
    await settle();
    await ground.call("PATCH", `/accounts/${account.id}`, { leverage: 10, force: true });
    expect(await settle()).toBe(1);
    expect((await closeReasons(account.id)).length).toBeGreaterThan(8);
  });
});

describe("a stop-out that a platform does by itself", () => {
  it("is announced once for all positions, by a message that is held back or by the sweep", async () => {
    const { caller } = await groundOf();
    const { newSource, trader } = bridge(api, caller);
    const { id, login } = await trader("4400.00");
    const source = await newSource();
    const deal = { commission: "0" };
    await source.send(...[1, 2, 3].map((name) => opening(login, `D-${name}`, `P-${name}`, deal)));
    await settle();
    const close = { price: "1.09000", profit: "-1010.00", reason: "stop_out" };
    for (const name of [1, 2]) await source.send(closing(`C-${name}`, `P-${name}`, close));
    await work.deliver();
    expect(market.sentFor()).toEqual([[id, 6]]);
    const told = async () => (await outboxEvents(id)).filter(({ type }) => type === "stop.out");
    await market.evaluate([JSON.stringify({ tenant_id: caller.tenant_id, account_id: id })]);
    expect(await told()).toEqual([]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 6000 });
    await market.sweep();
    expect(await market.evaluateSent()).toContain(id);
    vi.useRealTimers();
    expect(await told()).toMatchObject([
      {
        data: {
          object: { stop_out: { closed_trade_ids: [/^trd_/, /^trd_/].map((one) => expect.stringMatching(one)) } },
        },
      },
    ]);
  });
});
