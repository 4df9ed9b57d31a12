import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import type { ClosingBalancesBody, IncomeReportBody } from "../../../shared/schema/internal-money/closing.ts";
import type { ReconciliationBody } from "../../../shared/schema/internal-money/reconciliation.ts";
import { applicationRefs, contras, ledgers } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket, putQuotes } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw } from "../../support/emulator/deliveries.ts";
import { text, whole } from "../../support/emulator/raw-items.ts";
import { itemsOf, type RawItem } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { seeded } from "../../support/stack/chaos.ts";

const api = await startApi("watched");
afterAll(api.stop);
afterEach(() => {
  api.watched.interfere = () => undefined;
  vi.useRealTimers();
});
const { handler } = await import("../../../functions/reports/reconcile.ts");
const { publishWaiting } = await import("../../support/emulator/publishing.ts");
const { sumEvents } = await import("../../../shared/sums/sum-events.ts");
const { daysSince } = await import("../../../shared/table/book-days.ts");
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");

const setClock = (moment: number) => vi.useFakeTimers({ toFake: ["Date"], now: moment });
const minute = 60_000;

/** A brokerage that is known to the function, made at a moment, and nothing else of it. */
async function known(at: string) {
  setClock(Date.parse(at));
  const caller = newCaller();
  const { tenant_id, application_id, client_id } = caller;
  await putRaw(api, itemOf(applicationRefs, { client_id, application_id, owner_tenant_id: tenant_id }));
  await putMarket(api, tenant_id);
  const broker = brokerage(api, caller);
  await broker.get("/settings");
  const runningDay = async () =>
    (await daysSince(tenant_id, new Date().toISOString())).days.at(new Date().toISOString());
  const runs = async (): Promise<ReconciliationBody[]> => (await broker.get("/reports/reconciliation")).data;
  const query = "from=2027-01-01&to=2027-03-31";
  const rows = async () => {
    const found: (ClosingBalancesBody["data"][number] & { type: string })[] = [];
    for (const type of ["live", "demo"]) {
      const { data } = await broker.get(`/reports/closing_balances?${query}&account_type=${type}`);
      found.push(...(data as ClosingBalancesBody["data"]).map((row) => ({ ...row, type })));
    }
    return found;
  };
  const money = async (day: string) => {
    const found: Record<string, unknown>[] = [];
    for (const type of ["live", "demo"]) {
      const { data } = await broker.get(`/reports/money?from=${day}&to=${day}&account_type=${type}`);
      found.push(...data.map((row: object) => ({ type, ...row })));
    }
    return found;
  };
  return { caller, tenant: tenant_id, broker, floor: tradingFloor(tenant_id), runningDay, runs, rows, money };
}

type Known = Awaited<ReturnType<typeof known>>;

/** Publishes the events of all commits so far, and adds some of them to the sums. */
async function publish({ tenant }: Known, sum: boolean): Promise<void> {
  await publishWaiting(api.emulator, tenant);
  if (sum) await sumEvents(tenant, () => true);
}

/** The nightly run a while after the end of a day; steps of it are killed, and repeated. */
async function night({ runs }: Known, random: () => number): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    const most = 3 + Math.floor(random() * 60);
    let calls = 0;
    api.watched.interfere = () => {
      calls += 1;
      if (calls < most) return undefined;
      return calls === most ? "lose_answer" : failure("ResourceNotFoundException");
    };
    await Promise.allSettled([handler({}, lambdaContext(600_000)), handler({}, lambdaContext(600_000))]);
    api.watched.interfere = () => undefined;
  }
  for (let turn = 0; turn < 5; turn += 1) {
    await handler({}, lambdaContext(600_000));
    if ((await runs())[0]?.status !== "running") return;
  }
}

const zones = ["UTC", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "Pacific/Pago_Pago"];
const times = ["00:00", "02:30", "17:00"];

