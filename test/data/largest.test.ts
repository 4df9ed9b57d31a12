import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { StoredRisk } from "../../shared/domain/records/risk.ts";
import { limits } from "../../shared/limits.ts";
import { collectionOf, exampleIds } from "../../shared/openapi/examples/identifiers.ts";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { newId } from "../../shared/runtime/ids.ts";
import { accounts, operators, risks, symbols } from "../../shared/table/entities.ts";
import { itemOf } from "../../shared/table/write.ts";
import { brokerage } from "../support/builders/brokerage.ts";
import { largestBody, largestMetadata, mostEscaped, widest } from "../support/builders/largest.ts";
import { someSymbol } from "../support/builders/trading.ts";
import { putItems, putMarket, putQuote, putQuotes, writeOf } from "../support/builders/trading-data.ts";
import { startApi } from "../support/emulator/api.ts";
import { itemBytes, quotas, type SizeWatch, watchSizes } from "../support/emulator/item-size.ts";
import { newCaller, type TestCaller } from "../support/emulator/request.ts";

// Events are taken from their transactions: a stream would be looked through with every write.
const api = await startApi("watched");
afterAll(api.stop);
afterEach(() => {
  api.watched.interfere = () => undefined;
});
const { changeItem } = await import("../../shared/table/items.ts");
const { publishing } = await import("../support/emulator/publishing.ts");
const work = publishing(api);
const { tradingFloor } = await import("../support/builders/trading-floor.ts");

/** Number of the first item of a source that its example makes. */
const firstSequence = "918";

/** Publishes what was announced since the last time, in one call. */
async function publishAll(sizes: SizeWatch): Promise<void> {
  const Records = sizes.takeOutboxes().map((NewImage, at) => ({
    eventName: "INSERT",
    dynamodb: { SequenceNumber: String(at), NewImage },
  }));
  expect(await work.publish(Records)).toEqual({ batchItemFailures: [] });
}

// A retry of a delivery writes the delivery: identifiers and times, and no text of anybody. A requeue writes the same
// as an acknowledgement, and needs ten minutes. Links need a job that has ended, and count how often it was opened.
const excluded: readonly string[] = ["retry_delivery", "requeue_command", "create_job_links"];
const commands = routes.filter((row) => row.auth === "token" && row.method !== "GET" && !excluded.includes(row.id));

/** The parameters of one type are no larger: those of all types together name no job. */
const largestJob = {
  type: "transactions",
  parameters: {
    format: "ndjson",
    include_names: true,
    kind: Array(limits.page.max_filter_words).fill("deposit").join(),
  },
};

