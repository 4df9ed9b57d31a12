import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { orders, parkedOutboxes, publishTries } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { someOrder } from "../../support/builders/trading.ts";
import { putItem, putMarket } from "../../support/builders/trading-data.ts";
import { startApi, type TestAnswer } from "../../support/emulator/api.ts";
import { ofType, text } from "../../support/emulator/raw-items.ts";
import { type RawItem, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { judgeItems } from "../../support/oracles/oracle.ts";
import { eventually } from "../../support/wait.ts";

const api = await startApi("watched");
afterAll(api.stop);
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");
const { resetOverdue } = await import("../../../shared/sandbox/reset.ts");

const demo = { type: "demo", leverage: 100 };
const reset = (caller: TestCaller) => api.call(caller, "POST", "/sandbox/reset");
const shown = async (caller: TestCaller): Promise<TestAnswer["body"]> =>
  (await api.call(caller, "GET", "/sandbox/reset")).body;
const everything = async (): Promise<readonly RawItem[]> => [
  ...(await scanTable(api.emulator)),
  ...(await scanTable(api.emulator, api.emulator.volatileTableName)),
];
const ofTenant = (items: readonly RawItem[], { tenant_id }: TestCaller) =>
  items.filter((item) => text(item, "pk").startsWith(tenant_id));
const kindsOf = (items: readonly RawItem[]) => [...new Set(items.map((item) => text(item, "et")))].toSorted();

/** A brokerage that has something of every kind. */
async function populate(caller: TestCaller, email: string): Promise<void> {
  const broker = brokerage(api, caller);
  const call = async (method: string, address: string, body: object) => {
    const answer = await api.call(caller, method, address, { body });
    expect([address, answer.status, answer.text]).toEqual([
      address,
      answer.status < 300 ? answer.status : 200,
      answer.text,
    ]);
    return answer.body;
  };
  await putMarket(api, caller.tenant_id);
  const client = await broker.client({ email, external_id: "crm-1" });
  const account = await call("POST", "/accounts", {
    client_id: client.id,
    platform: "mt5",
    platform_login: "7",
    ...demo,
  });
  const more = { provider: "bank", provider_reference: "r-1", external_id: "t-1", fee: "1.00" };
  await broker.deposit(account, "5000.00", { ...more, status: "completed" });
  await broker.move(await broker.withdrawal(account, "10.00"), "processing");
  await broker.withdrawal(account, "20.00");
  const floor = tradingFloor(caller.tenant_id);
  for (const symbol of ["EURUSD", "EURUSD", "USDJPY"])
    await floor.open(account.id, { symbol, side: "buy", lots: "0.10" });
  await floor.close(account.id, 0);
  const now = new Date().toISOString();
  const owner = { tenant_id: caller.tenant_id, account_id: account.id, client_id: client.id };
  await putItem(api, orders, someOrder({ ...owner, created_at: now, updated_at: now }));
  const commit = {
    id: newId("obx"),
    tenant_id: caller.tenant_id,
    root_id: account.id,
    root_version: 1,
    events: ["{}"],
  };
  const parked = { ...commit, parked_at: now, error: "Error", error_message: "", stored: {} };
  await putItem(api, parkedOutboxes, parked);
  await putItem(api, publishTries, { ...parked, wake_at: now });
  const source = await call("POST", "/feed/sources", { name: "mt5:live", platform: "mt5" });
  const deal = { platform_login: "7", symbol: "EURUSD", side: "buy", lots: "0.20", price: "1.10010" };
  const items = [
    { seq: "1", type: "execution", data: { action: "open", deal_id: "D-1", position_id: "P-1", ...deal } },
    { seq: "2", type: "execution", data: { action: "close", deal_id: "D-2", position_id: "P-9", price: "1.1" } },
  ];
  await call("POST", `/feed/sources/${source.id}/batches`, { first_seq: "1", items });
  await moveBetweenClients(caller);
  await call("POST", "/sandbox/prices", { prices: [{ symbol: "USDJPY", mode: "walk" }] });
  await call("POST", "/webhook_endpoints", { url: "https://hooks.example.com/b", event_types: ["*"] });
}

/** Money that was in transit between two clients, and a firm quote. */
async function moveBetweenClients(caller: TestCaller): Promise<void> {
  const broker = brokerage(api, caller);
  const [from, other] = [await broker.account("100.00"), await broker.account()];
  const sides = { from_account_id: from.id, to_account_id: other.id, amount: "10.00" };
  const { body: transfer } = await api.call(caller, "POST", "/transactions/transfer", { body: sides });
  const approval = { body: { status: "approved" } };
  await api.call(newCaller({ tenant_id: caller.tenant_id }), "PATCH", `/transactions/${transfer.id}`, approval);
  expect((await broker.get(`/transactions/${transfer.id}`)).status).toBe("completed");
  const euros = { client_id: from.client_id, currency: "EUR" };
  const { body: to } = await api.call(caller, "POST", "/accounts", { body: euros });
  const quote = { body: { ...sides, to_account_id: to.id } };
  expect((await api.call(caller, "POST", "/transfer_quotes", quote)).status).toBe(200);
}

/** Runs the sweep until the reset is done, at a time scale that lets it settle at once. */
async function finish(caller: TestCaller): Promise<TestAnswer["body"]> {
  return eventually(async () => {
    await resetOverdue(() => true);
    const body = await shown(caller);
    return body.status === "completed" ? body : undefined;
  }, 30_000);
}

const caller = newCaller();
const stranger = newCaller();
const email = "again@example.com";
/** Items of a brokerage that stay whatever it did. */
const kept = [
  // The application that calls.
  "APP",
  "DEDUP",
  "HEALTH",
  "OUTBOX",
  "PARKED",
  "PUBLISHTRIES",
  "QUOTE",
  "RATE",
  "RESET",
  "SUMCURSOR",
  "SYMBOL",
  "TENANT",
  "WEBHOOK",
  "WHCOUNT",
];

beforeAll(async () => {
  process.env["TIME_SCALE"] = "60000";
  await populate(caller, email);
  await populate(stranger, email);
});
afterAll(() => {
  delete process.env["TIME_SCALE"];
});

describe("a reset", () => {
  it("is not there before it is asked for, and is asked for by who may", async () => {
    expect((await api.call(caller, "GET", "/sandbox/reset")).status).toBe(404);
    const denied = await api.call({ ...caller, scopes: ["settings:write"] }, "POST", "/sandbox/reset");
    expect([denied.status, denied.body.scope]).toEqual([403, "sandbox"]);
  });

  it("survives being killed at every write, and leaves nothing but what is to stay", async () => {
    const [before, others] = [await everything(), ofTenant(await everything(), stranger)];
    expect(kindsOf(ofTenant(before, caller))).toEqual(
      [
        ...[
          "ACCOUNT",
          "BALANCE",
          "CLIENT",
          "CONTRA",
          "EXPOSURE",
          "FIND",
          "LEDGER",
          "LEG",
          "ORDER",
          "POSITION",
          "PULSE",
          "REJECT",
        ],
        ...[
          "RISK",
          "SOURCE",
          "TRADE",
          "TRQ",
          "TXN",
          "UQ",
          "WALK",
          ...kept.filter((kind) => kind !== "RESET" && kind !== "SUMCURSOR"),
        ],
      ].toSorted(),
    );
    const begun = await reset(caller);
    expect([begun.status, begun.body.status, begun.body.removed.clients]).toEqual([202, "running", 0]);
    expect((await reset(caller)).body).toEqual(begun.body);
    // A client who comes while it runs is none of those that it removes, and neither is what is theirs.
    const late = brokerage(api, caller);
    const account = await late.account("70.00");
    for (let kill = 1; ; kill += 1) {
      let writes = 0;
      api.watched.interfere = ({ operation }) => {
        if (operation === "Query" || operation === "BatchGetItem") return undefined;
        writes += 1;
        return writes >= kill ? denied : undefined;
      };
      const { failed } = await resetOverdue(() => true);
      if (failed === 0) break;
    }
    api.watched.interfere = () => undefined;
    const done = await finish(caller);
    expect(done).toMatchObject({ id: begun.body.id, completed_at: done.updated_at });
    const after = await everything();
    const left = ofTenant(after, caller);
    const own = ["ACCOUNT", "BALANCE", "CLIENT", "CONTRA", "FIND", "LEDGER", "TXN", "UQ"];
    expect(kindsOf(left)).toEqual([...kept, ...own].toSorted());
    expect(ofType(left, "CLIENT").map((item) => text(item, "id"))).toEqual([account.client_id]);
    expect(ofType(left, "LEDGER").map((item) => text(item, "account_id"))).toEqual([account.id]);
    expect(ofType(left, "SYMBOL")).toHaveLength(20);
    expect(ofType(left, "QUOTE")).toHaveLength(20);
    expect(judgeItems(await scanTable(api.emulator))).toEqual([]);
    expect(ofTenant(after, stranger)).toEqual(others);
    expect(await late.get(`/accounts/${account.id}`)).toMatchObject({ balance: "70.00" });
  });

  it("lets everything be done again, and can be requested again", async () => {
    await populate(caller, email);
    const begun = await reset(caller);
    const { id, removed } = await finish(caller);
    expect(id).toBe(begun.body.id);
    expect(removed).toMatchObject({ clients: 4, accounts: 5, transactions: 7, trades: 4, orders: 1, feed_sources: 1 });
    expect(removed.other_items).toBeGreaterThan(20);
    const left = ofTenant(await everything(), caller);
    expect(kindsOf(left)).toEqual(kept);
    expect((await api.call(caller, "GET", "/webhook_endpoints")).body.data).toHaveLength(2);
  });

  it("that has no time left goes on the next time, and removes nothing twice", async () => {
    await populate(caller, email);
    const { body: begun } = await reset(caller);
    // The reviews of each client are a read of their own.
    let reads = 9;
    await resetOverdue(() => {
      reads -= 1;
      return reads > 0;
    });
    const cut = await shown(caller);
    expect([cut.id, cut.status, cut.removed.clients, cut.removed.trades]).toEqual([begun.id, "running", 3, 0]);
    expect((await finish(caller)).removed).toMatchObject({ clients: 3, accounts: 4, trades: 4 });
  });
});

const denied = { status: 400, body: { __type: "com.amazonaws.dynamodb.v20120810#AccessDeniedException" } };
