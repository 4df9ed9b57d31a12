import { BatchWriteItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { canonicalJson } from "../../../shared/domain/audit/canonical-json.ts";
import { formatAmount } from "../../../shared/domain/kernel/money.ts";
import type { Ledger } from "../../../shared/domain/records/ledger.ts";
import { sha256 } from "../../../shared/runtime/digest.ts";
import type { StatementBody } from "../../../shared/schema/statement.ts";
import { applicationRefs, ledgers } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { seeded } from "../../support/stack/chaos.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(() => void vi.useRealTimers());
const { handler } = await import("../../../functions/reports/reconcile.ts");
const { moneyAt } = await import("../../../shared/table/money-at.ts");
const { loadItems, ref } = await import("../../../shared/table/store.ts");
const { publishWaiting } = await import("../../support/emulator/publishing.ts");

const setClock = (moment: number | string) => vi.useFakeTimers({ toFake: ["Date"], now: new Date(moment) });
const cents = (text: string) => BigInt(text.replace(".", ""));
const hour = 3_600_000;

async function known(at: string) {
  setClock(at);
  const caller = newCaller();
  const { tenant_id, application_id, client_id } = caller;
  await putRaw(api, itemOf(applicationRefs, { client_id, application_id, owner_tenant_id: tenant_id }));
  return { caller, broker: brokerage(api, caller), tenant: tenant_id };
}

const address = (id: string, from: string, to: string) => `/accounts/${id}/statement?from=${from}&to=${to}`;

async function statement(caller: TestCaller, id: string, from: string, to: string): Promise<StatementBody> {
  const { status, body, text } = await api.call(caller, "GET", address(id, from, to));
  if (status !== 200) throw new Error(text);
  const { figures, content_sha256 } = body as StatementBody;
  expect(content_sha256).toBe(sha256(canonicalJson(figures)));
  let [balance, credit] = [cents(figures.opening.balance), cents(figures.opening.credit)];
  for (const entry of figures.entries) {
    if (entry.moves === "credit") credit += cents(entry.amount);
    else balance += cents(entry.amount);
    expect([entry.balance_after, entry.credit_after].map(cents)).toEqual([balance, credit]);
  }
  expect([figures.closing.balance, figures.closing.credit].map(cents)).toEqual([balance, credit]);
  return body;
}

/** The money of an account at an instant, as an export of balances has it. */
async function moneyOf(tenant: string, id: string, at: string): Promise<{ balance: string; credit: string }> {
  const { balance } = await loadItems(tenant, { balance: ref.balance(id) });
  if (balance === undefined) throw new Error(`${id} has no balance.`);
  const { balance_minor, credit_minor } = await moneyAt(balance, at);
  return { balance: formatAmount(balance_minor, "USD"), credit: formatAmount(credit_minor, "USD") };
}

/** Money of many days on an account, and the days that it moved on. */
async function traffic(own: Awaited<ReturnType<typeof known>>, id: string, random: () => number, aheadOnce = false) {
  const post = (kind: string, more: object) =>
    api.call(own.caller, "POST", `/transactions/${kind}`, { body: { account_id: id, ...more } });
  for (let step = 0; step < 30; step += 1) {
    const now = Date.now() + Math.floor(random() * 8 * hour);
    setClock(aheadOnce && step === 12 ? now + 30 * hour : now);
    const amount = String(1 + Math.floor(random() * 90));
    const reason = { code: "by_test" };
    const act = random();
    if (act < 0.5) await post("deposit", { amount, status: "completed" });
    else if (act < 0.75) await post("withdrawal", { amount, status: "completed" });
    else await post("credit", { amount, direction: random() < 0.7 ? "in" : "out", reason });
    setClock(now);
  }
}

/** Closes all days that are over. */
async function closeDays(tenant: string): Promise<void> {
  await publishWaiting(api.emulator, tenant);
  for (let turn = 0; turn < 20; turn += 1) await handler({}, lambdaContext(600_000));
}

describe("a statement", () => {
  it.each([false, true])("stays once it is final, and adjoining ones add up; with a clock ahead: %s", async (ahead) => {
    const own = await known("2027-02-01T09:00:00.000Z");
    await api.call(own.caller, "PATCH", "/settings", {
      body: { day_end: { time: "17:00", zone: "America/New_York" } },
    });
    const account = await own.broker.account();
    await traffic(own, account.id, seeded(ahead ? 8 : 7), ahead);
    const now = Date.parse(`${new Date().toISOString().slice(0, 10)}T12:00:00.000Z`);
    setClock(now + 72 * hour);
    await closeDays(own.tenant);
    const last = new Date(now + 24 * hour).toISOString().slice(0, 10);
    const whole = await statement(own.caller, account.id, "2027-02-01", last);
    expect(whole).toMatchObject({ final: true, held: null });
    expect(whole.figures.entries.length).toBeGreaterThan(15);
    const times = whole.figures.entries.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted());
    for (const day of ["2027-02-01", "2027-02-03", "2027-02-04"]) {
      const next = new Date(Date.parse(day) + 24 * hour).toISOString().slice(0, 10);
      const [one, other] = [
        await statement(own.caller, account.id, "2027-02-01", day),
        await statement(own.caller, account.id, next, last),
      ];
      expect([...one.figures.entries, ...other.figures.entries]).toEqual(whole.figures.entries);
      expect(other.figures).toMatchObject({ opening: one.figures.closing, starts_at: one.figures.ends_at });
      expect(await moneyOf(own.tenant, account.id, one.figures.ends_at)).toEqual(one.figures.closing);
    }
    await api.call(own.caller, "PATCH", "/settings", {
      body: {
        day_end: { time: "02:30", zone: "Asia/Tokyo" },
        brokerage: { name: "Example Ltd", website: "x.example" },
      },
    });
    await api.call(own.caller, "PATCH", `/accounts/${account.id}`, { body: { name: "Renamed" } });
    await own.broker.deposit(account, "5.00", { status: "completed" });
    const again = await statement(own.caller, account.id, "2027-02-01", last);
    expect(again.figures).toEqual(whole.figures);
    expect(again).toMatchObject({ content_sha256: whole.content_sha256, account: { name: "Renamed" } });
    expect(again.brokerage).toMatchObject({ name: "Example Ltd", website: "x.example", licence: null });
    const running = await statement(own.caller, account.id, last, new Date(Date.now()).toISOString().slice(0, 10));
    expect(running).toMatchObject({ final: false, held: "0.00" });
    expect(running.figures.entries.at(-1)?.amount).toBe("5.00");
  });

  it("has the same figures and hash as its table, which spreadsheets can sum", async () => {
    const own = await known("2027-02-01T09:00:00.000Z");
    const account = await own.broker.account("500.00");
    await own.broker.withdrawal(account, "20.00", { status: "completed" });
    const { figures, content_sha256 } = await statement(own.caller, account.id, "2027-02-01", "2027-02-01");
    const csv = await api.call(own.caller, "GET", `${address(account.id, "2027-02-01", "2027-02-01")}&format=csv`);
    expect(csv.headers["Content-Type"]).toContain("text/csv");
    const [header = "", ...lines] = csv.text.trim().split("\r\n");
    const rows = lines.map((line) => {
      const cells = line.split(",");
      return Object.fromEntries(header.split(",").map((name, place) => [name, cells[place]]));
    });
    expect(rows.map(({ line }) => line)).toEqual(["opening_balance", "entry", "entry", "closing_balance"]);
    expect(rows.slice(1, -1).map(({ amount, balance_after }) => [amount, balance_after])).toEqual(
      figures.entries.map(({ amount, balance_after }) => [amount, balance_after]),
    );
    expect(rows.at(-1)).toMatchObject({ balance_after: figures.closing.balance, content_sha256 });
    const accepted = await api.call(own.caller, "GET", address(account.id, "2027-02-01", "2027-02-01"), {
      headers: { Accept: "text/csv" },
    });
    expect(accepted.text).toBe(csv.text);
  });

  it("of 2,000 entries agrees to the cent, and one entry more than it may have is refused", async () => {
    const own = await known("2027-02-01T09:00:00.000Z");
    const account = await own.broker.account();
    const entry = (version: number): Ledger => ({
      ...{ id: `led_${String(version).padStart(26, "0")}`, tenant_id: own.tenant, account_id: account.id },
      ...{ kind: "adjustment", amount_minor: 7n, currency: "USD", transaction_id: null },
      ...{ balance_before_minor: BigInt(version - 1) * 7n, balance_after_minor: BigInt(version) * 7n },
      balance_version: version,
      created_at: new Date(Date.parse("2027-02-01T10:00:00.000Z") + version * 1000).toISOString(),
    });
    const put = async (from: number, to: number) => {
      for (let start = from; start <= to; start += 25) {
        const versions = Array.from({ length: Math.min(25, to - start + 1) }, (_, place) => start + place);
        const requests = versions.map((version) => ({
          PutRequest: { Item: marshall(itemOf(ledgers, entry(version)), { removeUndefinedValues: true }) },
        }));
        await api.emulator.client.send(
          new BatchWriteItemCommand({ RequestItems: { [api.emulator.tableName]: requests } }),
        );
      }
      const { pk, sk } = { pk: `${own.tenant}#${account.id}`, sk: "BALANCE" };
      await api.emulator.client.send(
        new UpdateItemCommand({
          TableName: api.emulator.tableName,
          Key: marshall({ pk, sk }),
          UpdateExpression: "SET seq = :s, balance_minor = :b",
          ExpressionAttributeValues: marshall({ ":s": to, ":b": to * 7 }),
        }),
      );
    };
    await put(1, 2000);
    setClock("2027-02-02T09:00:00.000Z");
    const whole = await statement(own.caller, account.id, "2027-02-01", "2027-02-01");
    expect(whole.figures).toMatchObject({
      ...{ first_version: 1, last_version: 2000, closing: { balance: "140.00", credit: "0.00" } },
      totals: [{ kind: "adjustment", moves: "balance", count: 2000, amount: "140.00" }],
    });
    await put(2001, 5001);
    const { status, body } = await api.call(own.caller, "GET", address(account.id, "2027-02-01", "2027-02-01"));
    expect([status, body.code, body.errors[0].detail]).toEqual([
      400,
      "invalid_parameter",
      "names days with more than 5000 entries: list the ledger",
    ]);
  });

  it("is not of a day that has not begun, nor of another brokerage, and names clients to few", async () => {
    const own = await known("2027-02-01T09:00:00.000Z");
    const account = await own.broker.account("1.00");
    const ask = (caller: TestCaller, from: string, to: string) =>
      api.call(caller, "GET", address(account.id, from, to));
    expect(await ask(own.caller, "2027-02-02", "2027-02-02")).toMatchObject({ status: 400 });
    const early = await ask(own.caller, "2027-01-01", "2027-01-02");
    expect(early.body).toMatchObject({ final: true, figures: { entries: [], closing: { balance: "0.00" } } });
    expect(await ask(own.caller, "2027-02-01", "2027-01-31")).toMatchObject({ status: 400 });
    expect(await ask(own.caller, "2026-01-01", "2027-02-01")).toMatchObject({ status: 400 });
    expect((await ask(own.caller, "2027-02-01", "2027-02-01")).body.client.name).toBe("Ana Silva");
    const blind = { ...own.caller, scopes: ["accounts:read"] } as TestCaller;
    expect((await ask(blind, "2027-02-01", "2027-02-01")).body.client).toBeNull();
    expect((await ask(newCaller(), "2027-02-01", "2027-02-01")).status).toBe(404);
  });
});
