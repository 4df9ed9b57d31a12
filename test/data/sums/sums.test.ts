import { BatchWriteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { TransactionBody } from "../../../shared/schema/transaction.ts";
import { applicationRefs, events, sequences } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { itemsOf } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { seeded } from "../../support/stack/chaos.ts";
import { eventually } from "../../support/wait.ts";

const api = await startApi("watched");
afterAll(api.stop);
afterEach(() => {
  delete process.env["TIME_SCALE"];
  api.watched.interfere = () => undefined;
});
const { publishWaiting } = await import("../../support/emulator/publishing.ts");
const { sumEvents } = await import("../../../shared/sums/sum-events.ts");
const { packPayload } = await import("../../../shared/table/event-payload.ts");
const { resetOverdue } = await import("../../../shared/sandbox/reset.ts");
const { handler } = await import("../../../functions/sums/sum-events.ts");

const always = () => true;
const today = () => new Date().toISOString().slice(0, 10);
const days = () => `from=${today()}&to=${today()}`;

interface Row {
  count: number;
  amount: number;
  fee: number;
}

type Told = Pick<
  TransactionBody,
  "id" | "account_type" | "kind" | "status" | "currency" | "amount" | "fee" | "net_amount" | "created_at"
>;

/** Sums of transactions as they are, in hundredths. */
function grouped(transactions: Iterable<Told>): Record<string, Row> {
  const rows: Record<string, Row> = {};
  for (const { account_type, kind, status, currency, amount, fee, created_at } of transactions) {
    const name = [created_at.slice(0, 10), account_type, kind, status, currency].join(" ");
    const row = rows[name] ?? { count: 0, amount: 0, fee: 0 };
    rows[name] = { count: row.count + 1, amount: row.amount + cents(amount), fee: row.fee + cents(fee) };
  }
  return rows;
}

const cents = (text: string) => Math.round(Number(text) * 100);

/** Sums by a replay of `/events` up to a number: by the statuses that it sees, not by `previous` of events. */
async function replayed(caller: TestCaller, to: number) {
  const known = new Map<string, Told>();
  const money: Record<string, number[]> = {};
  for (let after = 0; ; ) {
    const { body } = await api.call(caller, "GET", `/events?after_sequence=${after}&limit=100`);
    for (const event of body.data) {
      if (Number(event.sequence) > to) return { rows: grouped(known.values()), money };
      if (event.resource.type !== "transaction") continue;
      const now: Told = event.data.object;
      const before = known.get(now.id);
      if (event.type === "transaction.completed") continue;
      known.set(now.id, now);
      const isIn = now.kind === "deposit";
      if (before === undefined || before.status === now.status || !(isIn || now.kind === "withdrawal")) continue;
      const place = now.status === "completed" ? 0 : now.status === "returned" ? 2 : undefined;
      if (place === undefined) continue;
      const name = [event.created_at.slice(0, 10), now.account_type, now.currency].join(" ");
      const sums = money[name] ?? Array.from({ length: 8 }, () => 0);
      const at = (isIn ? 0 : 4) + place;
      sums[at] = (sums[at] ?? 0) + cents(isIn ? now.amount : now.net_amount);
      sums[at + 1] = (sums[at + 1] ?? 0) + 1;
      money[name] = sums;
    }
    if (!body.page.has_more) return { rows: grouped(known.values()), money };
    after = Number(body.data.at(-1).sequence);
  }
}

async function summaryOf(caller: TestCaller) {
  const { status, body, text } = await api.call(caller, "GET", `/transactions/summary?${days()}`);
  if (status !== 200) throw new Error(text);
  const rows = body.data.map((row: Record<string, string>) => [
    [row["day"], row["account_type"], row["kind"], row["status"], row["currency"]].join(" "),
    { count: row["count"], amount: cents(row["amount"] ?? ""), fee: cents(row["fee"] ?? "") },
  ]);
  return { rows: Object.fromEntries(rows) as Record<string, Row>, at: Number(body.as_of_sequence), as_of: body.as_of };
}

const columns = ["deposit", "returned_deposit", "withdrawal", "returned_withdrawal"];

async function moneyOf(caller: TestCaller) {
  const found: Record<string, number[]> = {};
  let at = 0;
  for (const type of ["live", "demo"]) {
    const { body } = await api.call(caller, "GET", `/reports/money?${days()}&account_type=${type}`);
    at = Number(body.as_of_sequence);
    for (const row of body.data) {
      const name = [row.day, type, row.currency].join(" ");
      found[name] = columns.flatMap((column) => [cents(row[`${column}s`]), row[`${column}_count`]]);
    }
  }
  return { found, at };
}

/** The summary and the money of now are what a replay up to their numbers gives. */
async function expectReplayed(caller: TestCaller): Promise<number> {
  const { rows, at } = await summaryOf(caller);
  expect(rows).toEqual((await replayed(caller, at)).rows);
  const money = await moneyOf(caller);
  expect(money.found).toEqual((await replayed(caller, money.at)).money);
  return at;
}

/** Every transaction of a brokerage, from its list. */
async function listed(caller: TestCaller): Promise<Told[]> {
  const found: Told[] = [];
  let path: string | undefined = "/transactions?limit=100";
  while (path !== undefined) {
    const { body }: { body: { data: Told[]; _links: { next?: { href: string } } } } = await api.call(
      caller,
      "GET",
      path,
    );
    found.push(...body.data);
    path = body._links.next?.href.replace(/^.*\/v2/, "");
  }
  return found;
}

/** Sums that die before their n-th call of the table, and once its answer was lost on its way back. */
async function dying(tenant: string, at: number, how: "before" | "after"): Promise<void> {
  let calls = 0;
  api.watched.interfere = () => {
    calls += 1;
    if (calls < at) return undefined;
    return how === "after" && calls === at ? "lose_answer" : failure("ResourceNotFoundException");
  };
  await sumEvents(tenant, always).catch(() => undefined);
  api.watched.interfere = () => undefined;
}

describe("sums of events", () => {
  it.each([1, 2, 3, 4])(
    "are a replay of the events at any moment of program %i, with runs killed at any call, and then the lists",
    async (seed) => {
      const random = seeded(seed);
      const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
      const caller = newCaller();
      const { tenant_id: tenant } = caller;
      const broker = brokerage(api, caller);
      const accounts = [
        await broker.account("1000.00"),
        await broker.account("1000.00", { type: "demo" }),
        await broker.account("1000", { currency: "JPY" }),
      ];
      const made: { id: string; kind: string }[] = [];
      const moves = ["approved", "processing", "completed", "completed", "returned", "rejected", "cancelled", "failed"];
      for (let step = 0; step < 60; step += 1) {
        const account = pick(accounts);
        const amount = String(1 + Math.floor(random() * 50));
        const roll = random();
        const more = { ...(random() < 0.3 ? { fee: "0" } : {}), ...(random() < 0.3 ? { status: "completed" } : {}) };
        const body = { account_id: account.id, amount, ...more };
        if (roll < 0.3) {
          const kind = pick(["deposit", "deposit", "withdrawal"]);
          const answer = await api.call(caller, "POST", `/transactions/${kind}`, { body });
          if (answer.status === 201) made.push(answer.body);
        } else if (roll < 0.65 && made.length > 0) {
          const one = pick(made);
          const status = pick(moves);
          const received =
            status === "completed" && random() < 0.5 ? { received_amount: String(7 + step), fee: "1" } : {};
          await broker.move(one, status, { ...received, ...(random() < 0.3 ? { keep_fee: true } : {}) });
        } else if (roll < 0.75) await publishWaiting(api.emulator, tenant);
        else if (roll < 0.8) await sumEvents(tenant, always);
        else if (roll < 0.95) await dying(tenant, 1 + Math.floor(random() * 12), pick(["before", "after"]));
        else await Promise.all([sumEvents(tenant, always), sumEvents(tenant, always), summaryOf(caller)]);
        if (step % 6 === 0) await expectReplayed(caller);
      }
      await publishWaiting(api.emulator, tenant);
      const before = await expectReplayed(caller);
      await sumEvents(tenant, always);
      expect(await expectReplayed(caller)).toBe(before);
      expect((await summaryOf(caller)).rows).toEqual(grouped(await listed(caller)));
    },
    120_000,
  );

  it("of 2,061 deposits in a day are given at any time: before, while and after they are summed", async () => {
    const caller = newCaller();
    await putDeposits(caller, 2061);
    const first = await expectReplayed(caller);
    expect(first).toBe(500);
    for (let turn = 0; turn < 3; turn += 1) {
      let runs = 0;
      // Time for the next transactions of a run, and then none.
      await sumEvents(caller.tenant_id, () => ++runs <= 1 + turn);
      await expectReplayed(caller);
    }
    await sumEvents(caller.tenant_id, always);
    const { rows, at } = await summaryOf(caller);
    expect(at).toBe(2 * 2061);
    expect(rows).toEqual({ [`${today()} live deposit completed USD`]: { count: 2061, amount: 2061 * 150, fee: 2061 } });
    expect((await moneyOf(caller)).found).toEqual({ [`${today()} live USD`]: [2061 * 150, 2061, 0, 0, 0, 0, 0, 0] });
  }, 120_000);

  it("begin again with a reset of the sandbox, with what clients who came after it did", async () => {
    const caller = newCaller();
    const { tenant_id: tenant } = caller;
    const broker = brokerage(api, caller);
    const gone = await broker.account("1000.00");
    await publishWaiting(api.emulator, tenant);
    await sumEvents(tenant, always);
    await broker.deposit(gone, "5.00");
    // The reset settles at once.
    process.env["TIME_SCALE"] = "60000";
    expect((await api.call(caller, "POST", "/sandbox/reset")).status).toBe(202);
    await broker.account("70.00");
    await broker.deposit(gone, "6.00");
    await publishWaiting(api.emulator, tenant);
    const old = await itemsOf(api.emulator, { type: "SUM", tenant });
    expect(old).toHaveLength(2);
    const only = { [`${today()} live deposit completed USD`]: { count: 1, amount: 7000, fee: 0 } };
    await eventually(async () => {
      // Runs go on while it removes what was there.
      await Promise.all([sumEvents(tenant, always), resetOverdue(always)]);
      expect((await summaryOf(caller)).rows).toEqual(only);
      const { body } = await api.call(caller, "GET", "/sandbox/reset");
      return body.status === "completed" ? body : undefined;
    }, 30_000);
    await sumEvents(tenant, always);
    expect((await summaryOf(caller)).rows).toEqual(only);
    expect(grouped(await listed(caller))).toEqual(only);
    const left = (await itemsOf(api.emulator, { type: "SUM", tenant })).map(({ sk }) => sk);
    expect(left).toHaveLength(2);
    expect(left).not.toContain(old[0]?.["sk"]);
  }, 60_000);

  it("of a brokerage without events are none, up to now", async () => {
    const caller = newCaller();
    const began = new Date().toISOString();
    expect(await sumEvents(caller.tenant_id, always)).toBe(0);
    const { rows, at, as_of } = await summaryOf(caller);
    expect([rows, at]).toEqual([{}, 0]);
    expect(as_of >= began).toBe(true);
  });

  it("of the other brokerages are added where one fails, and the run says so", async () => {
    const callers = [newCaller(), newCaller()];
    for (const { tenant_id, application_id: id, client_id } of callers) {
      const ref = { owner_tenant_id: tenant_id, application_id: id, client_id };
      const Item = marshall({ ...applicationRefs.key(client_id), et: applicationRefs.et, ...ref });
      await api.emulator.client.send(new PutItemCommand({ TableName: api.emulator.tableName, Item }));
    }
    for (const caller of callers) await putDeposits(caller, 1);
    const failing = String(callers[0]?.tenant_id);
    api.watched.interfere = ({ operation, input }) =>
      operation === "TransactWriteItems" && JSON.stringify(input).includes(failing)
        ? failure("ResourceNotFoundException")
        : undefined;
    const run = () => handler({}, lambdaContext(60_000));
    await expect(run()).rejects.toThrow("The transactions of 1 brokerages could not be summed.");
    api.watched.interfere = () => undefined;
    expect(await run()).toEqual({ done: 1, failed: 0 });
    expect(await run()).toEqual({ done: 0, failed: 0 });
  });
});

/** So many deposits of today, each with the events of its creation and of its completion, as they are published. */
async function putDeposits({ tenant_id }: TestCaller, count: number): Promise<void> {
  const now = new Date(Date.now() - 60_000).toISOString();
  const { tableName, client } = api.emulator;
  const requests = Array.from({ length: 2 * count }, (_, place) => {
    const sequence = place + 1;
    const number = String(Math.floor(place / 2)).padStart(26, "0");
    const isCreated = place % 2 === 0;
    const type = isCreated ? "transaction.created" : "transaction.updated";
    const key = events.key(tenant_id, sequence);
    const id = `evt_${String(sequence).padStart(26, "0")}`;
    const identity = { id, created_at: now, resource_id: `txn_${number}`, account_id: "acc_1", client_id: "cli_1" };
    const object = {
      ...{ id: `txn_${number}`, object: "transaction", kind: "deposit", status: isCreated ? "pending" : "completed" },
      ...{ account_type: "live", amount: "1.50", fee: "0.01", net_amount: "1.49", currency: "USD", created_at: now },
    };
    const body = {
      ...{ id, object: "event", type, api_version: "v2", created_at: now, timestamp: now, environment: "sandbox" },
      sequence: String(sequence),
      resource: { type: "transaction", id: object.id, version: isCreated ? 1 : 2 },
      ...{ actor: { type: "system", id: "test", name: "Test" }, request_id: null },
      data: isCreated ? { object } : { object, previous: { status: "pending" } },
      _links: { self: { href: `https://localhost/v2/events/${id}` } },
    };
    const item = { ...key, et: events.et, v: 1, ...identity, tenant_id, sequence, type, published_at: now };
    return { PutRequest: { Item: marshall({ ...item, payload: packPayload(identity, JSON.stringify(body)) }) } };
  });
  for (let at = 0; at < requests.length; at += 25) {
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: requests.slice(at, at + 25) } }));
  }
  const counter = { ...sequences.key(tenant_id), et: sequences.et, last: 2 * count };
  await client.send(new PutItemCommand({ TableName: tableName, Item: marshall(counter) }));
}
