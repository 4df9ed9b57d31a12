import { BatchWriteItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, expect, it } from "vitest";
import type { Exposure } from "../../../shared/domain/records/risk.ts";
import { draftRisk } from "../../../shared/domain/trading/risk.ts";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { accounts, balances, exposures, positions, risks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { decisionContext } from "../../support/builders/decisions.ts";
import { someMarket, somePosition, tradingAccount, usd } from "../../support/builders/trading.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller } from "../../support/emulator/request.ts";
import type { TableCall } from "../../support/emulator/watched-endpoint.ts";

/** Exposed accounts; the larger number is 10,000 in the long form. */
const sizes = [1000, Number(process.env["EXPOSED_ACCOUNTS"] ?? 3_000)];
const inside = 20;
/** Reads of each evaluation: account, money, risk, one position, and one symbol with its quote. */
const perAccount = 6;
/** The symbols of the tenant, which evaluations side by side read once. */
const shared = 11;

// Without a stream: thousands of entries are written.
const api = await startApi("watched");
afterAll(api.stop);
const { marketWatch } = await import("../../support/builders/market-watch.ts");
const market = marketWatch(api);

async function putAll(items: readonly Record<string, unknown>[]): Promise<void> {
  for (let at = 0; at < items.length; at += 25) {
    const puts = items.slice(at, at + 25).map((item) => ({ PutRequest: { Item: marshall(item) } }));
    await api.emulator.client.send(new BatchWriteItemCommand({ RequestItems: { [api.emulator.tableName]: puts } }));
  }
}

/** An account that bought one lot with 1,650 behind it: called at a bid of about 1.0946. */
function nearAccount(tenant_id: string): Record<string, unknown>[] {
  const id = newId("acc");
  const made = tradingAccount("1650.00", { id, tenant_id, type: "demo" });
  const position = somePosition(made.account, someMarket(), {
    symbol: "EURUSD",
    side: "buy",
    lots: "1.00",
    open_price: "1.10010",
    tenant_id,
  });
  const triggers = [{ symbol: "EURUSD", down: "1094700000000", up: null, shards }];
  const risk = {
    ...draftRisk(made.account, decisionContext({ tenant_id })),
    triggers,
    seq: 0,
    pos_version: 0,
  };
  const own = { account_id: id, tenant_id, positions: 1, used_margin_minor: usd("1100.10") };
  return [
    itemOf(accounts, made.account),
    itemOf(balances, { ...made.balance, ...own }),
    itemOf(positions, position),
    itemOf(risks, { ...risk, margin_level: "149.07" }),
    itemOf(exposures, entry(tenant_id, id, "dn", 109_470)),
  ];
}

const { first_exposure_shards: shards } = limits.trading;

function entry(tenant_id: string, account_id: string, direction: Exposure["direction"], points: number) {
  return { tenant_id, account_id, symbol: "EURUSD", direction, trigger: `${points}0000000`, shards };
}

/** Entries of accounts that the move does not reach, on both sides of the price. */
function farEntries(tenant_id: string, count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? itemOf(exposures, entry(tenant_id, newId("acc"), "dn", 60_000 + (index % 45_000)))
      : itemOf(exposures, entry(tenant_id, newId("acc"), "up", 115_000 + (index % 45_000))),
  );
}

/** Items that DynamoDB read for these calls, those that a filter would have dropped included. */
function itemsRead(calls: readonly TableCall[]): number {
  return calls.reduce((sum, { output }) => {
    const found = Object.values((output?.["Responses"] ?? {}) as Record<string, unknown[]>).flat().length;
    return sum + found + Number(output?.["ScannedCount"] ?? 0);
  }, 0);
}

it(`a tick reads an entry for each account inside the move, of ${sizes.join(" or ")} exposed`, async () => {
  const told: Record<string, number>[] = [];
  for (const exposed of sizes) {
    const { tenant_id: tenant } = newCaller();
    await putMarket(api, tenant);
    const near = Array.from({ length: inside }, () => nearAccount(tenant)).flat();
    await putAll([...near, ...farEntries(tenant, exposed - inside)]);
    const record = await market.price(tenant, "EURUSD", ["1.09400", "1.09410"]);
    api.watched.takeCalls();
    expect(await market.see(record)).toEqual([]);
    const watched = api.watched.takeCalls();
    const evaluated = await market.evaluateSent();
    expect(new Set(evaluated).size).toBe(inside);
    const judged = api.watched.takeCalls();
    told.push({
      calls: watched.filter(({ operation }) => operation === "Query").length,
      watched: itemsRead(watched),
      judged: itemsRead(judged),
    });
    // The accounts were judged: each of them is called, and waits for another price now.
    expect(judged.filter(({ operation }) => operation === "TransactWriteItems")).toHaveLength(inside);
    await market.see(await market.price(tenant, "EURUSD", ["1.09390", "1.09400"]));
    expect(market.sentFor()).toEqual([]);
  }
  // Evaluations that come later have the terms of the symbol from one before them.
  const judged = expect.toSatisfy((items: number) => items <= perAccount * inside + shared);
  const expected = { calls: 2 * limits.trading.first_exposure_shards, watched: inside, judged };
  expect(told).toEqual(sizes.map(() => expected));
}, 120_000);
