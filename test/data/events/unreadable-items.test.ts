import { describe, expect, it } from "vitest";
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
  /** Whether the item is made by the next commit, and waits. */
  readonly place: (own: Brokerage) => Promise<{ pk: string; sk: string }>;
  /** A list that leaves it out. */
  readonly list?: (own: Brokerage) => string;
  /** What asks for it by its identifier. */
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

const cases: readonly Case[] = [
  {
    ...{ type: "WEBHOOK", member: "event_types", place: first("WEBHOOK") },
    list: () => "/webhook_endpoints",
    byId: ({ endpoint }) => `/webhook_endpoints/${endpoint.id}`,
    decide: ({ endpoint }) => ["PATCH", `/webhook_endpoints/${endpoint.id}`, { description: "x" }],
  },
  { type: "HEALTH", member: "wake_at", place: first("HEALTH"), list: () => "/webhook_endpoints" },
  {
    ...{ type: "DELIVERY", member: "created_at", place: first("DELIVERY") },
    list: ({ endpoint }) => `/webhook_endpoints/${endpoint.id}/deliveries`,
  },
  {
    ...{ type: "EVENT", member: "published_at", packed: "payload", place: first("EVENT") },
    list: () => "/events?limit=100",
  },
  {
    ...{ type: "SOURCE", member: "created_at", place: first("SOURCE") },
    list: () => "/feed/sources",
    byId: ({ source }) => source.path,
    decide: ({ source }) => ["PATCH", source.path, { paused: true }],
  },
  {
    ...{ type: "ACCOUNT", member: "currency", place: first("ACCOUNT", (own, item) => item["id"] === own.account.id) },
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
    ...{ type: "POSITION", member: "margin_minor", place: first("POSITION", ofAccount) },
    list: () => "/positions",
    byId: ({ account }) => `/accounts/${account.id}`,
    decide: withdraw,
  },
  {
    type: "RISK",
    member: "version",
    place: first("RISK", ofAccount),
    list: () => "/accounts/margin_watch",
    decide: withdraw,
  },
  {
    ...{ type: "TRADE", member: "symbol", place: first("TRADE", ofAccount) },
    list: () => "/trades",
  },
  {
    ...{ type: "TXN", member: "amount_minor", place: first("TXN", (own, item) => item["id"] === own.withdrawal.id) },
    list: () => "/transactions",
    byId: ({ withdrawal }) => `/transactions/${withdrawal.id}`,
    decide: ({ withdrawal }) => ["PATCH", `/transactions/${withdrawal.id}`, { status: "processing" }],
  },
  {
    ...{
      type: "CLIENT",
      member: "created_at",
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
    ...{ type: "SYMBOL", member: "symbol" },
    place: async ({ tenant }) => ({ pk: `${tenant}|SYM`, sk: "EURUSD" }),
    list: () => "/symbols?limit=100",
    byId: () => "/symbols/EURUSD",
    decide: withdraw,
  },
  {
    ...{ type: "QUOTE", member: "symbol" },
    place: async ({ tenant }) => ({ pk: `${tenant}|Q|EURUSD`, sk: "QUOTE" }),
    list: () => "/accounts",
    byId: () => "/quotes/EURUSD",
    decide: withdraw,
  },
];

const table = cases.flatMap((one) => {
  const kinds = ["version", "member", ...(one.packed === undefined ? [] : ["packed"])] as (keyof typeof damages)[];
  return kinds.map((damage) => ({ ...one, damage, name: `${one.type}, ${damage}` }));
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
      await put(whole, damages[one.damage](one));
      logged.splice(0);

      // Traffic of both brokerages goes on, and so do the sweeps.
      const deposited = await Promise.all(
        [own, other].map(({ broker, other: account }) => broker.deposit(account, "5.00")),
      );
      await settle();
      const newest = (await eventsOf(other)).at(-1);
      expect(newest?.type).toBe("transaction.created");
      await expectAllOnce(other);
      const got = receivedBy(own).map(({ id }) => id);
      const waits = ["WEBHOOK", "HEALTH"].includes(one.type);
      const about = await api.call(own.caller, "GET", `/events?resource_id=${deposited[0]?.id}`);
      expect(about.body.data).toHaveLength(1);
      expect(got.includes(about.body.data[0].id)).toBe(!waits);

      // Readers go on behind it; by its identifier it is named, and a decision fails for that account alone.
      if (one.list !== undefined) {
        const path = one.list(own);
        const { status, body, text } = await api.call(own.caller, "GET", path);
        expect([status, body.page?.unreadable], text).toEqual([200, 1]);
        const { body: healthy } = await api.call(other.caller, "GET", one.list(other));
        expect(healthy.page.unreadable).toBeUndefined();
        await expectWalk(own.caller, path);
      }
      if (one.byId !== undefined) {
        const { status, body } = await api.call(own.caller, "GET", one.byId(own));
        expect([status, body.code]).toEqual([500, "unreadable_item"]);
      }
      if (one.decide !== undefined) {
        const [method, address, body] = one.decide(own);
        const { status, body: answer } = await api.call(own.caller, method, address, { body });
        expect([status, answer.code]).toEqual([500, "unreadable_item"]);
        await putQuotes(api, own.tenant, { GBPUSD: examplePrices["GBPUSD"] as readonly [string, string] });
        await own.broker.withdrawal(own.other, "1.00");
      }
      expect(new Set(names(logged.filter(({ message }) => message === "A stored item cannot be read.")))).toEqual(
        new Set([`${pk} ${sk}`]),
      );

      await put(whole);
      await putQuotes(api, own.tenant, examplePrices);
      await settle(3);
      await expectAllOnce(own);
      await expectAllOnce(other);
      if (one.decide !== undefined) {
        const [method, address, body] = one.decide(own);
        expect((await api.call(own.caller, method, address, { body })).status).toBeLessThan(300);
      }
    },
    60_000,
  );
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
      logged.splice(0);
      await settle();
      expect((await eventsOf(own)).at(-1)).toMatchObject({ resource: { id: next.id } });
      const entries = logged.filter(({ key }) => key === `${pk} ${sk}`).map(({ message }) => message);
      expect(new Set(entries)).toEqual(
        new Set(["A stored item cannot be read.", "A commit was parked: its events could not be published."]),
      );
      const parked = await stored(pk, sk.replace("OUTBOX", "PARKED"));
      expect(parked.Item["error_message"]?.S).toContain(`${pk} ${sk} cannot be read`);
      // What a person writes who repairs it, or what a release does that knows the version.
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
