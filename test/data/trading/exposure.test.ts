import { PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterEach, describe, expect, it, vi } from "vitest";
import { applicationRefs, openInterests, positions } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someMarket, somePosition, tradingAccount } from "../../support/builders/trading.ts";
import { putItems, putMarket, writeOf } from "../../support/builders/trading-data.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { failure, unitsOf } from "../../support/emulator/watched-endpoint.ts";
import { seeded } from "../../support/stack/chaos.ts";
import { api, caller, floor, tenant } from "./trading-cases.ts";

const { marketWatch } = await import("../../support/builders/market-watch.ts");
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");
const { deleteItem } = await import("../../../shared/table/items.ts");

const watch = marketWatch(api);

afterEach(() => {
  api.watched.interfere = () => undefined;
  vi.useRealTimers();
});

/** Lets the sweep know a brokerage: it goes through their applications. */
async function known(owner_tenant_id: string) {
  const client_id = `cid_${owner_tenant_id}`;
  const Item = marshall({ ...applicationRefs.key(client_id), et: applicationRefs.et, owner_tenant_id, client_id });
  await api.emulator.client.send(new PutItemCommand({ TableName: api.emulator.tableName, Item }));
}

const exposure = async (query = "", of = caller) => {
  const answer = await api.call(of, "GET", `/exposure${query}`);
  return { status: answer.status, headers: answer.headers, body: answer.body };
};

interface Shown {
  readonly account_id: string;
  readonly symbol: string;
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly open_price: string;
  readonly current_price: string;
}

/** All open positions of accounts, as `GET /positions` lists them. */
async function positionsOf(accounts: ReadonlySet<string>): Promise<Shown[]> {
  const found: Shown[] = [];
  for (let path = "/positions?limit=100"; path !== ""; ) {
    const { body } = await api.call(caller, "GET", path);
    found.push(...body.data.filter(({ account_id }: Shown) => accounts.has(account_id)));
    path = String(body._links.next?.href ?? "").replace(/^.*?\/v2/, "");
  }
  return found;
}

