import { afterAll, afterEach, describe, expect, it } from "vitest";
import { quotes as quoteEntity, symbols as symbolEntity } from "../../shared/data/entities.ts";
import { seedQuotes, seedSymbols } from "../../shared/domain/sandbox/seed.ts";
import { startApi } from "../support/api.ts";
import { atOnce, brokerage } from "../support/brokerage.ts";
import { findings } from "../support/oracle.ts";
import { newCaller } from "../support/request.ts";
import { putItem, putQuote } from "../support/trading-data.ts";

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
