import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { accounts, clients, symbols, transactions } from "../../shared/table/entities.ts";
import { brokerage, clientRequest } from "../support/builders/brokerage.ts";
import { someSymbol } from "../support/builders/trading.ts";
import { putItem, putItems, putMarket, putQuote, writeOf } from "../support/builders/trading-data.ts";
import { startApi } from "../support/emulator/api.ts";
import { newCaller, type RequestParts } from "../support/emulator/request.ts";
import { unitsOf } from "../support/emulator/watched-endpoint.ts";

const api = await startApi("watched");
afterAll(api.stop);

const { findAll } = await import("../../shared/table/store.ts");
const { tradingFloor } = await import("../support/builders/trading-floor.ts");

const caller = newCaller();
const broker = brokerage(api, caller);
const floor = tradingFloor(caller.tenant_id);

interface Cost {
  /** Calls to the main table, in the order in which they were made. */
  readonly calls: string;
  readonly read: number;
  /** Written to the table and to its indexes. */
  readonly written: number;
}

/** Cost of one request on the main table; the counter's call is judged by itself. */
async function costOf(method: string, address: string, parts: RequestParts = {}, by = caller): Promise<Cost> {
  api.watched.takeCalls();
  const answer = await api.call(by, method, address, parts);
  expect(answer.status).toBeLessThan(300);
  const calls = api.watched.takeCalls();
  const own = calls.filter(({ tables }) => tables.includes(api.emulator.tableName));
  // Prices are read together with items of the main table, and count with them.
  const counter = calls.filter((call) => !own.includes(call));
  expect([counter.map(({ operation }) => operation), unitsOf(counter)]).toEqual([["UpdateItem"], 1]);
  const reads = own.filter(({ operation }) => operation === "BatchGetItem" || operation === "Query");
  return {
    calls: own.map(({ operation }) => operation).join(" "),
    read: unitsOf(reads),
    written: unitsOf(own.filter((call) => !reads.includes(call))),
  };
}

/** The units that a request may cost; a change that makes one dearer has to say so here. */
function most(calls: string, read: number, written: number) {
  return {
    calls,
    read: expect.toSatisfy((units: number) => units <= read),
    written: expect.toSatisfy((units: number) => units <= written),
  };
}

/** Calls that are made side by side come in any order. */
const sorted = ({ calls, ...units }: Cost) => ({ ...units, calls: calls.split(" ").toSorted().join(" ") });

