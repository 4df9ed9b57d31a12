import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import type { Trade } from "../../../shared/domain/records/trade.ts";
import type { TradingChange } from "../../../shared/domain/records/trading-change.ts";
import { limits } from "../../../shared/limits.ts";
import { pulses, symbols, trades } from "../../../shared/table/entities.ts";
import { someAccount } from "../../support/builders/decisions.ts";
import { someMarket, somePosition, someSymbol } from "../../support/builders/trading.ts";
import { putItem, putMarket, putQuote } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { unitsOf } from "../../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);

const { readMarket, readMarketOf, readMarketToJudge } = await import("../../../shared/trading/market.ts");
const { putItem: putStored } = await import("../../../shared/table/items.ts");
const { pageOfIndex } = await import("../../../shared/table/list.ts");

const { loadItems } = await import("../../../shared/table/store.ts");
const { transact } = await import("../../../shared/table/transact.ts");
const { tradingRef, writeTrading } = await import("../../../shared/trading/items.ts");

const namesIn = (map: ReadonlyMap<string, unknown>) => [...map.keys()].toSorted();

describe("the market of a decision", () => {
  it("is empty where nothing is valued, without a read", async () => {
    const { tenant_id } = newCaller();
    api.watched.takeCalls();
    const market = await readMarket(tenant_id, []);
    expect([market.symbols.size, market.quotes.size, api.watched.takeCalls()]).toEqual([0, 0, []]);
  });

  it("holds no symbol that a deal does not depend on, and no tenant's but its own", async () => {
    const [mine, other] = [newCaller().tenant_id, newCaller().tenant_id];
    await putMarket(api, mine);
    await putMarket(api, other, { EURUSD: ["9.00000", "9.00010"] });
    const market = await readMarket(mine, [{ symbol: "EURUSD", currency: "USD" }]);
    expect(namesIn(market.symbols)).toEqual(["EURUSD"]);
    expect(market.quotes.get("EURUSD")?.bid).toBe("1.10000");
  });

  it("holds the pairs of a conversion in one step and in two, read in one call", async () => {
    const { tenant_id } = newCaller();
    await putMarket(api, tenant_id);
    await readMarket(tenant_id, [{ symbol: "AUDNZD", currency: "EUR" }]);
    await putQuote(api, tenant_id, "NZDUSD", ["0.70000", "0.70010"]);
    api.watched.takeCalls();
    const market = await readMarket(tenant_id, [{ symbol: "AUDNZD", currency: "EUR" }]);
    expect(api.watched.takeCalls().map(({ operation }) => operation)).toEqual(["BatchGetItem"]);
    expect(namesIn(market.quotes)).toEqual(["AUDNZD", "AUDUSD", "EURUSD", "NZDUSD"]);
    expect(market.quotes.get("NZDUSD")?.bid).toBe("0.70000");
  });

  it("holds a symbol that was made a moment ago", async () => {
    const { tenant_id } = newCaller();
    await putMarket(api, tenant_id);
    await readMarket(tenant_id, [{ symbol: "EURUSD", currency: "USD" }]);
    await putMarket(api, tenant_id, { EURCHF: ["0.95000", "0.95010"] }, [someSymbol("EURCHF")]);
    const market = await readMarket(tenant_id, [{ symbol: "EURCHF", currency: "USD" }]);
    expect(namesIn(market.symbols)).toEqual(["EURCHF", "EURUSD"]);
  });
});

describe("the market that an account is judged at", () => {
  const wanted = [{ symbol: "EURUSD", currency: "USD" }];
  afterEach(() => {
    vi.useRealTimers();
  });

  it("has the newest prices and terms of the last two seconds, of the tenant alone", async () => {
    const { tenant_id } = newCaller();
    await putMarket(api, tenant_id);
    const [began_ms, terms] = [Date.now(), async () => (await readMarketToJudge(tenant_id, wanted)).symbols];
    vi.useFakeTimers({ toFake: ["Date"], now: began_ms });
    expect((await terms()).get("EURUSD")?.halted).toBe(false);
    await putItem(api, symbols, someSymbol("EURUSD", { tenant_id, halted: true }));
    await putQuote(api, tenant_id, "EURUSD", ["1.20000", "1.20010"]);
    vi.setSystemTime(began_ms + limits.trading.terms_remembered_ms - 1);
    api.watched.takeCalls();
    const market = await readMarketToJudge(tenant_id, wanted);
    expect([market.symbols.get("EURUSD")?.halted, market.quotes.get("EURUSD")?.bid]).toEqual([false, "1.20000"]);
    expect(unitsOf(api.watched.takeCalls())).toBe(1);
    expect((await readMarket(tenant_id, wanted)).symbols.get("EURUSD")?.halted).toBe(true);
    vi.setSystemTime(began_ms + limits.trading.terms_remembered_ms);
    expect((await terms()).get("EURUSD")?.halted).toBe(true);
    const other = newCaller().tenant_id;
    await putMarket(api, other);
    expect((await readMarketToJudge(other, wanted)).symbols.get("EURUSD")?.halted).toBe(false);
  });
});

