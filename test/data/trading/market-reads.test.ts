import { afterAll, describe, expect, it } from "vitest";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { symbols } from "../../../shared/table/entities.ts";
import { atOnce, brokerage, statusCounts } from "../../support/builders/brokerage.ts";
import { brokerNames } from "../../support/builders/symbol-names.ts";
import { someSymbol } from "../../support/builders/trading.ts";
import { putItem, putItems, putMarket, putQuote, writeOf } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";

const api = await startApi("watched");
afterAll(api.stop);

const { countRequest } = await import("../../../shared/table/counters.ts");

const caller = newCaller();
await putMarket(api, caller.tenant_id, {}, [
  someSymbol("USDCHF"),
  someSymbol("BTCUSD", { calc_mode: "cfd", asset_class: "crypto", trading_mode: "close_only", digits: 2 }),
  someSymbol("EURNOK", { halted: true }),
  someSymbol("SHUTUSD", { calc_mode: "cfd", asset_class: "equity", base_currency: "SHU", sessions: [] }),
]);
const get = (address: string, as: TestCaller = caller, atMs?: number) =>
  api.call(as, "GET", address, atMs === undefined ? {} : { atMs });

/** Operations of the last calls on the tables, without the counter. */
const reads = () => api.watched.takeCalls().flatMap(({ operation }) => (operation === "UpdateItem" ? [] : [operation]));

describe("a symbol", () => {
  it.each(["NOPE", "eurusd", "A", "%7Bsymbol%7D", "brk_1%7CSYM", "ABCDEFGHIJKLMNOPQRSTU"])(
    "%s is not there: 404 symbol_not_found, also for its quote and its margin",
    async (name) => {
      for (const address of [
        `/symbols/${name}`,
        `/quotes/${name}`,
        `/symbols/${name}/margin?leverage=1&currency=USD`,
      ]) {
        expect(await get(address)).toMatchObject({ status: 404, body: { code: "symbol_not_found" } });
      }
    },
  );

  it("of another tenant is not there either", async () => {
    const stranger = newCaller();
    expect((await get("/symbols/EURUSD", stranger)).status).toBe(404);
    expect((await get("/quotes/EURUSD", stranger)).status).toBe(404);
    expect((await get("/symbols", stranger)).body.data).toEqual([]);
    expect((await get("/quotes?symbols=EURUSD", stranger)).body.missing).toEqual([
      { symbol: "EURUSD", code: "symbol_not_found" },
    ]);
  });

  it("is read in one call, tells whether its market is open, and answers 304 while nothing moved", async () => {
    api.watched.takeCalls();
    const answer = await get("/symbols/EURUSD");
    expect(reads()).toEqual(["BatchGetItem"]);
    expect(answer.body).toMatchObject({ symbol: "EURUSD", market_status: "open", trading_mode: "enabled" });
    expect((await get("/symbols/EURNOK")).body.market_status).toBe("halted");
    const tag = answer.headers["ETag"] ?? "";
    const again = await api.call(caller, "GET", "/symbols/EURUSD", { headers: { "If-None-Match": tag } });
    expect([again.status, again.text]).toEqual([304, ""]);
  });
});

describe("the list of symbols", () => {
  const names = async (query: string) => {
    const { body } = await get(`/symbols${query}`);
    return body.data.map(({ symbol }: TradingSymbol) => symbol);
  };

  it("refuses a filter that no symbol can meet", async () => {
    expect(await get("/symbols?asset_class=tulip")).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
  });

  it("is walked page by page there and back, whatever brokers call their symbols", async () => {
    const other = newCaller();
    await putItems(
      api,
      brokerNames.map((symbol) =>
        writeOf(api, symbols, { ...someSymbol("EURUSD"), tenant_id: other.tenant_id, symbol }),
      ),
    );
    const walk = async (from: string, relation: string) => {
      const found: string[] = [];
      for (let at: string | undefined = from; at !== undefined; ) {
        const { status, text, body } = await get(at, other);
        expect([at, status, text]).toEqual([at, 200, text]);
        found.push(...body.data.map(({ symbol }: TradingSymbol) => symbol));
        from = at;
        at = body._links[relation]?.href.split("/v2")[1];
      }
      return { found, last: from };
    };
    const there = await walk("/symbols?limit=1", "next");
    expect(there.found.toSorted()).toEqual(brokerNames.toSorted());
    expect((await walk(there.last, "prev")).found.toReversed()).toEqual(there.found);
  });

  it("is by name, with filters over what is stored and over what the clock says", async () => {
    expect((await names("?limit=3")).join()).toBe("AUDNZD,AUDUSD,BTCUSD");
    expect(await names("?asset_class=metal,index")).toEqual(["GER40", "XAUUSD"]);
    expect(await names("?trading_mode=close_only")).toEqual(["BTCUSD"]);
    expect(await names("?market_status=halted,closed")).toEqual(["EURNOK", "SHUTUSD"]);
  });

  it("is walked by its links, and no symbol comes twice or never", async () => {
    const seen: string[] = [];
    let address: string | undefined = "/symbols?limit=4";
    while (address !== undefined) {
      const { body } = await get(address);
      seen.push(...body.data.map(({ symbol }: TradingSymbol) => symbol));
      address = body._links.next?.href.split("/v2")[1];
    }
    expect(seen).toEqual(await names("?limit=100"));
    expect(new Set(seen).size).toBe(seen.length);
  });
});