describe("among many, those in a state are found without a look at the others", () => {
  /** The long form has 50,000 of each. */
  const many = Number(process.env["STATE_ITEMS"] ?? 600);
  const stranger = newCaller();
  const states = async (address: string) => {
    const cost = await costOf("GET", address, {}, stranger);
    if (many > 600) process.stdout.write(`among ${many}: GET ${address}: ${cost.calls}, ${cost.read} read units\n`);
    return cost;
  };

  beforeAll(async () => {
    const { body: client } = await api.call(stranger, "POST", "/clients", { body: clientRequest() });
    const { body: account } = await api.call(stranger, "POST", "/accounts", { body: { client_id: client.id } });
    const { tenant_id: tenant } = stranger;
    const [stored] = await findAll(clients, [clients.key(tenant, client.id)]);
    const [opened] = await findAll(accounts, [accounts.key(tenant, account.id)]);
    if (stored === undefined || opened === undefined) throw new Error("Nothing was made.");
    const writes = Array.from({ length: many }, (_, n) => [
      writeOf(api, clients, { ...stored, id: newId("cli"), email: `${n}@example.com` }),
      writeOf(api, accounts, { ...opened, id: newId("acc"), number: String(n) }),
    ]);
    await putItems(api, writes.flat());
  }, 900_000);

  it("transactions that were completed long ago: none that was created since", async () => {
    const other = newCaller();
    const made = await brokerage(api, other).deposit(await brokerage(api, other).account(), "1.00");
    const [stored] = await findAll(transactions, [transactions.key(other.tenant_id, made.id)]);
    if (stored === undefined) throw new Error("Nothing was made.");
    const days = Array.from({ length: many }, (_, n) => new Date(Date.UTC(2025, 0, 1, n)).toISOString());
    const writes = days.map((at) => {
      const done = { status: "completed", created_at: at, completed_at: at } as const;
      return writeOf(api, transactions, { ...stored, ...done, id: newId("txn", Date.parse(at)) });
    });
    await putItems(api, writes);
    const cost = await costOf("GET", `/transactions?completed_from=${days[4]}&completed_to=${days[9]}`, {}, other);
    expect(cost).toEqual(most("Query BatchGetItem", 5, 0));
  });

  it("clients: one read of each of the partitions that may hold one, and no other", async () => {
    const queries = (count: number) => Array(count).fill("Query").join(" ");
    expect(await states("/clients?status=closed")).toEqual(most(queries(5), 2.5, 0));
    expect(await states("/clients?verification_status=rejected&status=active")).toEqual(most("Query", 0.5, 0));
    // Three reads of 250 entries of the list, and there may be more behind them.
    expect((await states("/clients?country=IS")).read).toBeGreaterThan(10);
  });

  it("accounts: likewise, by status and type", async () => {
    expect(await states("/accounts?status=closed&type=demo")).toEqual(most("Query", 0.5, 0));
    expect(await states("/accounts?status=closed")).toEqual(most("Query Query", 1, 0));
  });
});

