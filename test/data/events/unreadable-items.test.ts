import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { afterEach, describe, expect, it } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { examplePrices } from "../../support/builders/trading.ts";
import { putQuotes } from "../../support/builders/trading-data.ts";
import { itemsOf } from "../../support/emulator/raw-table.ts";
import { lambdaContext, type TestCaller } from "../../support/emulator/request.ts";
import {
  api,
  type Brokerage,
  damages,
  eventsOf,
  expectAllOnce,
  logged,
  newBrokerage,
  put,
  receivedBy,
  settle,
  stored,
  sweepEvents,
} from "./unreadable-cases.ts";

/** Where one item of a kind is, what of it is damaged, and what readers and decisions meet. */
interface Case {
  readonly type: string;
  readonly member: string;
  readonly packed?: string;
  /** Members that are read as they are, and fail where they are parsed. */
  readonly parsed?: Record<string, AttributeValue>;
  /** Whether the item is made by the next commit, and waits. */
  readonly place: (own: Brokerage) => Promise<{ pk: string; sk: string }>;
  /** A list that leaves it out. */
  readonly list?: (own: Brokerage) => string;
  /** A report that would be wrong without it. */
  readonly report?: string;
  /** Path that asks for it by its identifier. */
  readonly byId?: (own: Brokerage) => string;
  /** A command that would decide on it, and another one of the same brokerage that does not. */
  readonly decide?: (own: Brokerage) => readonly [method: string, address: string, body: object];
}

const first = (type: string, of?: (own: Brokerage, item: Readonly<Record<string, unknown>>) => boolean) => {
  return async (own: Brokerage) => {
    const found = (await itemsOf(api.emulator, { type, tenant: own.tenant })).filter((each) => of?.(own, each) ?? true);
    return { pk: String(found[0]?.["pk"]), sk: String(found[0]?.["sk"]) };
  };
};
const ofAccount = (own: Brokerage, item: Readonly<Record<string, unknown>>) => item["account_id"] === own.account.id;
const withdraw = ({ account }: Brokerage) =>
  ["POST", "/transactions/withdrawal", { account_id: account.id, amount: "1.00" }] as const;

const today = new Date().toISOString().slice(0, 10);
const days = `from=${today}&to=${today}`;

