import { randomInt } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { brokerage } from "../support/builders/brokerage.ts";
import { examplePrices } from "../support/builders/trading.ts";
import { putMarket } from "../support/builders/trading-data.ts";
import { startApi, type TestApi } from "../support/emulator/api.ts";
import { type RawItem, scanTable } from "../support/emulator/raw-table.ts";
import { newCaller } from "../support/emulator/request.ts";
import { findings } from "../support/oracles/oracle.ts";

const runs = Number(process.env["WALK_RUNS"] ?? "2");
const given = process.env["WALK_SEED"] ?? "20261121";
const base = given === "random" ? randomInt(2 ** 30) : Number(given);
const seeds = Array.from({ length: runs }, (_, index) => base + index);

const mids: Readonly<Record<string, readonly [mid: number, digits: number]>> = {
  EURUSD: [1.1, 5],
  USDJPY: [150, 3],
  EURGBP: [0.8626, 5],
  GBPUSD: [1.2751, 5],
};
const names = Object.keys(mids);

const opening = fc.record({
  symbol: fc.constantFrom("EURUSD", "USDJPY", "EURGBP"),
  side: fc.constantFrom("buy" as const, "sell" as const),
  lots: fc.constantFrom("0.10", "0.25", "0.40"),
});
const trader = fc.record({
  currency: fc.constantFrom("USD", "EUR", "JPY"),
  /** Its money as a percentage of what its positions take. */
  percent: fc.integer({ min: 115, max: 260 }),
  openings: fc.array(opening, { minLength: 1, maxLength: 3 }),
  stop_out_mode: fc.constantFrom("full", "partial"),
});
/** One tick, of one or of two symbols at once, each by so many hundredths of a percent. */
const tick = fc.array(fc.record({ symbol: fc.constantFrom(...names), basis: fc.integer({ min: -70, max: 70 }) }), {
  minLength: 1,
  maxLength: 2,
});
const walk = fc.record({
  traders: fc.array(trader, { minLength: 2, maxLength: 3 }),
  ticks: fc.array(tick, { minLength: 12, maxLength: 20 }),
});

/** Margin at 1:100 for a lot of each symbol, in units of the account, roughly. */
const perLot: Readonly<Record<string, number>> = { USD: 1100, EUR: 1000, JPY: 165_000 };

let api: TestApi;
beforeAll(async () => {
  vi.resetModules();
  // No window: every message is handed over before the next tick, as if it had waited for it.
  process.env["TIME_SCALE"] = "1000000";
  api = await startApi("stream", "watched");
});
afterAll(async () => {
  delete process.env["TIME_SCALE"];
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
  // A generator that no longer reaches the states would find nothing.
  expect([...reached].toSorted()).toEqual(["margin.call", "stop.out", "trade.closed", "trade.opened"]);
});
const reached = new Set<string>();
let [evaluations, judgements] = [0, 0];

/** The same accounts with the same positions in a brokerage of their own. */
async function brokerageOf({
  traders,
}: {
  traders: readonly (typeof trader extends fc.Arbitrary<infer T> ? T : never)[];
}) {
  const { tradingFloor } = await import("../support/builders/trading-floor.ts");
  const caller = newCaller();
  const broker = brokerage(api, caller);
  const floor = tradingFloor(caller.tenant_id);
  await putMarket(api, caller.tenant_id);
  const ids: string[] = [];
  for (const { currency, percent, openings, stop_out_mode } of traders) {
    const lots = openings.reduce((sum, each) => sum + Number(each.lots), 0);
    const funds = Math.round((lots * (perLot[currency] ?? 0) * percent) / 100);
    const fields = { type: "demo", leverage: 100, currency, stop_out_mode };
    const account = await broker.account(currency === "JPY" ? String(funds) : `${funds}.00`, fields);
    for (const each of openings) await floor.open(account.id, each);
    ids.push(account.id);
  }
  return { tenant: caller.tenant_id, ids, floor };
}

/** Final state of accounts: their money, and the events of each in the order of its commits. */
async function outcomeOf(ids: readonly string[]): Promise<unknown[]> {
  const items = await scanTable(api.emulator);
  const outboxes = items.filter(({ et }) => et === "OUTBOX").toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const events = outboxes.flatMap(({ events: texts }) => (texts as string[]).map((text) => JSON.parse(text)));
  return ids.map((id) => {
    const balance = items.find((item) => item["et"] === "BALANCE" && item["account_id"] === id);
    const kinds = events
      .filter(({ account_id }) => account_id === id)
      .map(({ body }) => String(body.type))
      .filter((type) => /^(?:trade|margin|stop)\./.test(type));
    for (const kind of kinds) reached.add(kind === "margin.recovered" ? "margin.call" : kind);
    return { balance: balance?.["balance_minor"], positions: balance?.["positions"], kinds };
  });
}

function orderOf(item: RawItem): string {
  return String(item["sk"]);
}

describe("accounts that are judged when the watch sends for them", () => {
  it.each(seeds)("end as those that are judged at every tick, in a walk of the seed %i", async (seed) => {
    const { marketWatch } = await import("../support/builders/market-watch.ts");
    const market = marketWatch(api);
    const [{ traders, ticks }] = fc.sample(walk, { numRuns: 1, seed }) as [
      typeof walk extends fc.Arbitrary<infer T> ? T : never,
    ];
    const [watched, always] = [await brokerageOf({ traders }), await brokerageOf({ traders })];
    // Prices that hold: no slow machine makes them old.
    for (const { tenant } of [watched, always]) {
      for (const [name, price] of Object.entries(examplePrices))
        await market.price(tenant, name, price, { held: true });
    }
    const at = new Map(names.map((name) => [name, mids[name]?.[0] ?? 1]));
    for (const moves of ticks) {
      const records = [];
      for (const { symbol, basis } of moves) {
        const mid = (at.get(symbol) ?? 1) * (1 + basis / 10_000);
        at.set(symbol, mid);
        const digits = mids[symbol]?.[1] ?? 5;
        const price = [mid.toFixed(digits), (mid * 1.0001).toFixed(digits)] as const;
        await market.price(always.tenant, symbol, price, { held: true });
        records.push(await market.price(watched.tenant, symbol, price, { held: true }));
      }
      expect(await market.see(...records)).toEqual([]);
      evaluations += (await market.evaluateSent()).length;
      for (const id of always.ids) await always.floor.evaluate(id);
      judgements += always.ids.length;
    }
    expect(await outcomeOf(watched.ids)).toEqual(await outcomeOf(always.ids));
  });

  it("are judged far less often", () => {
    if (process.env["WALK_RUNS"] !== undefined) console.log({ evaluations, judgements });
    expect(evaluations).toBeLessThan(judgements / 2);
  });
});
