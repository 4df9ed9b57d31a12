import { afterAll, describe, expect, it } from "vitest";
import { quotes } from "../../../shared/table/entities.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { someSymbol } from "../../support/builders/trading.ts";
import { putMarket, putQuote } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { type RawItem, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";

const api = await startApi("watched");
afterAll(api.stop);

const caller = newCaller();
const broker = brokerage(api, caller);
await putMarket(api, caller.tenant_id, { USDCAD: ["1.35000", "1.35010"] }, [
  someSymbol("USDCAD", { lot_max: "100000000.00" }),
]);
/** Before any quote of a test. */
const longAgo = new Date(Date.now() - 3_600_000).toISOString();

const call = (method: string, address: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  api.call(caller, method, address, { ...(body === undefined ? {} : { body }), headers });

let names = 0;

/** A source of its own that sends prices; each answer is the list of status or code of its prices. */
async function newSource() {
  names += 1;
  const { body: source } = await call("POST", "/feed/sources", { name: `mt5:quotes-${names}`, platform: "mt5" });
  const path = `/feed/sources/${source.id}`;
  return {
    path,
    name: source.name as string,
    send: async (given: readonly ReturnType<typeof price>[], epoch?: number): Promise<string[]> => {
      const body = { quotes: given, ...(epoch === undefined ? {} : { epoch }) };
      const answer = await call("POST", `${path}/quotes`, body);
      if (answer.status !== 200) throw new Error(answer.text);
      return answer.body.results.map(({ status, code }: { status: string; code?: string }) => code ?? status);
    },
    begin: async (headers: Readonly<Record<string, string>> = {}) =>
      (await call("POST", `${path}/epochs`, undefined, headers)).body.quote_epoch as number,
  };
}

function price(symbol: string, bid: string, seq: number, agoMs = 0) {
  const time = new Date(Date.now() - agoMs).toISOString();
  return { symbol, bid, ask: `${bid.slice(0, -2)}99`, time, seq: String(seq) };
}

const quoteOf = async (symbol: string) => (await call("GET", `/quotes/${symbol}`)).body;
const storedQuote = async (symbol: string) => {
  const { pk } = quotes.key(caller.tenant_id, symbol);
  const found = (await scanTable(api.emulator, api.emulator.volatileTableName)).find((item) => item["pk"] === pk);
  return found as RawItem;
};

describe("numbers of a source", () => {
  it("are remembered while another source quotes the symbol", async () => {
    const [a, b] = [await newSource(), await newSource()];
    expect(await a.send([price("EURUSD", "1.30000", 100)])).toEqual(["accepted"]);
    expect(await b.send([price("EURUSD", "1.30010", 1)])).toEqual(["accepted"]);
    expect(await a.send([price("EURUSD", "1.00000", 99, 30_000)])).toEqual(["old_sequence"]);
    expect(await a.send([price("EURUSD", "1.30020", 101, 30_000)])).toEqual(["superseded"]);
    expect(await a.send([price("EURUSD", "1.30020", 101)])).toEqual(["old_sequence"]);
    expect(await quoteOf("EURUSD")).toMatchObject({ bid: "1.30010", source: b.name, sequence: "1" });
    expect(await quoteOf("EURUSD")).not.toHaveProperty("marks");
  });

  it("outlive prices that the sandbox's market sets", async () => {
    const a = await newSource();
    await a.send([price("GBPUSD", "1.27000", 100)]);
    const set = await call("POST", "/sandbox/prices", { prices: [{ symbol: "GBPUSD", bid: "1.50000" }] });
    expect(set.status).toBe(200);
    expect(await a.send([price("GBPUSD", "1.00000", 100)])).toEqual(["old_sequence"]);
    expect(await a.send([price("GBPUSD", "1.27000", 101)])).toEqual(["accepted"]);
  });

  it("are lost in no race: each source's last number is kept, however many sources send at once", async () => {
    await putQuote(api, caller.tenant_id, "USDJPY", ["150.000", "150.010"], { received_at: longAgo });
    const sources = await atOnce(3, () => newSource());
    const sent = await atOnce(9, (place) => {
      const sequence = Math.floor(place / 3) + 1;
      return sources[place % 3]?.send([price("USDJPY", "150.000", sequence)]) ?? Promise.resolve([]);
    });
    const known = new Map<string, number>();
    for (const [place, [result]] of sent.entries()) {
      const name = sources[place % 3]?.name ?? "";
      const sequence = Math.floor(place / 3) + 1;
      if (result === "accepted") known.set(name, Math.max(known.get(name) ?? 0, sequence));
    }
    for (const source of sources) {
      const sequence = known.get(source.name);
      if (sequence === undefined) continue;
      expect(await source.send([price("USDJPY", "140.000", sequence)])).toEqual(["old_sequence"]);
    }
    expect(known.size).toBeGreaterThan(0);
    expect((await quoteOf("USDJPY")).bid).toBe("150.000");
  });

  it("cost no call more than a price that is written did", async () => {
    const a = await newSource();
    await a.send([price("AUDUSD", "0.66000", 1)]);
    api.watched.takeCalls();
    await a.send([price("AUDUSD", "0.66010", 2), price("EURGBP", "0.86200", 3), price("AUDUSD", "0.60000", 1)]);
    const calls = api.watched.takeCalls().map(({ operation }) => operation);
    expect(calls.toSorted()).toEqual(["BatchGetItem", "BatchGetItem", "PutItem", "PutItem", "UpdateItem"]);
  });

  it("of fifty sources with the longest names stay within an item that one read unit or two bring", async () => {
    const longest = Object.fromEntries(
      Array.from({ length: 50 }, (_, place) => {
        const name = `${"a".repeat(16)}:${String(place).padEnd(47, "b")}`;
        return [name, [2 ** 31, "9".repeat(15)] as const];
      }),
    );
    await putQuote(api, caller.tenant_id, "NZDUSD", ["0.60000", "0.60099"], { marks: longest });
    const a = await newSource();
    expect(await a.send([price("NZDUSD", "0.60000", 1)])).toEqual(["accepted"]);
    const stored = await storedQuote("NZDUSD");
    expect(Object.keys((stored["marks"] as { readonly map: RawItem }).map).length).toBe(51);
    expect(Buffer.byteLength(JSON.stringify(stored))).toBeLessThan(8192);
  });
});

describe("an epoch", () => {
  it("lets a restarted bridge number from 1 again, and ends the prices of the one before", async () => {
    const source = await newSource();
    const symbol = "EURJPY";
    expect(await source.send([price(symbol, "165.000", 771)])).toEqual(["accepted"]);
    expect(await source.send([price(symbol, "165.100", 1)])).toEqual(["old_sequence"]);
    expect(await source.send([price(symbol, "165.100", 1)], 2)).toEqual(["unknown_epoch"]);
    expect(await source.begin()).toBe(2);
    expect(await source.send([price(symbol, "165.200", 1)], 2)).toEqual(["accepted"]);
    expect(await source.send([price(symbol, "165.300", 772)])).toEqual(["old_epoch"]);
    expect(await source.send([price(symbol, "165.300", 1)], 2)).toEqual(["old_sequence"]);
    expect(await quoteOf(symbol)).toMatchObject({ bid: "165.200", sequence: "1" });
  });

  it("is issued once for one Idempotency-Key, and one after the other to those who ask at once", async () => {
    const source = await newSource();
    const keyed = await atOnce(3, () => source.begin({ "Idempotency-Key": "restart-1" }));
    expect(keyed).toEqual([2, 2, 2]);
    const issued = await atOnce(4, () => source.begin());
    expect(issued.toSorted()).toEqual([3, 4, 5, 6]);
    expect((await call("GET", source.path)).body).toMatchObject({ quote_epoch: 6, expected_next_seq: "1" });
  });

  it("survives batches, whose numbers go on", async () => {
    const source = await newSource();
    await source.begin();
    const items = [{ seq: "1", type: "swap", data: { position_id: "P-1", amount: "-1.00", for_date: "2026-11-20" } }];
    const answer = await call("POST", `${source.path}/batches`, { first_seq: "1", items });
    expect(answer.body).toMatchObject({ expected_next_seq: "2" });
    expect((await call("GET", source.path)).body).toMatchObject({ quote_epoch: 2, accepted_through: "1" });
  });

  it("of a source that is not there is not found", async () => {
    const answer = await call("POST", "/feed/sources/src_01JD000000000000000000000Z/epochs");
    expect(answer.status).toBe(404);
  });
});

describe("a symbol with a filter of outliers", () => {
  const terms = {
    ...{ symbol: "CHFJPY", description: "Swiss Franc vs Yen", asset_class: "forex", calc_mode: "forex" },
    ...{ base_currency: "CHF", quote_currency: "JPY", margin_currency: "CHF", digits: 3, point: "0.001" },
    ...{ pip_size: "0.01", contract_size: "100000", lot_min: "0.01", lot_max: "100.00", lot_step: "0.01" },
    commission: { type: "none", amount: "0", currency: "USD" },
    swap: { type: "none", long: "0", short: "0", triple_day: null, rollover_time: "22:00" },
    sessions: [],
  };

  it("is taken from the feed with a bound of more than 0 and at most 100 percent, and shows it", async () => {
    const { path } = await newSource();
    const bounds = ["0", "0.00", "100.01", "100", "0.5"];
    const items = bounds.map((max_deviation_percent, place) => {
      return { seq: String(place + 1), type: "symbol", data: { ...terms, max_deviation_percent } };
    });
    const { body } = await call("POST", `${path}/batches`, { first_seq: "1", items });
    const statuses = body.results.map(({ status, code }: { status: string; code?: string }) => code ?? status);
    const wrong = "validation_failed";
    expect(statuses).toEqual([wrong, wrong, wrong, "applied", "applied"]);
    expect((await call("GET", "/symbols/CHFJPY")).body.max_deviation_percent).toBe("0.5");
    const shown = (await call("GET", "/symbols?limit=100")).body.data as { symbol: string }[];
    expect(shown.find(({ symbol }) => symbol === "CHFJPY")).toMatchObject({ max_deviation_percent: "0.5" });
    expect(shown.find(({ symbol }) => symbol === "EURUSD")).toMatchObject({ max_deviation_percent: null });
  });

  it("puts a price that is far off aside until another one confirms it, and then moves", async () => {
    const [a, b] = [await newSource(), await newSource()];
    expect(await a.send([price("CHFJPY", "170.000", 1)])).toEqual(["accepted"]);
    expect(await a.send([price("CHFJPY", "117.000", 2)])).toEqual(["deviation_unconfirmed"]);
    expect(await quoteOf("CHFJPY")).toMatchObject({ bid: "170.000", sequence: "1" });
    expect(await quoteOf("CHFJPY")).not.toHaveProperty("aside");
    expect(await b.send([price("CHFJPY", "170.100", 1)])).toEqual(["accepted"]);
    expect(await a.send([price("CHFJPY", "117.000", 3)])).toEqual(["deviation_unconfirmed"]);
    expect(await b.send([price("CHFJPY", "117.100", 2)])).toEqual(["accepted"]);
    expect(await quoteOf("CHFJPY")).toMatchObject({ bid: "117.100", source: b.name });
  });
});

describe("the bounds of prices and positions", () => {
  const impossible = "999999999999999.00000";

  it("refuse a price that no market has, of a feed and of the sandbox, each naming the rule", async () => {
    const source = await newSource();
    const sent = { ...price("USDCAD", "1.35000", 1), bid: impossible, ask: impossible };
    expect(await source.send([sent])).toEqual(["price_out_of_bounds"]);
    const set = await call("POST", "/sandbox/prices", { prices: [{ symbol: "USDCAD", bid: impossible }] });
    expect(set).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "#/prices/0/bid", code: "invalid_price" }] },
    });
    expect(set.body.errors[0].detail).toMatch(/^must be between 0\.06750 and 27\.00000 today$/);
    expect(await quoteOf("USDCAD")).toMatchObject({ bid: "1.35000" });
  });

  it("refuse an opening that could take the balance beyond its own", async () => {
    const account = await broker.account("1000.00");
    const body = { account_id: account.id, symbol: "USDCAD", side: "buy", lots: "1000000.01" };
    expect(await call("POST", "/sandbox/trades", body)).toMatchObject({
      status: 409,
      body: { code: "exposure_too_large", detail: /be worth 100000000000\.00 USD/ },
    });
    expect(await call("POST", "/sandbox/trades", { ...body, lots: "1000000.00" })).toMatchObject({
      body: { code: "insufficient_margin" },
    });
  });

  it("refuse no close of a platform, and its money can leave even from beyond the bound", async () => {
    const { path } = await newSource();
    const account = await broker.account("1000.00", { type: "demo", platform: "mt5", platform_login: "71000001" });
    const both = (place: number) => [
      {
        ...{ action: "open", platform_login: "71000001", deal_id: `O-${place}`, position_id: `P-${place}` },
        ...{ symbol: "EURGBP", side: "buy", lots: "0.01", price: "0.86270" },
      },
      {
        ...{ action: "close", deal_id: `C-${place}`, position_id: `P-${place}` },
        ...{ price: impossible, profit: "999999999999999.00" },
      },
    ];
    const deals = Array.from({ length: 11 }, (_, place) => both(place));
    const data = [...deals.map(([opening]) => opening), ...deals.map(([, closing]) => closing)];
    for (const [place, each] of data.entries()) {
      const item = { seq: String(place + 1), type: "execution", data: each };
      const { body } = await call("POST", `${path}/batches`, { first_seq: item.seq, items: [item] });
      expect(body.results).toMatchObject([{ status: "applied" }]);
    }
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "11000000000000989.00" });
    const withdrawal = { account_id: account.id, amount: "100.00", status: "completed" };
    expect(await call("POST", "/transactions/withdrawal", withdrawal)).toMatchObject({ status: 201 });
    expect(await broker.get(`/accounts/${account.id}`)).toMatchObject({ balance: "11000000000000889.00" });
  });
});