const cases: readonly Case[] = [
  {
    ...{ type: "WEBHOOK", member: "id", parsed: { event_types: { N: "7.5" } }, place: first("WEBHOOK") },
    list: () => "/webhook_endpoints",
    byId: ({ endpoint }) => `/webhook_endpoints/${endpoint.id}`,
    decide: ({ endpoint }) => ["PATCH", `/webhook_endpoints/${endpoint.id}`, { description: "x" }],
  },
  {
    type: "HEALTH",
    member: "",
    parsed: { slots: { NULL: true } },
    place: first("HEALTH"),
    list: () => "/webhook_endpoints",
  },
  {
    ...{ type: "DELIVERY", member: "id", place: first("DELIVERY") },
    list: ({ endpoint }) => `/webhook_endpoints/${endpoint.id}/deliveries`,
  },
  {
    ...{ type: "EVENT", member: "id", parsed: { payload: { N: "1" } }, packed: "payload", place: first("EVENT") },
    list: () => "/events?limit=100",
  },
  {
    ...{ type: "SOURCE", member: "id", place: first("SOURCE") },
    list: () => "/feed/sources",
    byId: ({ source }) => source.path,
    decide: ({ source }) => ["PATCH", source.path, { paused: true }],
  },
  {
    ...{
      type: "ACCOUNT",
      member: "currency",
      parsed: { margin_call_level: { S: "x" } },
      place: first("ACCOUNT", (own, item) => item["id"] === own.account.id),
    },
    list: () => "/accounts",
    byId: ({ account }) => `/accounts/${account.id}`,
    decide: withdraw,
  },
  {
    ...{ type: "BALANCE", member: "balance_minor", place: first("BALANCE", ofAccount) },
    list: () => "/accounts",
    byId: ({ account }) => `/accounts/${account.id}`,
    decide: withdraw,
  },
  {
    ...{ type: "POSITION", member: "swap_minor", parsed: { lots: { S: "x" } }, place: first("POSITION", ofAccount) },
    list: () => "/positions",
    byId: ({ account }) => `/accounts/${account.id}`,
    decide: withdraw,
  },
  {
    type: "RISK",
    member: "equity_minor",
    place: first("RISK", ofAccount),
    list: () => "/accounts/margin_watch",
    decide: withdraw,
  },
  {
    ...{ type: "TRADE", member: "symbol", place: first("TRADE", ofAccount) },
    list: () => "/trades",
  },
  {
    ...{
      type: "TXN",
      member: "amount_minor",
      parsed: { platform_operations: { N: "1" } },
      place: first("TXN", (own, item) => item["id"] === own.withdrawal.id),
    },
    list: () => "/transactions",
    byId: ({ withdrawal }) => `/transactions/${withdrawal.id}`,
    decide: ({ withdrawal }) => ["PATCH", `/transactions/${withdrawal.id}`, { status: "processing" }],
  },
  {
    ...{
      type: "CLIENT",
      member: "id",
      place: first("CLIENT", (own, item) => item["id"] === own.account.client_id),
    },
    list: () => "/clients",
    byId: ({ account }) => `/clients/${account.client_id}`,
    decide: ({ account }) => ["PATCH", `/clients/${account.client_id}`, { phone: null }],
  },
  {
    ...{ type: "LEDGER", member: "amount_minor", place: first("LEDGER", ofAccount) },
    list: ({ account }) => `/accounts/${account.id}/ledger`,
  },
  {
    ...{ type: "SYMBOL", member: "symbol", parsed: { sessions: { NULL: true } } },
    place: async ({ tenant }) => ({ pk: `${tenant}|SYM`, sk: "EURUSD" }),
    list: () => "/symbols?limit=100",
    report: "/conversion_rates",
    byId: () => "/symbols/EURUSD",
    decide: withdraw,
  },
  {
    ...{ type: "QUOTE", member: "symbol", parsed: { bid: { S: "x" } } },
    place: async ({ tenant }) => ({ pk: `${tenant}|Q|EURUSD`, sk: "QUOTE" }),
    list: () => "/accounts",
    report: "/conversion_rates",
    byId: () => "/quotes/EURUSD",
    decide: withdraw,
  },
];

const table = cases.flatMap((one) => {
  const kinds: readonly (keyof typeof damages)[] = [
    "version",
    ...(one.member === "" ? [] : (["member"] as const)),
    ...(one.packed === undefined ? [] : (["packed"] as const)),
    ...(one.parsed === undefined ? [] : (["parsed"] as const)),
  ];
  return kinds.map((damage) => ({ ...one, damage, name: `${one.type}, ${damage}` }));
});

/** Puts the planted item back as it was, also when a test fails: it is to fail alone. */
let repair: (() => Promise<unknown>) | undefined;
afterEach(async () => {
  await repair?.();
});

const names = (some: readonly Readonly<Record<string, unknown>>[]) => some.map(({ key }) => key);