/** Acts on the accounts of a brokerage, each at the moment that the clock shows. */
function acts(own: Known, accounts: readonly { id: string; currency: string }[], random: () => number) {
  const open: { id: string }[] = [];
  const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T;
  const amount = () => String(1 + Math.floor(random() * 400));
  const send = (address: string, body: object) => api.call(own.caller, "POST", address, { body });
  const reason = { code: "by_test" };
  const made = async (kind: string, more: object = {}) => {
    const answer = await send(`/transactions/${kind}`, { account_id: pick(accounts).id, amount: amount(), ...more });
    if (answer.status === 201) open.push(answer.body);
  };
  const lose = async () => {
    const account = accounts[0] as { id: string };
    await putQuotes(api, own.tenant, { EURUSD: ["1.10000", "1.10010"] });
    await own.floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.10" });
    await putQuotes(api, own.tenant, { EURUSD: [random() < 0.5 ? "1.02000" : "1.12000", "1.13000"] });
    await own.floor.close(account.id, 0);
  };
  const patches = () => ({ client_money: pick(["segregated", "title_transfer"]) });
  const choices: readonly (() => Promise<unknown>)[] = [
    () => made("deposit", { status: "completed" }),
    () => made("deposit"),
    () => made("withdrawal", { fee: "1" }),
    () => made("withdrawal", { status: "completed" }),
    () => made("adjustment", { amount: random() < 0.5 ? "-3" : "4", reason }),
    () => made("credit", { direction: random() < 0.7 ? "in" : "out", reason }),
    () =>
      send("/transactions/transfer", {
        from_account_id: pick(accounts).id,
        to_account_id: pick(accounts).id,
        amount: "5",
      }),
    ...["processing", "completed", "completed", "failed", "returned"].map((status) => async () => {
      if (open.length > 0) await own.broker.move(pick(open), status);
    }),
    lose,
    () => api.call(own.caller, "PATCH", `/accounts/${pick(accounts).id}`, { body: patches() }),
  ];
  return () => pick(choices)();
}

const sumOf = (items: readonly RawItem[]) => items.reduce((sum, item) => sum + whole(item, "amount_minor"), 0n);

/** A row of a closed day by a replay of all entries, in minor units. */
function replayed(
  items: { accounts: RawItem[]; entries: RawItem[]; legs: RawItem[] },
  row: Awaited<ReturnType<Known["rows"]>>[number],
) {
  const own = items.accounts.filter((each) => each["type"] === row.type && each["currency"] === row.currency);
  const ids = new Set(own.map((each) => each["id"]));
  const before = (list: readonly RawItem[], moment: string) =>
    list.filter(
      (item) => ids.has(item["account_id"]) && item["currency"] === row.currency && text(item, "created_at") < moment,
    );
  const [entries, legs] = [before(items.entries, row.ends_at), before(items.legs, row.ends_at)];
  const money = [...ids].map((id) => {
    const mine = entries.filter((item) => item["account_id"] === id);
    const credits = mine.filter((item) => item["moves"] === "credit");
    return { balance: sumOf(mine) - sumOf(credits), credit: sumOf(credits) };
  });
  const total = (minors: readonly bigint[]) => minors.reduce((sum, minor) => sum + minor, 0n);
  const opening = sumOf(before(items.entries, row.starts_at));
  const transit = (control: string) => sumOf(legs.filter((leg) => leg["control_account"] === control));
  const owed = total(money.map(({ balance }) => (balance > 0n ? balance : 0n)));
  return {
    accounts: BigInt(money.filter(({ balance, credit }) => balance !== 0n || credit !== 0n).length),
    owed,
    owing: -total(money.map(({ balance }) => (balance < 0n ? balance : 0n))),
    credit: total(money.map(({ credit }) => credit)),
    payouts_in_transit: transit("payouts_in_transit"),
    transfers_in_transit: transit("in_transit"),
    total_owed: owed + transit("payouts_in_transit") + transit("in_transit"),
    opening,
    movement: -sumOf(legs.filter((leg) => text(leg, "created_at") >= row.starts_at)),
    closing: sumOf(entries),
  };
}

const minor = (amount: string | number) =>
  typeof amount === "number" ? BigInt(amount) : BigInt(amount.replace(".", ""));