describe("a quote", () => {
  it("that never came answers 503 no_quote and when to come again", async () => {
    const answer = await get("/quotes/USDCHF");
    expect(answer).toMatchObject({ status: 503, body: { code: "no_quote" } });
    expect(answer.headers["Retry-After"]).toBe("1");
  });

  it("is read with its symbol in one call, and tells its age and whether the market is open", async () => {
    const time = new Date(Date.now() - 30_000).toISOString();
    await putQuote(api, caller.tenant_id, "NZDUSD", ["0.60490", "0.60510"], { time });
    api.watched.takeCalls();
    const { body } = await get("/quotes/NZDUSD");
    expect(reads()).toEqual(["BatchGetItem"]);
    expect(body).toMatchObject({
      bid: "0.60490",
      mid: "0.605000",
      spread_points: 20,
      market_status: "open",
      stale: true,
    });
    expect(body.age_ms).toBeGreaterThanOrEqual(30_000);
    expect(body).not.toHaveProperty("tenant_id");
  });

  it("of a closed market is old and not stale", async () => {
    const time = new Date(Date.now() - 3_600_000).toISOString();
    await putQuote(api, caller.tenant_id, "SHUTUSD", ["1.00000", "1.00010"], { time });
    expect((await get("/quotes/SHUTUSD")).body).toMatchObject({ market_status: "closed", stale: false });
  });
});

describe("quotes of several symbols", () => {
  it.each(["", "?symbols=", "?symbols=eur%7Cusd", `?symbols=${Array.from({ length: 51 }, (_, n) => `S${n}`).join()}`])(
    "asked for as %j are refused",
    async (query) => {
      expect(await get(`/quotes${query}`)).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
    },
  );

  it("come in the order that was asked for, and what has none is named, in one read", async () => {
    api.watched.takeCalls();
    const { body } = await get("/quotes?symbols=GER40,EURUSD,NOPE,USDCHF,XAUUSD,EURUSD");
    expect(reads()).toEqual(["BatchGetItem"]);
    expect(body.data.map(({ symbol }: { symbol: string }) => symbol)).toEqual(["EURUSD"]);
    expect(body.missing).toEqual([
      { symbol: "GER40", code: "no_quote" },
      { symbol: "NOPE", code: "symbol_not_found" },
      { symbol: "USDCHF", code: "no_quote" },
      { symbol: "XAUUSD", code: "no_quote" },
    ]);
  });
});