describe("an item that cannot be read", () => {
  it.each(table)(
    "of $name stops no other, is named, and what is owed arrives once when it is well",
    async (one) => {
      const [own, other] = await Promise.all([newBrokerage(), newBrokerage()]);
      await settle();
      await expectAllOnce(own);
      const { pk, sk } = await one.place(own);
      const whole = await stored(pk, sk);
      repair = () => put(whole);
      await put(whole, damages[one.damage](one));
      const known = one.damage !== "parsed";
      logged.splice(0);

      // Traffic of both brokerages goes on, and so do the sweeps.
      const deposited: string[] = [];
      for (const amount of ["5.00", "6.00", "7.00"]) {
        const made = await Promise.all(
          [own, other].map(({ broker, other: account }) => broker.deposit(account, amount)),
        );
        deposited.push(made[0]?.id);
      }
      await settle();
      expect((await eventsOf(other)).at(-1)?.type).toBe("transaction.created");
      await expectAllOnce(other);
      const owed = (await eventsOf(own)).filter(({ resource }) => deposited.includes(resource.id));
      expect(owed).toHaveLength(3);
      const got = new Set(receivedBy(own).map(({ id }) => id));
      const waits = ["WEBHOOK", "HEALTH"].includes(one.type);
      expect(owed.map(({ id }) => got.has(id))).toEqual([!waits, !waits, !waits]);

      // Readers go on behind it; by its identifier it is named, and a decision fails for that account alone.
      if (one.list !== undefined) {
        const path = one.list(own);
        const { status, body, text } = await api.call(own.caller, "GET", path);
        expect(status, text).toBe(200);
        const { body: healthy } = await api.call(other.caller, "GET", one.list(other));
        expect(healthy.page.unreadable).toBeUndefined();
        if (known) {
          expect(body.page.unreadable, text).toBe(1);
          await expectWalk(own.caller, path);
        }
      }
      if (known && one.report !== undefined) await expectNoReport(own, one.report);
      if (known && one.byId !== undefined) {
        const { status, body } = await api.call(own.caller, "GET", one.byId(own));
        expect([status, body.code]).toEqual([500, "unreadable_item"]);
      }
      if (one.decide !== undefined && (known || !waits)) {
        const [method, address, body] = one.decide(own);
        const before = await bookOf(own);
        const { status, body: answer } = await api.call(own.caller, method, address, { body });
        expect([status, answer.code]).toEqual([500, known ? "unreadable_item" : "internal_error"]);
        expect(await bookOf(own)).toEqual(before);
        await putQuotes(api, own.tenant, { GBPUSD: examplePrices["GBPUSD"] as readonly [string, string] });
        await own.broker.withdrawal(own.other, "1.00");
      }
      if (known) {
        expect(new Set(names(logged.filter(({ message }) => message === "A stored item cannot be read.")))).toEqual(
          new Set([`${pk} ${sk}`]),
        );
      }

      await repair();
      repair = undefined;
      await putQuotes(api, own.tenant, examplePrices);
      await settle({ rounds: 3, atOnceMost: 1 });
      await expectAllOnce(own);
      await expectAllOnce(other);
      const late = receivedBy(own).filter(({ id }) => !got.has(id) && owed.some((event) => event.id === id));
      expect(late.map(({ id }) => id)).toEqual(waits ? owed.map(({ id }) => id) : []);
      if (one.decide !== undefined) {
        const [method, address, body] = one.decide(own);
        expect((await api.call(own.caller, method, address, { body })).status).toBeLessThan(300);
      }
    },
    60_000,
  );
});

describe("a sum that lacks an item that cannot be read", () => {
  const damaged = { v: { N: "99" } };

  it.each([
    ["settled money", "s", `/reports/money?${days}`],
    ["transactions", "c", `/transactions/summary?${days}`],
  ])("of %s is not given, and says why", async (_, list, address) => {
    const own = await newBrokerage();
    expect((await api.call(own.caller, "GET", address)).status).toBe(200);
    const place = { pk: { S: `${own.tenant}|SUM` }, sk: { S: `0000000000|${list}|${today}|USD` } };
    await put({ TableName: api.emulator.tableName, Item: { ...place, et: { S: "SUM" }, ...damaged } });
    await expectNoReport(own, address);
  });

  it("of usage is not given, and says why", async () => {
    const own = await newBrokerage();
    const Item = { pk: { S: `${own.tenant}|USE` }, sk: { S: `${today}|app_1` }, et: { S: "USAGE" }, ...damaged };
    await put({ TableName: api.emulator.tableName, Item });
    await expectNoReport(own, `/usage?${days}`);
  });

  it("leaves a transaction out of the queue of approvals whose client it is, and counts it", async () => {
    const own = await newBrokerage();
    await api.call(own.caller, "PATCH", "/settings", { body: { four_eyes: true } });
    const approver = { ...own.caller, application_id: newId("app") };
    const path = "/transactions/queue?expand=client";
    const { body: before } = await api.call(approver, "GET", path);
    expect(before.data).toHaveLength(1);
    const { pk, sk } = await first("CLIENT", ({ account }, item) => item["id"] === account.client_id)(own);
    await put(await stored(pk, sk), damaged);
    const { status, body } = await api.call(approver, "GET", path);
    expect([status, body.data, body.page.unreadable]).toEqual([200, [], 1]);
  });
});

