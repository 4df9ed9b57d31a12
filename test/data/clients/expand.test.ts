import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { orders } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someOrder } from "../../support/builders/trading.ts";
import { putItem, putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { text } from "../../support/emulator/raw-items.ts";
import { itemsOf } from "../../support/emulator/raw-table.ts";
import { newCaller } from "../../support/emulator/request.ts";

const api = await startApi("watched");
afterAll(api.stop);
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");

const caller = newCaller();
const broker = brokerage(api, caller);
const owners: string[] = [];

beforeAll(async () => {
  await putMarket(api, caller.tenant_id);
  const floor = tradingFloor(caller.tenant_id);
  for (const last_name of ["Quintanilla", "Quintessa"]) {
    const client = await broker.client({ first_name: "Ana", last_name, external_id: `crm-${last_name}` });
    owners.push(client.id);
    const body = { client_id: client.id, type: "demo", leverage: 100 };
    const { body: account } = await api.call(caller, "POST", "/accounts", { body });
    await broker.deposit(account, "5000.00", { status: "completed" });
    await broker.withdrawal(account, "20.00");
    for (const symbol of ["EURUSD", "GBPUSD"]) await floor.open(account.id, { symbol, side: "buy", lots: "0.10" });
    const owner = { tenant_id: caller.tenant_id, account_id: account.id, client_id: client.id };
    await putItem(api, orders, someOrder({ ...owner, status: "pending" }));
  }
}, 60_000);

const lists = [
  ["/accounts", 2],
  ["/transactions", 4],
  ["/positions", 4],
  ["/orders", 2],
  ["/trades", 4],
  ["/accounts/margin_watch", 0],
  ["/drift", 0],
] as const;

describe("a list with expand=client", () => {
  it.each(lists)(
    "%s shows the client of each item as GET does, from one batch, and its links ask for it too",
    async (path, least) => {
      const plain = await broker.get(path);
      expect(plain.data.length).toBeGreaterThanOrEqual(least);
      api.watched.takeCalls();
      const page = await broker.get(`${path}?expand=client`);
      const reads = api.watched.takeCalls().filter(({ operation, input }) => {
        return operation === "BatchGetItem" && JSON.stringify(input).includes('"CLIENT"');
      });
      expect(reads.length).toBe(page.data.length > 0 ? 1 : 0);
      expect(page.data.map(({ client: _client, ...item }: { client: unknown }) => item)).toEqual(plain.data);
      const shown = new Map<string, object>();
      for (const { client } of page.data) shown.set(client.id, client);
      for (const [id, summary] of shown) expect(await broker.get(`/clients/${id}`)).toMatchObject(summary);
      if (least > 0) expect([...shown.keys()].toSorted()).toEqual(owners.toSorted());
      expect(new URL(page._links.first.href).search).toBe("?expand=client");
    },
  );

  it.each(lists)("%s is refused without the scope of clients", async (path) => {
    const scopes = ["accounts:read", "transactions:read", "trading:read", "feed:read"] as const;
    const other = newCaller({ scopes: [...scopes], tenant_id: caller.tenant_id });
    const answers = await Promise.all(["", "?expand=client"].map((query) => api.call(other, "GET", path + query)));
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [200, undefined],
      [403, "insufficient_scope"],
    ]);
  });

  it("leaves no name in what is stored of money, trades and the audit", async () => {
    const named = (await itemsOf(api.emulator, { tenant: caller.tenant_id })).filter((item) =>
      /quintanilla|quintessa/i.test(JSON.stringify(item)),
    );
    const others = named.filter(
      (item) => text(item, "et") !== "CLIENT" && !/client\.(?:created|updated)/.test(JSON.stringify(item)),
    );
    const kinds = [...new Set(others.map((item) => text(item, "et")))].toSorted();
    // The search's own keys, and the claim of the external id.
    expect(kinds.filter((kind) => kind !== "FIND" && kind !== "UQ")).toEqual([]);
  });
});
