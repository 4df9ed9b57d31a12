import { afterAll, beforeEach, expect } from "vitest";
import { brokerage } from "../../support/builders/brokerage.ts";
import { examplePrices } from "../../support/builders/trading.ts";
import { putMarket, putQuotes } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { type RawItem, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";
import { findings } from "../../support/oracles/oracle.ts";

export const api = await startApi("stream", "watched");

afterAll(async () => {
  const found = await findings(api.emulator);
  await api.stop();
  expect(found).toEqual([]);
});

const { tradingFloor } = await import("../../support/builders/trading-floor.ts");

export const caller = newCaller();

export const tenant = caller.tenant_id;

export const broker = brokerage(api, caller);

export const floor = tradingFloor(tenant);

await putMarket(api, tenant);

// A price serves for a minute, which a file takes on a busy machine.
beforeEach(() => putQuotes(api, tenant, examplePrices));

export const eurusd = { symbol: "EURUSD", side: "buy", lots: "1.00" } as const;

/** A demo account, so that retail leverage does not hold it back. */
export const trader = (amount: string, more: object = {}) =>
  broker.account(amount, { type: "demo", leverage: 100, ...more });

export async function itemsOf(accountId: string, type: string): Promise<RawItem[]> {
  const items = await scanTable(api.emulator);
  return items.filter((item) => item["et"] === type && item["account_id"] === accountId);
}

/** The kinds of the events of an account that its commits wrote, those of its opening and deposit left out. */
export async function announced(accountId: string): Promise<string[]> {
  const outboxes = (await scanTable(api.emulator)).filter(({ et }) => et === "OUTBOX");
  const bodies = outboxes
    .toSorted((a, b) => (String(a["sk"]) < String(b["sk"]) ? -1 : 1))
    .flatMap(({ events }) => (events as string[]).map((event) => JSON.parse(event)));
  return bodies
    .filter(({ account_id }) => account_id === accountId)
    .map(({ body }) => body.type)
    .filter((type) => !type.startsWith("account.") && !type.startsWith("transaction."));
}