describe("a commit that waits and cannot be read", () => {
  it.each(["version", "member", "packed"] as const)(
    "(%s) is parked as it is with its error, holds no other, and is published once when it was repaired and released",
    async (damage) => {
      const own = await newBrokerage();
      await settle();
      const late = await own.broker.deposit(own.other, "7.00");
      const [{ pk, sk } = { pk: "", sk: "" }] = (
        await itemsOf(api.emulator, { type: "OUTBOX", tenant: own.tenant })
      ).map((item) => ({ pk: String(item["pk"]), sk: String(item["sk"]) }));
      const whole = await stored(pk, sk);
      await put(whole, damages[damage]({ member: "created_at", packed: "events" }));
      const next = await own.broker.deposit(own.other, "8.00");

      await settle();
      expect((await eventsOf(own)).at(-1)).toMatchObject({ resource: { id: next.id } });
      const entries = logged.filter(({ key }) => key === `${pk} ${sk}`).map(({ message }) => message);
      expect(new Set(entries)).toEqual(
        new Set(["A stored item cannot be read.", "A commit was parked: its events could not be published."]),
      );
      const parked = await stored(pk, sk.replace("OUTBOX", "PARKED"));
      expect(parked.Item["error_message"]?.S).toContain(`${pk} ${sk} cannot be read`);
      // As a person writes who repairs it, or a release does that knows the version.
      await put(parked, { stored: { M: whole.Item } });
      await expect(sweepEvents({ action: "release_parked" }, lambdaContext(60_000))).resolves.toMatchObject({
        left: 0,
      });
      await settle();
      expect((await eventsOf(own)).at(-1)).toMatchObject({ resource: { id: late.id } });
      await expectAllOnce(own);
    },
    60_000,
  );
});

describe("a release before the one that wrote the table", () => {
  it("parks the commit and leaves the event out that it does not know, and loses neither", async () => {
    const own = await newBrokerage();
    await settle();
    const newer = { v: { N: "3" } };
    const event = await stored(`${own.tenant}|EVT|0|0`, "0000000000000004");
    await put(event, newer);
    const late = await own.broker.deposit(own.other, "7.00");
    const [waiting] = await itemsOf(api.emulator, { type: "OUTBOX", tenant: own.tenant });
    const outbox = await stored(String(waiting?.["pk"]), String(waiting?.["sk"]));
    await put(outbox, newer);
    await own.broker.deposit(own.other, "8.00");
    await settle();
    const { body } = await api.call(own.caller, "GET", "/events?limit=100");
    expect([body.data.length, body.page.unreadable]).toEqual([Number(body.data.at(-1).sequence) - 1, 1]);
    const { status, body: answer } = await api.call(own.caller, "GET", `/events/${event.Item["id"]?.S}`);
    expect([status, answer.code]).toEqual([500, "unreadable_item"]);
    // The newer release comes back: it knows both versions.
    await put(event);
    const parked = await stored(String(waiting?.["pk"]), String(waiting?.["sk"]).replace("OUTBOX", "PARKED"));
    await put(parked, { stored: { M: outbox.Item } });
    await sweepEvents({ action: "release_parked" }, lambdaContext(60_000));
    await settle();
    expect((await eventsOf(own)).at(-1)).toMatchObject({ resource: { id: late.id } });
    await expectAllOnce(own);
  }, 60_000);
});

async function expectNoReport({ caller }: Brokerage, path: string): Promise<void> {
  const { status, body } = await api.call(caller, "GET", path);
  expect([status, body.code]).toEqual([500, "unreadable_item"]);
  expect(body.detail).toContain("without it the answer would be wrong");
}

/** Items of a decision, as they are stored. */
async function bookOf({ tenant }: Brokerage): Promise<unknown> {
  const kinds = ["ACCOUNT", "BALANCE", "CLIENT", "LEDGER", "OUTBOX", "POSITION", "SOURCE", "TXN", "WEBHOOK"];
  return (await itemsOf(api.emulator, { tenant })).filter((item) => kinds.includes(String(item["et"])));
}

/** Pages of one item each lead to the end of a list, and one of them says what it leaves out. */
async function expectWalk(caller: TestCaller, path: string): Promise<void> {
  let [next, left, pages]: [string | undefined, number, number] = [`${path.split("?")[0]}?limit=1`, 0, 0];
  for (; next !== undefined; pages += 1) {
    const { body } = await api.call(caller, "GET", next);
    left += body.page.unreadable ?? 0;
    next = body._links.next?.href.replace(/^.*?\/v2/, "");
  }
  expect(left).toBe(1);
  expect(pages).toBeGreaterThan(0);
}