describe("a request costs one call and one unit of the rate counter, and beside it", () => {
  it("to make a client, one transaction", async () => {
    const cost = await costOf("POST", "/clients", { body: clientRequest() });
    // Four of them for its key and for what the outbox carries sealed, four for what it is found by.
    expect(cost).toEqual(most("TransactWriteItems", 0, 18));
  });

  it("to make an account, one read and one transaction", async () => {
    const { id } = await broker.client();
    const cost = await costOf("POST", "/accounts", { body: { client_id: id } });
    expect(cost).toEqual(most("BatchGetItem TransactWriteItems", 2, 18));
  });

  it("to make a deposit, one read and one transaction", async () => {
    const body = { account_id: (await broker.account()).id, amount: "10.00" };
    const cost = await costOf("POST", "/transactions/deposit", { body });
    // The audit record makes an outbox item of such a commit longer than 2 KB: two units more.
    expect(cost).toEqual(most("BatchGetItem TransactWriteItems", 5, 18));
  });

  it("to make a withdrawal, two reads and one transaction", async () => {
    const body = { account_id: (await broker.account("10.00")).id, amount: "1.00" };
    const cost = await costOf("POST", "/transactions/withdrawal", { body });
    expect(cost).toEqual(most("BatchGetItem BatchGetItem TransactWriteItems", 6, 18));
  });

  it("to do so under a key, one item more in the read and in the transaction", async () => {
    const body = { account_id: (await broker.account("10.00")).id, amount: "1.00" };
    const parts = { body, headers: { "Idempotency-Key": "cost" } };
    const cost = await costOf("POST", "/transactions/withdrawal", parts);
    expect(cost).toEqual(most("BatchGetItem BatchGetItem TransactWriteItems", 7, 22));
    const again = await costOf("POST", "/transactions/withdrawal", parts);
    expect(again).toEqual(most("BatchGetItem", 7, 0));
  });

  it("to complete a withdrawal, two reads and one transaction", async () => {
    const withdrawal = await broker.withdrawal(await broker.account("10.00"), "1.00");
    const cost = await costOf("PATCH", `/transactions/${withdrawal.id}`, { body: { status: "completed" } });
    expect(cost).toEqual(most("BatchGetItem BatchGetItem TransactWriteItems", 6, 27));
  });

  it("to disable an account, one read and one transaction", async () => {
    const { id } = await broker.account();
    const cost = await costOf("DELETE", `/accounts/${id}`);
    // Its entry in the due index is among them: the sweep cancels what it ordered.
    expect(cost).toEqual(most("BatchGetItem TransactWriteItems", 2, 18));
  });

  it("for a page of 25 transactions, of an account, a client or two states, one query each and one read", async () => {
    const account = await broker.account();
    for (let index = 0; index < 30; index += 1) await broker.deposit(account, "1.00");
    const costs = async (address: string) => sorted(await costOf("GET", address));
    expect(await costs("/transactions?limit=25")).toEqual(most("BatchGetItem Query", 14, 0));
    expect(await costs("/transactions?limit=25&status=pending,completed&kind=deposit")).toEqual(
      most("BatchGetItem Query Query", 15, 0),
    );
    expect(await costs(`/accounts/${account.id}/transactions?limit=25`)).toEqual(
      most("BatchGetItem BatchGetItem Query", 15, 0),
    );
    expect(await costs(`/clients/${account.client_id}/transactions?limit=25`)).toEqual(
      most("BatchGetItem BatchGetItem Query", 15, 0),
    );
  });

  it("to refuse a withdrawal, two reads and nothing written", async () => {
    const body = { account_id: (await broker.account("10.00")).id, amount: "11.00" };
    api.watched.takeCalls();
    expect((await api.call(caller, "POST", "/transactions/withdrawal", { body })).status).toBe(422);
    const operations = api.watched.takeCalls().map(({ operation }) => operation);
    expect(operations).toEqual(["UpdateItem", "BatchGetItem", "BatchGetItem"]);
  });

  it.each([
    ["clients", "BatchGetItem"],
    ["accounts", "Query"],
    ["transactions", "BatchGetItem"],
  ] as const)("to read one of the %s, one %s of one unit", async (kind, operation) => {
    const account = await broker.account();
    const deposit = await broker.deposit(account, "1.00");
    const id = { clients: account.client_id, accounts: account.id, transactions: deposit.id }[kind];
    expect(await costOf("GET", `/${kind}/${id}`)).toEqual(most(operation, 1, 0));
  });

  it("for a page of 25 clients or accounts, one query and one read", async () => {
    for (let index = 0; index < 30; index += 1) await broker.account();
    expect(await costOf("GET", "/clients?limit=25")).toEqual(most("Query BatchGetItem", 14, 0));
    expect(await costOf("GET", "/accounts?limit=25")).toEqual(most("Query BatchGetItem", 27, 0));
  });

  it("to look up by a unique value, the claim and its owner, whatever number of resources there are", async () => {
    const client = await broker.client({ external_id: "crm-1" });
    const login = { platform: "mt5", platform_login: "7001" };
    const { body: account } = await api.call(caller, "POST", "/accounts", { body: { client_id: client.id, ...login } });
    const { id } = await broker.deposit(account, "1.00", { external_id: "order-1" });
    // In addition to these items, the partition of the closed clients that had the address is seen to be empty.
    const byEmail = await costOf("GET", `/clients?email=${client.email}`);
    expect(sorted(byEmail)).toEqual(most("BatchGetItem BatchGetItem Query", 2.5, 0));
    for (const [address, units] of [
      [`/clients?external_id=crm-1&status=active`, 2],
      [`/transactions?external_id=order-1&status=pending`, 2],
      [`/accounts?number=${account.number}`, 3],
    ] as const) {
      expect([address, await costOf("GET", address)]).toEqual([address, most("BatchGetItem BatchGetItem", units, 0)]);
    }
    // One unit for each platform and source that the login may belong to, and the list of the sources.
    const byLogin = await costOf("GET", "/accounts?platform_login=7001");
    expect(byLogin).toEqual(most("Query BatchGetItem BatchGetItem", 7.5, 0));
    for (const [address, units] of [
      [`/clients/${client.id}/accounts?number=${account.number}`, 4],
      [`/clients/${client.id}/transactions?external_id=order-1`, 3],
      [`/accounts/${account.id}/transactions?external_id=order-1`, 3],
    ] as const) {
      const cost = await costOf("GET", address);
      expect([address, cost]).toEqual([address, most("BatchGetItem BatchGetItem BatchGetItem", units, 0)]);
    }
    expect((await broker.get("/transactions?external_id=order-1")).data[0].id).toBe(id);
  });

  it("for a page of 25 ledger entries, one query and one read", async () => {
    const account = await broker.account();
    for (let index = 0; index < 30; index += 1) await broker.deposit(account, "1.00", { status: "completed" });
    const cost = await costOf("GET", `/accounts/${account.id}/ledger?limit=25`);
    expect(sorted(cost)).toEqual(most("BatchGetItem Query", 4, 0));
  });

  describe("with open positions", () => {
    const tenant = caller.tenant_id;
    const trader = async (positions: number) => {
      const account = await broker.account("9000.00", { type: "demo", leverage: 100 });
      for (let index = 0; index < positions; index += 1) {
        await floor.open(account.id, { symbol: index % 2 === 0 ? "EURUSD" : "GBPUSD", side: "buy", lots: "0.10" });
      }
      return account;
    };
    let account: { id: string; client_id: string };
    beforeAll(async () => {
      await putMarket(api, tenant);
      account = await trader(10);
      for (let index = 0; index < 3; index += 1) await trader(5);
    });

    it("for an account or its balance, one query and one read of its prices", async () => {
      expect(await costOf("GET", `/accounts/${account.id}`)).toEqual(most("Query BatchGetItem", 8, 0));
      expect(await costOf("GET", `/accounts/${account.id}/balance`)).toEqual(most("Query BatchGetItem", 8, 0));
    });

    it("for one of the trades, one read; for one of the positions, one more with its price", async () => {
      const { body } = await api.call(caller, "GET", `/accounts/${account.id}/positions?limit=1`);
      const [{ id }] = body.data;
      expect(await costOf("GET", `/trades/${id.replace("pos", "trd")}`)).toEqual(most("BatchGetItem", 1, 0));
      expect(await costOf("GET", `/positions/${id}`)).toEqual(most("BatchGetItem BatchGetItem", 5, 0));
    });

    it("for a page of trades or positions, of all or of an account, one query, one read and the prices", async () => {
      expect(await costOf("GET", "/trades")).toEqual(most("Query BatchGetItem", 16, 0));
      expect(await costOf("GET", "/trades?symbol=EURUSD&status=open")).toEqual(most("Query BatchGetItem", 16, 0));
      // Half a unit for each account: a change of its leverage may be under way.
      expect(await costOf("GET", "/positions")).toEqual(most("Query BatchGetItem BatchGetItem", 20, 0));
      expect(await costOf("GET", "/orders")).toEqual(most("Query", 1, 0));
      expect(sorted(await costOf("GET", `/accounts/${account.id}/positions`))).toEqual(
        most("BatchGetItem BatchGetItem BatchGetItem Query", 12, 0),
      );
    });

    it("for a decision, of each position what it is and no key of an index", async () => {
      api.watched.takeCalls();
      await floor.evaluate(account.id);
      const query = api.watched.takeCalls().find(({ operation }) => operation === "Query");
      const items = query?.output?.["Items"] as readonly object[];
      expect(items).toHaveLength(10);
      for (const item of items) expect(Object.keys(item).filter((name) => /_[ps]k$|facets/.test(name))).toEqual([]);
    });

    it("for a page of the trades of a client, one query more for its accounts", async () => {
      expect(sorted(await costOf("GET", `/clients/${account.client_id}/trades`))).toEqual(
        most("BatchGetItem BatchGetItem Query Query", 14, 0),
      );
    });

    it("for accounts, one query more for each that has positions, and one read of all prices", async () => {
      const queries = (count: number) => " Query".repeat(count);
      expect(await costOf("GET", "/accounts?limit=25")).toEqual(
        most(`Query BatchGetItem${queries(4)} BatchGetItem`, 36, 0),
      );
      // The list of margin levels has several partitions.
      expect(await costOf("GET", "/accounts/margin_watch")).toEqual(
        most(`${queries(limits.trading.risk_shards).trim()} BatchGetItem${queries(4)} BatchGetItem`, 18, 0),
      );
      expect(await costOf("GET", `/accounts/metrics?account_ids=${account.id}`)).toEqual(
        most("BatchGetItem Query BatchGetItem", 9, 0),
      );
    });

    describe("in many symbols", () => {
      const names = Array.from({ length: 20 }, (_, place) => `IX${String(place).padStart(2, "0")}`);
      const trade = (symbol = "") => ({ symbol, side: "buy", lots: "0.10" }) as const;
      const spread = async (count: number) => {
        const own = await broker.account("9000.00", { type: "demo", leverage: 100 });
        for (const symbol of names.slice(0, count)) await floor.open(own.id, trade(symbol));
        return own;
      };
      const price = (value: string) => putQuote(api, tenant, names[0] ?? "", [value, value]);
      beforeAll(async () => {
        const terms = { tenant_id: tenant, calc_mode: "cfd", base_currency: "USD", quote_currency: "USD" } as const;
        for (const name of names) {
          await putItem(api, symbols, someSymbol(name, terms));
          await putQuote(api, tenant, name, ["1.10000", "1.10010"]);
        }
      });

      it("to open a trade in the twentieth, one or two triggers of the others", async () => {
        const own = await spread(19);
        const body = { account_id: own.id, ...trade(names[19]) };
        const cost = await costOf("POST", "/sandbox/trades", { body });
        expect(sorted(cost)).toEqual(most("BatchGetItem BatchGetItem Query TransactWriteItems", 49, 31));
      });

      it("to make a withdrawal or to change the account, its own items are read once", async () => {
        const own = await spread(18);
        const calls = "BatchGetItem BatchGetItem BatchGetItem Query TransactWriteItems";
        const body = { account_id: own.id, amount: "1.00" };
        const withdrawal = await costOf("POST", "/transactions/withdrawal", { body });
        expect(sorted(withdrawal)).toEqual(most(calls, 47, 31));
        const change = await costOf("PATCH", `/accounts/${own.id}`, { body: { leverage: 200 } });
        expect(sorted(change)).toEqual(most(calls, 47, 20));
      });

      it("to complete a deposit, no trigger; to evaluate, nothing until one is met, and then that one", async () => {
        const own = await spread(18);
        const deposit = await broker.deposit(own, "50000.00");
        const cost = await costOf("PATCH", `/transactions/${deposit.id}`, { body: { status: "completed" } });
        const reads = "BatchGetItem BatchGetItem BatchGetItem Query";
        expect(sorted(cost)).toEqual(most(`${reads} TransactWriteItems`, 47, 33));
        const evaluated = async () => {
          api.watched.takeCalls();
          await floor.evaluate(own.id);
          return unitsOf(api.watched.takeCalls().filter(({ operation }) => operation === "TransactWriteItems"));
        };
        await price("1.09000");
        expect(await evaluated()).toBe(0);
        await price("0.90000");
        expect(await evaluated()).toBeLessThanOrEqual(10);
        expect(await evaluated()).toBe(0);
      });
    });

    it("to open a trade, two reads more than that of its positions, and none of the trades of the others", async () => {
      const own = await trader(9);
      const body = { account_id: own.id, symbol: "EURUSD", side: "buy", lots: "0.10" };
      const cost = await costOf("POST", "/sandbox/trades", { body });
      expect(sorted(cost)).toEqual(most("BatchGetItem BatchGetItem Query TransactWriteItems", 11, 31));
    });
  });
});