describe("the market of positions that are still being read", () => {
  const held = { symbol: "EURUSD", currency: "USD", source: "mt5:live" };
  const quotesOf = async (tenant: string, positions: readonly (typeof held)[], expected: readonly (typeof held)[]) => {
    api.watched.takeCalls();
    const market = await readMarketOf(tenant, Promise.resolve(positions), expected);
    return { quotes: namesIn(market.quotes), calls: api.watched.takeCalls().map(({ operation }) => operation) };
  };

  it("is read once where they are of what was expected, and again where they are not", async () => {
    const { tenant_id } = newCaller();
    await putMarket(api, tenant_id);
    const own = { ...held, source: "internal" };
    await readMarket(tenant_id, [own]);
    const read = ["BatchGetItem"];
    expect(await quotesOf(tenant_id, [own], [own])).toEqual({ quotes: ["EURUSD"], calls: read });
    expect(await quotesOf(tenant_id, [own], [])).toEqual({ quotes: ["EURUSD"], calls: read });
    const other = { ...own, symbol: "GBPUSD" };
    expect(await quotesOf(tenant_id, [other], [own])).toEqual({ quotes: ["GBPUSD"], calls: [...read, ...read] });
    expect(await quotesOf(tenant_id, [], [])).toEqual({ quotes: [], calls: [] });
  });

  it("holds the pulse of a source, and is read once when positions of the tenant were seen of it", async () => {
    const { tenant_id } = newCaller();
    await putMarket(api, tenant_id);
    await putStored(pulses, {
      tenant_id,
      name: held.source,
      authoritative: "platform",
      heartbeat_at: "2026-11-22T00:00:00.000Z",
    });
    await readMarket(tenant_id, [held]);
    for (const reads of [2, 1]) {
      api.watched.takeCalls();
      const market = await readMarketOf(tenant_id, Promise.resolve([held]), [held]);
      expect(market.sources?.get(held.source)?.heartbeat_at).toBe("2026-11-22T00:00:00.000Z");
      expect(api.watched.takeCalls()).toHaveLength(reads);
    }
  });
});

describe("a position", () => {
  it("is removed only as it was read, and its account tells where it is", async () => {
    const { account } = someAccount();
    const position = somePosition(account, someMarket(), {
      symbol: "EURUSD",
      side: "buy",
      lots: "1.00",
      open_price: "1.10010",
    });
    const at = { position: tradingRef.position(account.id, position.id) };
    const send = (change: TradingChange) => transact([writeTrading(change, position.tenant_id)]);
    await send({ op: "create", entity: "position", item: position });
    expect((await loadItems(position.tenant_id, at)).position).toEqual(position);
    await expect(send({ op: "remove", entity: "position", before: { ...position, version: 2 } })).rejects.toThrow();
    await send({ op: "remove", entity: "position", before: position });
    expect((await loadItems(position.tenant_id, at)).position).toBeUndefined();
  });
});

describe("what only trades are filtered by", () => {
  it("is carried by the indexes, and is no part of the trade", async () => {
    const { tenant_id } = newCaller();
    const trade = (id: string, fields: Partial<Trade>) =>
      putItem(api, trades, {
        id: `trd_01JD000000000000000000000${id}`,
        tenant_id,
        account_id: "acc_01JD0000000000000000000001",
        symbol: "EURUSD",
        side: "buy",
        status: "open",
        open_at: "2026-11-21T06:30:00.000Z",
        close_at: null,
        close_reason: null,
        gross_minor: 5n,
        ...fields,
      } as Trade);
    await trade("1", {});
    await trade("2", { side: "sell", open_at: "2026-11-21T06:29:00.000Z" });
    await trade("3", { symbol: "USDJPY" });
    const keep = (entry: Readonly<Record<string, unknown>>) => entry["symbol"] === "EURUSD";
    const page = await pageOfIndex<Trade>("list", [trades.all(tenant_id)], {
      limit: 9,
      descending: true,
      cursor: undefined,
      keep,
    });
    expect(page.items.map(({ id, symbol }) => [id.slice(-1), symbol])).toEqual([
      ["1", "EURUSD"],
      ["2", "EURUSD"],
    ]);
    expect(page.items[0]).not.toHaveProperty("facets");
  });
});