describe("the limit of quotes", () => {
  it("is exactly 100 in one clock second over both endpoints, and takes nothing from others", async () => {
    const own = newCaller({ tenant_id: caller.tenant_id });
    const atMs = 1_900_000_020_000;
    await atOnce(90, () => countRequest(own, "quotes", atMs));
    const kinds = ["/quotes/EURUSD", "/quotes?symbols=EURUSD,GBPUSD"];
    const answers = await atOnce(30, (index) => get(kinds[index % 2] ?? "", own, atMs));
    expect(statusCounts(answers)).toEqual({ 200: 10, 429: 20 });
    for (const { status, headers, body } of answers) {
      expect(headers).toMatchObject({ "X-RateLimit-Limit": "100", "X-RateLimit-Reset": String(atMs / 1000 + 1) });
      if (status === 429) expect(body).toMatchObject({ "violated-policies": ["quotes"] });
    }
    const left = answers.flatMap(({ status, headers }) => (status === 200 ? [headers["X-RateLimit-Remaining"]] : []));
    expect(left.map(Number).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const other = await get("/symbols/EURUSD", own, atMs);
    expect([other.status, other.headers["X-RateLimit-Remaining"]]).toEqual([200, "999"]);
    expect((await get("/quotes/EURUSD", own, atMs + 1000)).headers["X-RateLimit-Remaining"]).toBe("99");
  });
});

describe("the margin of lots", () => {
  const margin = (query: string) => get(`/symbols/${query}`);

  it.each([
    ["EURUSD/margin", 400, "invalid_parameter"],
    ["EURUSD/margin?leverage=100", 400, "invalid_parameter"],
    ["EURUSD/margin?leverage=0&currency=USD", 400, "invalid_parameter"],
    ["EURUSD/margin?leverage=100&currency=USD&lots=0.005", 400, "invalid_parameter"],
    ["EURUSD/margin?leverage=100&currency=USD&account_id=acc_01JD0000000000000000000002", 400, "invalid_parameter"],
    ["EURUSD/margin?account_id=acc_01JD0000000000000000000002", 422, "account_not_found"],
    ["EURNOK/margin?leverage=100&currency=USD", 503, "no_quote"],
  ])("is refused for %s", async (query, status, code) => {
    expect(await margin(query)).toMatchObject({ status, body: { code } });
  });

  it("is that of the worked examples", async () => {
    const { body: own } = await margin("EURUSD/margin?leverage=100&currency=USD");
    expect(own).toMatchObject({
      margin: "1100.10",
      lots: "1.00",
      price: "1.10010",
      margin_rate: "1.1001",
      stale: false,
    });
    const { body: cross } = await margin("EURGBP/margin?leverage=30&currency=USD&lots=0.3");
    expect(cross).toMatchObject({ margin: "1100.05", conversion: { via: [{ symbol: "EURUSD", op: "multiply" }] } });
    await putQuote(api, caller.tenant_id, "XAUUSD", ["2400.40", "2400.50"]);
    const { body: metal } = await margin("XAUUSD/margin?leverage=100&currency=USD&lots=0.50");
    expect(metal).toMatchObject({ margin: "6001.25", leverage: 20 });
  });

  it("for an account is by its leverage and in its currency", async () => {
    const account = await brokerage(api, caller).account(undefined, { currency: "EUR", leverage: 20 });
    const { body } = await margin(`AUDNZD/margin?account_id=${account.id}&lots=0.40`);
    expect(body).toMatchObject({ margin: "1200.13", currency: "EUR", leverage: 20, account_id: account.id });
  });

  it("needs a way to the currency", async () => {
    const lonely = newCaller();
    await putItem(api, symbols, { ...someSymbol("CADCHF"), tenant_id: lonely.tenant_id });
    await putQuote(api, lonely.tenant_id, "CADCHF", ["0.6", "0.6"]);
    const answer = await get("/symbols/CADCHF/margin?leverage=100&currency=JPY", lonely);
    expect(answer).toMatchObject({ status: 422, body: { code: "no_conversion_path" } });
  });
});

describe("conversion rates", () => {
  it("are those of the way that an amount takes, directly or over two quotes", async () => {
    api.watched.takeCalls();
    const { body } = await get("/conversion_rates?from=NZD&to=USD,EUR,CHF");
    expect(reads()).toEqual(["Query", "BatchGetItem"]);
    expect(body.data).toMatchObject([
      { from: "NZD", to: "USD", rate: "0.605000000000", via: [{ symbol: "NZDUSD", op: "multiply" }] },
      {
        from: "NZD",
        to: "EUR",
        rate: "0.549975001136",
        via: [{ symbol: "NZDUSD" }, { symbol: "EURUSD", op: "divide" }],
      },
    ]);
    expect(body.data[0]).toHaveProperty("as_of");
  });

  it("without a filter are all that there are, none of a currency to itself", async () => {
    const { body } = await get("/conversion_rates");
    const pairs = body.data.map(({ from, to }: { from: string; to: string }) => `${from}${to}`);
    expect(pairs).toContain("JPYEUR");
    expect(pairs.filter((pair: string) => pair.endsWith("NZD"))).toEqual([]);
    expect(pairs.filter((pair: string) => pair.slice(0, 3) === pair.slice(3))).toEqual([]);
    expect(new Set(pairs).size).toBe(pairs.length);
  });

  it("refuse a currency that no account has", async () => {
    expect((await get("/conversion_rates?to=XAU")).status).toBe(400);
  });
});