describe("closed days", () => {
  it.each([1, 2])("equal a replay of ledgers and control accounts, program %i", async (seed) => {
    const random = seeded(seed);
    const own = await known("2027-01-05T10:11:12.000Z");
    const kinds = [
      {},
      { currency: "EUR" },
      { client_money: "title_transfer" },
      { type: "demo" },
      { type: "demo" },
      { currency: "JPY" },
    ];
    const accounts: { id: string; currency: string }[] = [];
    for (const more of kinds) accounts.push(await own.broker.account("500", { leverage: 30, ...more }));
    const act = acts(own, accounts, random);
    for (let day = 0; day < 6; day += 1) {
      const { day: label, ends_at } = await own.runningDay();
      const end = Date.parse(ends_at);
      const begin = Date.now();
      const moments = Array.from({ length: 9 }, () => begin + Math.floor(random() * (end - begin)));
      for (const moment of [...moments.toSorted(), end - 1, end, end, end + 1]) {
        setClock(moment);
        if (random() < 0.06) {
          const day_end = {
            zone: zones[Math.floor(random() * zones.length)],
            time: times[Math.floor(random() * times.length)],
          };
          const { status } = await api.call(own.caller, "PATCH", "/settings", { body: { day_end } });
          expect(status).toBe(200);
        }
        await act();
      }
      await publish(own, random() < 0.5);
      const summed = await own.money(label);
      setClock(end + 14 * minute);
      await handler({}, lambdaContext(600_000));
      expect(await own.runs()).toHaveLength(Math.min(day, 10));
      setClock(end + 16 * minute);
      await night(own, random);
      await publish(own, false);
      const [run] = await own.runs();
      expect(run).toMatchObject({ status: "completed", day: label, difference_count: 0, differences: [] });
      const booked = await own.money(label);
      expect(booked.every(({ final }) => final === true)).toBe(true);
      expect(booked).toEqual(summed.map((row) => ({ ...row, final: true })));
    }
    const [accountItems, entries, legs] = await Promise.all(
      ["ACCOUNT", "LEDGER", "CONTRA"].map((type) => itemsOf(api.emulator, { type, tenant: own.tenant })),
    );
    const items = { accounts: accountItems ?? [], entries: entries ?? [], legs: legs ?? [] };
    const rows = await own.rows();
    expect(rows.length).toBeGreaterThan(20);
    const last = new Map<string, string>();
    for (const row of rows) {
      const { owed, ...figures } = replayed(items, row);
      expect(minor(row.owed_segregated) + minor(row.owed_title_transfer)).toBe(owed);
      for (const [name, value] of Object.entries(figures)) {
        expect(minor(row[name as "closing"]), `${row.day} ${row.currency} ${row.type} ${name}`).toBe(value);
      }
      expect(minor(row.difference)).toBe(0n);
      const name = `${row.currency} ${row.type}`;
      expect(minor(row.opening)).toBe(minor(last.get(name) ?? "0"));
      last.set(name, row.closing);
    }
  });

  it("show a payout of an old debit, and what the brokerage gained", async () => {
    const own = await known("2027-01-30T10:00:00.000Z");
    const account = await own.broker.account("500.00");
    const paid = await own.broker.withdrawal(account, "100.00", { fee: "2.00" });
    await own.broker.move(paid, "processing");
    const closeDay = async () => {
      const { day, ends_at } = await own.runningDay();
      await publish(own, true);
      setClock(Date.parse(ends_at) + 20 * minute);
      await handler({}, lambdaContext(600_000));
      return day;
    };
    const days = [await closeDay(), await closeDay(), await closeDay(), await closeDay()];
    await own.broker.move(paid, "completed");
    days.push(await closeDay());
    const rows = await own.rows();
    expect(rows.map(({ day }) => day)).toEqual(days);
    expect(rows.map(({ total_owed, payouts_in_transit }) => [total_owed, payouts_in_transit])).toEqual([
      ...Array.from({ length: 4 }, () => ["500.00", "100.00"]),
      ["400.00", "0.00"],
    ]);
    expect(rows.map(({ difference }) => difference)).toEqual(Array.from({ length: 5 }, () => "0.00"));
    const { data } = await own.broker.get("/reports/income?from=2027-01-01&to=2027-03-31&currency=USD");
    expect((data as IncomeReportBody["data"]).map(({ fees, total }) => [fees, total])).toEqual([
      ...Array.from({ length: 4 }, () => ["0.00", "0.00"]),
      ["2.00", "2.00"],
    ]);
    const csv = await api.call(own.caller, "GET", "/reports/closing_balances?from=2027-01-01&to=2027-03-31&format=csv");
    const [header, first] = csv.text.split("\r\n");
    expect(header?.split(",").slice(0, 3)).toEqual(["day", "currency", "starts_at"]);
    expect(first).toContain(`${days[0]},USD,`);
  });

  it("find what was put behind them by hand in the next night, even with both of its sides", async () => {
    const own = await known("2027-01-05T10:00:00.000Z");
    const account = await own.broker.account("500.00");
    await publish(own, true);
    const { day, ends_at } = await own.runningDay();
    setClock(Date.parse(ends_at) + 20 * minute);
    await handler({}, lambdaContext(600_000));
    const { tenant: tenant_id } = own;
    const shared = { tenant_id, account_id: account.id, currency: "USD", transaction_id: null } as const;
    const entry = {
      ...{
        ...shared,
        id: "led_01JG0000000000000000000000",
        kind: "adjustment" as const,
        created_at: "2027-01-05T11:00:00.000Z",
      },
      ...{ amount_minor: 500n, balance_before_minor: 50_000n, balance_after_minor: 50_500n, balance_version: 2 },
    } as const;
    const leg = { ...shared, id: "ctl_01JG0000000000000000000000", control_account: "adjustment" } as const;
    const put = (item: Record<string, unknown>) =>
      api.emulator.client.send(
        new PutItemCommand({
          TableName: api.emulator.tableName,
          Item: marshall(item, { removeUndefinedValues: true }),
        }),
      );
    await put(itemOf(ledgers, entry));
    await put(itemOf(contras, { ...leg, ledger_id: entry.id, amount_minor: -500n, created_at: entry.created_at }));
    const next = await own.runningDay();
    setClock(Date.parse(next.ends_at) + 20 * minute);
    await handler({}, lambdaContext(600_000));
    const [run] = await own.runs();
    expect(run?.day).toBe(next.day);
    const found = { object_type: "day", object_id: `${next.day}/USD/live`, field: "opening" };
    expect(run?.differences).toContainEqual(expect.objectContaining({ ...found, expected: "500.00", found: "505.00" }));
    const rows = await own.rows();
    expect(rows.map((row) => [row.day, row.opening, row.closing])).toEqual([
      [day, "0.00", "500.00"],
      [next.day, "505.00", "505.00"],
    ]);
    expect(rows[1]?.difference_count).toBeGreaterThan(0);
  });

  it("go on after a reset of the sandbox, whose accounts the next day does not begin with", async () => {
    const own = await known("2027-01-05T10:00:00.000Z");
    await own.broker.account("500.00");
    await publish(own, true);
    setClock(Date.parse((await own.runningDay()).ends_at) + 20 * minute);
    await handler({}, lambdaContext(600_000));
    await api.call(own.caller, "POST", "/sandbox/reset", {});
    const { resetOverdue } = await import("../../../shared/sandbox/reset.ts");
    for (let turn = 0; turn < 4; turn += 1) {
      setClock(Date.now() + 10 * minute);
      await resetOverdue(() => true);
    }
    expect((await own.broker.get("/sandbox/reset")).status).toBe("completed");
    await own.broker.account("70.00");
    await publish(own, true);
    const next = await own.runningDay();
    setClock(Date.parse(next.ends_at) + 20 * minute);
    await handler({}, lambdaContext(600_000));
    const [run] = await own.runs();
    expect(run).toMatchObject({ status: "completed", day: next.day, differences: [] });
    expect((await own.rows()).map((row) => [row.opening, row.closing])).toEqual([
      ["0.00", "500.00"],
      ["0.00", "70.00"],
    ]);
  });
});
