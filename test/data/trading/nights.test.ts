import { afterEach, describe, expect, it, vi } from "vitest";

import { someSymbol } from "../../support/builders/trading.ts";
import { putMarket, putQuotes } from "../../support/builders/trading-data.ts";
import { scanTable } from "../../support/emulator/raw-table.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { api, floor, itemsOf, tenant, trader } from "./trading-cases.ts";

const { marketWatch } = await import("../../support/builders/market-watch.ts");

const watch = marketWatch(api);
const prices = { EURUSD: ["1.10000", "1.10010"] } as const;
const minute = 60_000;

afterEach(() => {
  api.watched.interfere = () => undefined;
  vi.useRealTimers();
});

/** Moves the clock of this process, with prices of that moment. */
async function at(moment: string | number): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date(moment) });
  await putQuotes(api, tenant, prices);
}

/** The swap of every trade of an account, in minor units: booked or accrued. */
async function swapsOf(accountId: string): Promise<string[]> {
  const trades = await itemsOf(accountId, "TRADE");
  return trades.map(({ swap_minor: minor }) => (minor as { number: string }).number).toSorted();
}

const times = (count: number, each: string) => Array.from({ length: count }, () => each);

describe("the nights of an account", () => {
  it("are charged once each over a change to summer time, though every run dies at every write", async () => {
    const swap = { type: "points", long: "-6.2", short: "1.1", triple_day: "wednesday" } as const;
    const rolled = { ...swap, rollover_time: "17:00", rollover_zone: "America/New_York" };
    await putMarket(api, tenant, {}, [someSymbol("EURUSD", { swap: rolled })]);
    const { id } = await trader("1000000.00");
    const buy = { symbol: "EURUSD", side: "buy", lots: "1.00" } as const;
    await at("2027-03-12T21:59:59.000Z");
    for (let count = 0; count < 40; count += 1) await floor.open(id, buy);
    await at("2027-03-12T22:00:00.000Z");
    for (let count = 0; count < 2; count += 1) await floor.open(id, buy);
    await at("2027-03-12T22:00:01.000Z");
    await floor.close(id, 0);
    const [closed] = (await itemsOf(id, "TRADE")).filter(({ status }) => status === "closed");
    expect(closed).toMatchObject({ swap_minor: { number: "-620" } });
    let killed = 0;
    /** Lets the sweep and the evaluator die at the first write, the second and so on, until nothing is left to do. */
    const night = async (moment: string) => {
      for (let most = 0; ; most += 1) {
        await at(Date.parse(moment) + 2 * minute * most);
        let writes = 0;
        api.watched.interfere = ({ operation }) => {
          if (operation.startsWith("Query") || operation.includes("Get")) return undefined;
          writes += 1;
          return writes > most ? failure("ResourceNotFoundException") : undefined;
        };
        await watch.sweep().catch(() => undefined);
        await watch.evaluateSent().catch(() => undefined);
        api.watched.interfere = () => undefined;
        if (writes <= most) return;
        killed += 1;
      }
    };
    await night("2027-03-12T22:01:00.000Z");
    expect(await swapsOf(id)).toEqual(["-620", ...times(39, "-620"), "0", "0"].toSorted());
    await night("2027-03-15T21:01:00.000Z");
    expect(await swapsOf(id)).toEqual(["-620", ...times(39, "-1240"), ...times(2, "-620")].toSorted());
    await night("2027-03-17T21:01:00.000Z");
    expect(await swapsOf(id)).toEqual(["-620", ...times(39, "-3720"), ...times(2, "-3100")].toSorted());
    expect(killed).toBeGreaterThan(9);
    const made = (await scanTable(api.emulator)).filter(({ et }) => et === "ROLLOVER");
    expect(made.map(({ sk, at: moment }) => [sk, moment])).toEqual([
      ["2027-03-12#USD", "2027-03-12T22:00:00.000Z"],
      ["2027-03-15#USD", "2027-03-15T21:00:00.000Z"],
      ["2027-03-16#USD", "2027-03-16T21:00:00.000Z"],
      ["2027-03-17#USD", "2027-03-17T21:00:00.000Z"],
    ]);
    await at("2027-03-18T20:00:00.000Z");
    for (let left = 41; left > 0; left -= 1) await floor.close(id, 0);
    const swaps = (await itemsOf(id, "LEDGER")).filter(({ kind }) => kind === "swap");
    const booked = swaps.reduce(
      (sum, { amount_minor: minor }) => sum + Number((minor as { number: string }).number),
      0,
    );
    expect(booked).toBe(-620 - 39 * 3720 - 2 * 3100);
  }, 60_000);
});