/** Their sum in whole numbers: lots in hundredths, prices in 10^-12. */
function summed(held: readonly Shown[]) {
  const price = (text: string) => {
    const [whole = "", part = ""] = text.split(".");
    return BigInt(whole + part.padEnd(12, "0"));
  };
  const rows = new Map<string, { lots: bigint; positions: number; moved: bigint }>();
  for (const { symbol, side, lots, open_price, current_price } of held) {
    const row = rows.get(`${symbol} ${side}`) ?? { lots: 0n, positions: 0, moved: 0n };
    const units = BigInt(lots.replace(".", ""));
    const move = price(current_price) - price(open_price);
    rows.set(`${symbol} ${side}`, {
      lots: row.lots + units,
      positions: row.positions + 1,
      moved: row.moved + units * (side === "buy" ? move : -move),
    });
  }
  return Object.fromEntries([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** An exposure in the same numbers. */
function shown(data: readonly Record<string, string>[]) {
  const scaled = (text = "", scale: number) => {
    const [, sign = "", whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
    return BigInt(sign + whole + part.padEnd(scale, "0"));
  };
  return Object.fromEntries(
    data.map(({ symbol, side, lots, positions: count, floating_pnl }) => [
      `${symbol} ${side}`,
      // A contract is 100,000: a price of 10^-12 on a hundredth of a lot is 10^-9.
      { lots: scaled(lots, 2), positions: Number(count), moved: scaled(floating_pnl, 9) },
    ]),
  );
}

describe("the exposure of a brokerage", () => {
  it("is empty without positions, and not ready between the first one and its sum", async () => {
    const own = newCaller();
    await known(own.tenant_id);
    await putMarket(api, own.tenant_id);
    const { id } = await brokerage(api, own).account("1000000.00", { type: "live" });
    await watch.sweep();
    expect((await exposure("", own)).body).toMatchObject({ age_seconds: 0, data: [], net: [] });
    const own_floor = tradingFloor(own.tenant_id);
    await own_floor.open(id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
    const { status, headers, body } = await exposure("", own);
    expect([status, body.code, headers["Retry-After"]]).toEqual([503, "not_ready", "60"]);
    await watch.sweep();
    expect((await exposure("", own)).body.net).toEqual([{ symbol: "EURUSD", lots: "1.00" }]);
    expect((await exposure("?account_type=demo", own)).body).toMatchObject({ age_seconds: 0, data: [] });
    await own_floor.close(id, 0);
    // The sum of before stays until the next positions; it is not shown without any.
    expect((await exposure("", own)).body).toMatchObject({ age_seconds: 0, data: [], net: [] });
  });

  it("is the sum of its open positions, of live accounts or of demo accounts, and of no other brokerage", async () => {
    await known(tenant);
    const random = seeded(3);
    const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
    const broker = brokerage(api, caller);
    const accounts = { live: new Set<string>(), demo: new Set<string>() };
    for (const [type, ids] of Object.entries(accounts)) {
      for (const position_mode of ["hedging", "netting", "hedging"]) {
        const { id } = await broker.account("1000000.00", { type, leverage: 30, position_mode });
        ids.add(id);
        for (let count = 0; count < 8; count += 1) {
          const request = { symbol: pick(["EURUSD", "USDJPY", "EURGBP"]), lots: pick(["0.10", "0.37", "1.00"]) };
          await floor.open(id, { ...request, side: pick(["buy", "sell"]) });
          if (random() < 0.4) await floor.close(id, Math.floor(random() * 3), random() < 0.5 ? "0.01" : undefined);
        }
      }
    }
    const other = newCaller();
    await known(other.tenant_id);
    await putMarket(api, other.tenant_id);
    const elsewhere = await brokerage(api, other).account("1000000.00", { type: "live" });
    await tradingFloor(other.tenant_id).open(elsewhere.id, { symbol: "EURUSD", side: "buy", lots: "5.00" });
    expect(await watch.sweep()).toMatchObject({ failed: 0 });
    for (const type of ["live", "demo"] as const) {
      const { status, body } = await exposure(`?account_type=${type}`);
      expect([status, body.account_type]).toEqual([200, type]);
      const held = await positionsOf(accounts[type]);
      expect(held.length).toBeGreaterThan(10);
      expect(shown(body.data)).toEqual(summed(held));
      const net = new Map<string, number>();
      for (const { symbol, side, lots } of held) {
        const hundredths = Math.round(Number(lots) * 100);
        net.set(symbol, (net.get(symbol) ?? 0) + (side === "buy" ? hundredths : -hundredths));
      }
      const lots = body.net.map((each: Shown) => [each.symbol, Math.round(Number(each.lots) * 100)]);
      expect(new Map(lots)).toEqual(net);
    }
    expect((await exposure()).body).toMatchObject({ account_type: "live" });
    const theirs = await exposure("", other);
    expect(theirs.body.data).toMatchObject([{ symbol: "EURUSD", side: "buy", lots: "5.00", positions: 1 }]);
    expect(theirs.body.net).toEqual([{ symbol: "EURUSD", lots: "5.00" }]);
  });

  it("keeps its last sum with its true age while positions cannot be read or the sum cannot be written", async () => {
    await known(tenant);
    await watch.sweep();
    const first = (await exposure("?account_type=demo")).body;
    let asked = 0;
    const failing = (name: string, table: string) => {
      api.watched.interfere = ({ operation, input }) => {
        const ofSum = operation === name && JSON.stringify(input).includes(table);
        asked += ofSum ? 1 : 0;
        return ofSum ? failure("ProvisionedThroughputExceededException") : undefined;
      };
    };
    for (const [name, table, passed] of [
      ["Query", positions.all(tenant), 90_000],
      ["PutItem", openInterests.partition(tenant), 240_000],
    ] as const) {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(first.as_of) + passed });
      failing(name, table);
      expect(await watch.sweep()).toMatchObject({ failed: 1 });
      const { body } = await exposure("?account_type=demo");
      expect(body).toMatchObject({ as_of: first.as_of, age_seconds: passed / 1000 });
      expect(body.data.map(({ lots }: Shown) => lots)).toEqual(first.data.map(({ lots }: Shown) => lots));
    }
    expect(asked).toBeGreaterThan(1);
    api.watched.interfere = () => undefined;
    expect(await watch.sweep()).toMatchObject({ failed: 0 });
    expect((await exposure("?account_type=demo")).body.age_seconds).toBe(0);
  });

  it("is not replaced by a sum that began before it", async () => {
    await known(tenant);
    await watch.sweep();
    const { as_of } = (await exposure()).body;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(as_of) - 30_000 });
    await watch.sweep();
    vi.useRealTimers();
    expect((await exposure()).body.as_of).toBe(as_of);
  });

  it("keeps its last sum where an entry of the list cannot be summed", async () => {
    const own = newCaller();
    await known(own.tenant_id);
    await putMarket(api, own.tenant_id);
    const { id } = await brokerage(api, own).account("1000000.00", { type: "live" });
    await tradingFloor(own.tenant_id).open(id, { symbol: "EURUSD", side: "buy", lots: "1.00" });
    await watch.sweep();
    const { body } = await exposure("", own);
    const [held] = (await api.call(own, "GET", "/positions")).body.data;
    const { pk, sk } = positions.key(own.tenant_id, id, held.id);
    await api.emulator.client.send(
      new UpdateItemCommand({
        TableName: api.emulator.tableName,
        Key: marshall({ pk, sk }),
        UpdateExpression: "REMOVE facets.lots",
      }),
    );
    expect(await watch.sweep()).toMatchObject({ failed: 1 });
    expect((await exposure("", own)).body).toMatchObject({ as_of: body.as_of, net: [{ lots: "1.00" }] });
    await api.emulator.client.send(
      new UpdateItemCommand({
        TableName: api.emulator.tableName,
        Key: marshall({ pk, sk }),
        UpdateExpression: "SET facets.lots = :lots",
        ExpressionAttributeValues: marshall({ ":lots": "1.00" }),
      }),
    );
  });

  it("of many positions reads each entry of the list once: 0.048 read units each", async () => {
    const own = newCaller();
    const { account } = tradingAccount("1000000.00", { type: "live" });
    const market = someMarket();
    const count = 1000;
    const writes = Array.from({ length: count }, (_, place) => {
      const side = place % 2 === 0 ? ("buy" as const) : ("sell" as const);
      const fields = { symbol: "EURUSD", side, lots: "0.10", open_price: "1.10010", tenant_id: own.tenant_id };
      return writeOf(api, positions, somePosition(account, market, fields));
    });
    await putItems(api, writes);
    await known(own.tenant_id);
    await putMarket(api, own.tenant_id);
    api.watched.takeCalls();
    await watch.sweep();
    const calls = api.watched.takeCalls().filter(({ input }) => JSON.stringify(input).includes(own.tenant_id));
    const units = unitsOf(calls.filter(({ operation }) => operation === "Query"));
    const written = unitsOf(calls.filter(({ operation }) => operation === "PutItem"));
    console.log(`${count} positions: ${units} read units, ${written} write units`);
    expect(units).toBeLessThan(0.05 * count);
    expect(written).toBe(2);
    expect((await exposure("", own)).body).toMatchObject({
      data: [
        { side: "buy", lots: "50.00", positions: 500, average_price: "1.10010" },
        { side: "sell", lots: "50.00", positions: 500 },
      ],
      net: [{ symbol: "EURUSD", lots: "0.00" }],
    });
    // They are of no account that is stored.
    for (const { item } of writes) await deleteItem({ pk: item["pk"]?.S ?? "", sk: item["sk"]?.S ?? "" });
  });
});
