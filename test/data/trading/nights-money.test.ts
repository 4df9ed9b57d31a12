import { afterEach, describe, expect, it, vi } from "vitest";
import { someSymbol } from "../../support/builders/trading.ts";
import { putMarket, putQuotes } from "../../support/builders/trading-data.ts";
import { api, broker, caller, floor, itemsOf, tenant, trader } from "./trading-cases.ts";

const { marketWatch } = await import("../../support/builders/market-watch.ts");

const watch = marketWatch(api);
const prices = { EURUSD: ["1.10000", "1.10010"] } as const;
const swap = { type: "points", long: "-6.2", short: "1.1", triple_day: "wednesday", rollover_time: "22:00" } as const;

await putMarket(api, tenant, {}, [someSymbol("EURUSD", { swap })]);

afterEach(() => {
  api.watched.interfere = () => undefined;
  vi.useRealTimers();
});

/** Moves the clock of this process, with prices of that moment. */
async function at(moment: string): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date(moment) });
  await putQuotes(api, tenant, prices);
}

/** An account whose two sides cover each other, a minute before a triple night that takes 765.00 of its 99,000.00. */
async function covered() {
  await at("2027-03-17T21:59:00.000Z");
  const account = await trader("100000.00", { margin_calculation: "net" });
  await floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "50.00" });
  await floor.open(account.id, { symbol: "EURUSD", side: "sell", lots: "50.00" });
  return account;
}

const withdraw = (account_id: string, amount: string) =>
  api.call(caller, "POST", "/transactions/withdrawal", { body: { account_id, amount, status: "completed" } });

const patch = (account_id: string, body: object) => api.call(caller, "PATCH", `/accounts/${account_id}`, { body });

async function kindsOf(accountId: string): Promise<unknown[]> {
  const { data } = await broker.get(`/accounts/${accountId}/ledger`);
  return (data as { kind: string }[]).map(({ kind }) => kind);
}

const minorOf = (item: Record<string, unknown> | undefined, name: string) =>
  (item?.[name] as { number: string } | undefined)?.number;

describe("a payment a second after the rollover", () => {
  it("takes what the due night leaves and no cent more, so that nothing is to be corrected", async () => {
    const { id } = await covered();
    await at("2027-03-17T22:00:01.000Z");
    expect(await withdraw(id, "98235.01")).toMatchObject({ status: 409, body: { code: "insufficient_free_margin" } });
    expect((await withdraw(id, "98235.00")).status).toBe(201);
    await at("2027-03-17T22:00:30.000Z");
    await watch.sweep();
    await watch.evaluateSent();
    await floor.evaluate(id);
    expect(await kindsOf(id)).not.toContain("negative_balance_correction");
    expect(await broker.get(`/accounts/${id}`)).toMatchObject({ equity: "0.00" });
  });

  it("takes no cent more where the night is stored between its decision and its commit", async () => {
    const { id } = await covered();
    await at("2027-03-17T22:00:01.000Z");
    let evaluated = false;
    api.watched.interfere = async ({ operation }) => {
      if (operation !== "TransactWriteItems" || evaluated) return undefined;
      evaluated = true;
      await floor.evaluate(id);
      return undefined;
    };
    expect((await withdraw(id, "98235.00")).status).toBe(201);
    expect(evaluated).toBe(true);
    expect((await withdraw(id, "0.01")).status).toBe(409);
    const swaps = (await itemsOf(id, "POSITION")).map((item) => minorOf(item, "swap_minor"));
    expect(swaps.toSorted()).toEqual(["-93000", "16500"]);
  });

  it("is decided on nights that are charged once, though a change of leverage rewrote the positions", async () => {
    const { id } = await covered();
    await at("2027-03-17T22:00:01.000Z");
    expect((await patch(id, { leverage: 50 })).status).toBe(200);
    const margins = (await itemsOf(id, "POSITION")).map((item) => minorOf(item, "swap_minor"));
    expect(margins).toEqual(["0", "0"]);
    expect((await withdraw(id, "98235.01")).status).toBe(409);
    await at("2027-03-17T22:01:30.000Z");
    await watch.sweep();
    expect(await watch.evaluateSent()).toContain(id);
    for (const kind of ["POSITION", "TRADE"]) {
      const swaps = (await itemsOf(id, kind)).map((item) => minorOf(item, "swap_minor"));
      expect([kind, ...swaps.toSorted()]).toEqual([kind, "-93000", "16500"]);
    }
  });
});