describe("the largest resources", () => {
  /** A resource of a collection, as large as it can be. */
  async function made(caller: TestCaller, collection: string): Promise<string> {
    if (collection === "accounts") return accountOf(caller, await made(caller, "clients"));
    if (collection === "drift") return driftOf(caller);
    const creators = commands.filter((row) => [201, 202].includes(row.status) && collectionOf(row.path) === collection);
    const creator = creators.find(({ path }) => path === `/${collection}`) ?? creators[0];
    if (creator === undefined) throw new Error(`No row creates one of the ${collection}.`);
    const body = { ...((await bodyOf(caller, creator)) as object), ...(collection === "jobs" && largestJob) };
    const answer = await api.call(caller, "POST", creator.path, { body });
    if (answer.status !== creator.status) throw new Error(`${creator.path} ${answer.text}`);
    return answer.body.id;
  }

  /** The difference that a login is which no account has. */
  async function driftOf(caller: TestCaller): Promise<string> {
    const names = { snapshot_id: widest.repeat(64), taken_at: new Date().toISOString(), as_of_seq: "0" };
    const account = { platform_login: widest.repeat(64), balance: "-1.00", credit: "0", positions: [] };
    const body = { ...names, part: 1, parts: 1, complete: false, accounts: [account] };
    await sent(caller, "POST", `/feed/sources/${await made(caller, "feed")}/snapshots`, body);
    return (await brokerage(api, caller).get("/drift")).data[0].id;
  }

  /** A funded account of a client, as large as it can be. */
  async function accountOf(caller: TestCaller, client_id: string, more = {}): Promise<string> {
    const row = commands.find(({ id }) => id === "create_account") as Route;
    const body = { ...(largestBody(row, row.example) as object), client_id, type: "demo", ...more };
    const account = await api.call(caller, "POST", "/accounts", { body });
    if (account.status !== 201) throw new Error(account.text);
    await brokerage(api, caller).deposit(account.body, "100000.00", { status: "completed" });
    return account.body.id;
  }

  /** Two accounts of one client with different currencies, as a transfer names them. */
  async function sidesOf(caller: TestCaller): Promise<object> {
    const client = await made(caller, "clients");
    const internal = { platform: "internal", platform_login: undefined };
    const [from_account_id, to_account_id] = [
      await accountOf(caller, client, { ...internal, currency: "USD" }),
      await accountOf(caller, client, { ...internal, currency: "EUR" }),
    ];
    return { from_account_id, to_account_id };
  }

  /** The largest body of a row; resources that its example names are made, but for those that are given. */
  async function bodyOf(caller: TestCaller, row: Route, given = {}): Promise<unknown> {
    let text = JSON.stringify({ ...(row.example as object | undefined), ...given });
    for (const [collection, invented] of Object.entries(exampleIds)) {
      if (text.includes(invented)) text = text.replaceAll(invented, await made(caller, collection));
    }
    return largestBody(row, JSON.parse(text));
  }

  /** Preparation of a command, by its row; returns what its body has in addition to the largest of its example. */
  const before: Readonly<Record<string, (caller: TestCaller, id: string) => Promise<object | undefined>>> = {
    update_client: async () => ({ status: "suspended" }),
    update_settings: async () => ({ day_end: { time: "17:00", zone: "America/Argentina/ComodRivadavia" } }),
    create_job: async () => largestJob,
    create_transfer: async (caller) => ({ ...(await sidesOf(caller)), quote_id: undefined }),
    create_transfer_quote: sidesOf,
    ack_command: async () => ({
      ...{ attempt: 1, status: "failed", operation_id: "B".repeat(64) },
      error: { code: "by_test", message: widest.repeat(500) },
    }),
    update_transaction: async () => ({
      reason: { code: "by_test", message: widest.repeat(500) },
      ...{ operation_id: undefined, not_found: undefined },
    }),
    drive_sandbox_account: async (caller, account_id) => {
      await sent(caller, "POST", "/sandbox/trades", { account_id, symbol: "EURUSD", side: "buy", lots: "1.00" });
      return undefined;
    },
    sandbox_reject_client: async (caller, id) => {
      await sent(caller, "PATCH", `/clients/${id}`, { date_of_birth: "1990-01-01", verification_status: "pending" });
      return undefined;
    },
    sandbox_return_transaction: async (caller, id) => {
      await sent(caller, "POST", `/sandbox/transactions/${id}/settle`);
      return undefined;
    },
    reset_operator_credentials: async ({ tenant_id }, id) => {
      await changeItem(operators.key(tenant_id, id), { set: { status: "active", pool_state: "ready" } });
      return undefined;
    },
    retry_feed_reject: rejected,
    dismiss_feed_reject: rejected,
  };

  /** An item of a source that is rejected. */
  async function rejected(caller: TestCaller, id: string): Promise<undefined> {
    const first_seq = (await brokerage(api, caller).get(`/feed/sources/${id}`)).expected_next_seq;
    const data = { position_id: widest.repeat(64), amount: "1", for_date: "2026-11-20" };
    await sent(caller, "POST", `/feed/sources/${id}/batches`, {
      first_seq,
      items: [{ seq: first_seq, type: "swap", data }],
    });
  }

  /** A command of a source that its bridge has taken. */
  async function takenCommand(caller: TestCaller, source_id: string): Promise<string> {
    const link = { platform: "mt5", platform_login: "50012345", source_id };
    const account = await brokerage(api, caller).account(undefined, link);
    await brokerage(api, caller).deposit(account, "1.00", { status: "completed" });
    const taken = await api.call(caller, "POST", `/feed/sources/${source_id}/commands/take`, { body: {} });
    return taken.body.data[0].id;
  }

  async function sent(caller: TestCaller, method: string, address: string, body?: object): Promise<void> {
    const answer = await api.call(caller, method, address, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${address}: ${answer.text}`);
  }

  it.each(commands.map((row) => [`${row.method} ${row.path}`, row] as const))(
    "pass through %s and the publisher within every bound",
    async (_, row) => {
      const caller = newCaller();
      await putMarket(api, caller.tenant_id);
      const sizes = watchSizes(api);
      const id = row.path.includes("{id}") ? await made(caller, collectionOf(row.path)) : "";
      const path = row.path
        .replace("{id}", id)
        .replace("{seq}", firstSequence)
        .replace("{command_id}", row.path.includes("{command_id}") ? await takenCommand(caller, id) : "");
      const more = await before[row.id]?.(caller, id);
      const body = row.body === undefined ? undefined : { ...((await bodyOf(caller, row, more)) as object), ...more };
      const headers = row.named === true ? {} : { "Idempotency-Key": newId("key") };
      const answer = await api.call(caller, row.method, path, body === undefined ? { headers } : { body, headers });
      expect([answer.status, answer.text]).toEqual([row.status, answer.text]);
      await publishAll(sizes);
      expect(sizes.faults).toEqual([]);
      for (const message of api.queues.takeMessages()) {
        expect(Buffer.byteLength(JSON.stringify(message.body))).toBeLessThan(quotas.message_bytes / 100);
      }
    },
  );
});

/** The largest metadata that was taken before its bound in bytes: 50 values of 500 characters of six bytes each. */
const oldest = Object.fromEntries([...Array(50)].map((_, at) => [`key-${at}`.padEnd(40, "k"), "\u0001".repeat(500)]));

describe("a stop-out", () => {
  it.each([largestMetadata(mostEscaped), oldest].map((metadata, at) => [at, metadata] as const))(
    "of many positions closes step by step within every bound: metadata %i",
    async (_, metadata) => {
      const caller = newCaller();
      const tenant = caller.tenant_id;
      await putMarket(api, tenant);
      const account = await brokerage(api, caller).account("2400.00", { type: "demo", leverage: 100 });
      for (let count = 0; count < 18; count += 1) {
        const opened = await tradingFloor(tenant).open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.10" });
        expect(opened.kind).toBe("done");
      }
      await api.emulator.client.send(
        new UpdateItemCommand({
          TableName: api.emulator.tableName,
          Key: marshall(accounts.key(tenant, account.id)),
          UpdateExpression: "SET metadata = :metadata",
          ExpressionAttributeValues: marshall({ ":metadata": metadata }),
        }),
      );
      const sizes = watchSizes(api);
      await putQuote(api, tenant, "EURUSD", ["1.08000", "1.08010"]);
      await tradingFloor(tenant).evaluate(account.id);
      expect((await brokerage(api, caller).get(`/accounts/${account.id}/positions`)).data).toEqual([]);
      await publishAll(sizes);
      expect(sizes.faults).toEqual([]);
      // Eight trades are closed in one step, each with several items.
      expect(sizes.largest.members).toBeGreaterThan(30);
      const [last] = (await brokerage(api, caller).get("/events?type=stop.out&sort=-sequence")).data;
      expect(last.data.object.stop_out.closed_trade_ids).toHaveLength(18);
      expect(last.data.object.metadata).toEqual(metadata);
    },
  );

  it("of as many positions as an account may have is remembered and told within an item", () => {
    const { max_positions } = limits.trading;
    const tenant_id = newId("brk");
    const money = Object.fromEntries([...Array(13)].map((_, at) => [`member_of_money_${at}`, "-9".padEnd(20, "9")]));
    const closed_trade_ids = Array.from({ length: max_positions }, () => newId("trd"));
    const risk = {
      ...{ account_id: newId("acc"), tenant_id, client_id: newId("cli"), margin_status: "stop_out", armed: false },
      ...{
        margin_level: "49.99",
        equity_minor: 10n ** 18n,
        episode: 1e15,
        created_at: "",
        updated_at: "",
        version: 1e15,
      },
      wake_at: new Date().toISOString(),
      run: { started_at: new Date().toISOString(), before: money, closed_trade_ids, steps: 1e6 },
      triggers: Array.from({ length: max_positions }, () => ({
        ...{ symbol: "S".repeat(31), down: "9".repeat(23), up: "9".repeat(23) },
      })),
      ...{ seq: 1e15, pos_version: 1e15 },
    } as unknown as StoredRisk;
    const bytes = itemBytes(marshall(itemOf(risks, risk)));
    expect(bytes).toBeLessThan(quotas.item_bytes / 4);
    // The event holds the list once, and the account at most as it was before its bound.
    expect(Buffer.byteLength(JSON.stringify({ closed_trade_ids, metadata: oldest }))).toBeLessThan(
      limits.events.max_item_bytes / 2,
    );
  });
});

describe("an answer that is no page", () => {
  it("fits with as many symbols as a brokerage may have", async () => {
    const caller = newCaller();
    const letters = [..."ABCDEFGHIJ"];
    const names = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => `${a}${b}${c}USD`)));
    expect(names).toHaveLength(limits.trading.max_symbols);
    await putItems(
      api,
      names.map((name) => writeOf(api, symbols, { ...someSymbol(name), tenant_id: caller.tenant_id })),
    );
    await putQuotes(
      api,
      caller.tenant_id,
      Object.fromEntries(names.map((name) => [name, ["1.123456789012", "1.123456789013"]])),
    );
    const rates = await api.call(caller, "GET", "/conversion_rates");
    expect([rates.status, rates.body.data.length > 900]).toEqual([200, true]);
    const many = names.slice(0, limits.trading.max_quotes);
    expect((await api.call(caller, "GET", `/quotes?symbols=${many.join()}`)).body.data).toHaveLength(many.length);
    expect((await api.call(caller, "GET", "/event_types")).status).toBe(200);
  });
});
