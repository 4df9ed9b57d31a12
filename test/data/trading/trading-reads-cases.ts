import { afterAll, beforeAll, expect } from "vitest";
import type { Order } from "../../../shared/domain/records/order.ts";
import { orders } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someOrder } from "../../support/builders/trading.ts";
import { putItem, putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";

export const api = await startApi("watched");

afterAll(api.stop);

export const { tradingFloor } = await import("../../support/builders/trading-floor.ts");

export const caller = newCaller();

export const tenant = caller.tenant_id;

export const broker = brokerage(api, caller);

export const floor = tradingFloor(tenant);

export const get = (address: string, as: TestCaller = caller) => api.call(as, "GET", address);

// biome-ignore lint/suspicious/noExplicitAny: items of several lists are looked at by the names of their members.
export type Item = any;

/** Every item of a list, walked by its links in pages of three. */
export async function all(address: string): Promise<Item[]> {
  const items: Item[] = [];
  let at: string | undefined = `${address}${address.includes("?") ? "&" : "?"}limit=3`;
  while (at !== undefined) {
    const { status, text, body } = await get(at);
    expect([at, status, text]).toEqual([at, 200, text]);
    items.push(...body.data);
    at = body._links.next?.href.split("/v2")[1];
  }
  return items;
}

export const demo = { type: "demo", leverage: 100 };

export const traded: Item[] = [];

export let idle: Item;

export let pending: Order;

export async function open(account: Item, symbol: string, side: "buy" | "sell", lots: string): Promise<string> {
  const outcome = await floor.open(account.id, { symbol, side, lots });
  if (outcome.kind !== "done" || outcome.result.trade === undefined) throw new Error(JSON.stringify(outcome));
  return outcome.result.trade.id;
}

/** Two accounts that trade in three symbols, one that does not, and orders in every state. */
beforeAll(async () => {
  await putMarket(api, tenant);
  idle = await broker.account("50.00", demo);
  for (const amount of ["5000.00", "20000.00"]) {
    const account = await broker.account(amount, demo);
    traded.push(account);
    await open(account, "EURUSD", "buy", "1.00");
    await open(account, "GBPUSD", "sell", "0.30");
    await open(account, "EURGBP", "buy", "0.20");
    await open(account, "EURUSD", "sell", "0.40");
    await floor.close(account.id, 0, "0.40");
    await floor.close(account.id, 1, undefined, "dealer");
  }
  const statuses = ["pending", "pending", "filled", "cancelled", "expired", "rejected"] as const;
  for (const [index, status] of statuses.entries()) {
    const type = index === 1 ? "stop" : "limit";
    const { id: account_id, client_id } = traded[index % 2];
    // As one that a platform reports: it was made there before it had an identifier here, and some later ones first.
    const now = new Date(Date.now() - (index % 3) * 60_000).toISOString();
    const owner = { tenant_id: tenant, account_id, client_id, created_at: now, updated_at: now };
    const order = someOrder({ ...owner, status, type, symbol: index === 1 ? "GBPUSD" : "EURUSD" });
    await putItem(api, orders, order);
    if (index === 0) pending = order;
  }
});

const moments: Readonly<Record<string, string>> = {
  open_at: "open_at",
  close_at: "close_at",
  opened_at: "opened_at",
  created_at: "created_at",
};

/** In the order of a moment, ties by identifier. */
export function sorted(items: readonly Item[], sort: string): Item[] {
  const name = moments[sort.replace("-", "")] ?? "";
  const upward = items.toSorted((a, b) => (a[name] + a.id < b[name] + b.id ? -1 : 1));
  return sort.startsWith("-") ? upward.toReversed() : upward;
}

export const ids = (items: readonly Item[]) => items.map(({ id }) => id);

/** Filters with words that occur, that do not, and together; `expected` is the same by hand. */
export const lists: readonly [
  path: string,
  everything: string,
  queries: readonly Record<string, string>[],
  sorts: string[],
][] = [
  [
    "/trades",
    "/trades",
    [
      {},
      { status: "open" },
      { status: "closed" },
      { status: "open,closed" },
      { symbol: "EURUSD" },
      { symbol: "EURGBP,GBPUSD" },
      { symbol: "GER40" },
      { side: "sell" },
      { close_reason: "dealer,partial_close" },
      { status: "open", symbol: "EURUSD", side: "buy" },
      { account_id: "0" },
      { account_id: "1", status: "closed" },
    ],
    ["-open_at", "open_at"],
  ],
  [
    "/positions",
    "/positions",
    [{}, { symbol: "EURUSD" }, { symbol: "EURGBP,EURUSD" }, { side: "sell" }, { account_id: "1", symbol: "EURGBP" }],
    ["-opened_at", "opened_at"],
  ],
  [
    "/orders",
    "/orders?status=pending,filled,cancelled,expired,rejected",
    [
      { status: "pending" },
      { status: "filled,cancelled" },
      { status: "pending,filled,cancelled,expired,rejected", symbol: "EURUSD" },
      { status: "pending", type: "stop" },
      { status: "pending", side: "buy" },
      { status: "rejected,expired", account_id: "1" },
    ],
    ["-created_at", "created_at"],
  ],
];
