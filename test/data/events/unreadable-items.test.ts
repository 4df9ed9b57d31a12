import { type AttributeValue, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { optInEventTypes } from "../../../shared/schema/event-types.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { examplePrices } from "../../support/builders/trading.ts";
import { putMarket, putQuotes } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import type { SentMessage } from "../../support/emulator/queue-endpoint.ts";
import { itemsOf, readStream } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { startReceiver } from "../../support/stack/receiver.ts";

const api = await startApi("stream");
Object.assign(process.env, { BROKERAGE_LOCAL: "1", POWERTOOLS_LOG_LEVEL: "ERROR" });
const receiver = await startReceiver();
afterAll(async () => {
  await receiver.stop();
  await api.stop();
});

const { publishing } = await import("../../support/emulator/publishing.ts");
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");
const { handler: sweepEvents } = await import("../../../functions/events/sweep-events.ts");
const { handler: sweepMargin } = await import("../../../functions/margin/sweep.ts");
const { handler: deliverBatch } = await import("../../../functions/events/deliver.ts");
const work = publishing(api);
const everyType = ["*", ...optInEventTypes.slice(0, 19)];

/** What the service wrote to its log. */
const logged: Record<string, unknown>[] = [];
beforeAll(() => {
  vi.spyOn(process.stdout, "write").mockImplementation((line) => {
    const text = String(line);
    if (text.startsWith("{")) logged.push(JSON.parse(text));
    return true;
  });
});
afterEach(() => {
  logged.splice(0);
  delete process.env["TIME_SCALE"];
});

/** Business delays that pass at once: what is looked at again in five minutes is due now. */
async function atOnce<T>(run: () => Promise<T>): Promise<T> {
  process.env["TIME_SCALE"] = "1000000";
  try {
    return await run();
  } finally {
    delete process.env["TIME_SCALE"];
  }
}

let seen = 0;

/** What commits wrote goes all the way to the receivers, as the stream and the queues bring it, and then the sweeps. */
async function settle(rounds = 2): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const records = await readStream(api.emulator);
    const fresh = records.slice(seen);
    seen = records.length;
    await work.publish(fresh);
    await atOnce(async () => {
      await deliverAll();
      await sweepEvents({}, lambdaContext(60_000));
      await sweepMargin({}, lambdaContext(60_000));
      await work.publishSent();
      await deliverAll();
    });
  }
}

const deliveryQueues = ["deliver", "deliver-unproven", "retry-1m", "retry-5m", "retry-long"];

async function deliverAll(): Promise<void> {
  for (let round = 0; round < 6; round += 1) {
    const messages = deliveryQueues.flatMap((queue) =>
      api.queues.takeFrom(queue).map((message) => ({ queue, message })),
    );
    if (messages.length === 0) return;
    for (const queue of deliveryQueues) {
      const own = messages.filter((each) => each.queue === queue).map(({ message }) => message);
      if (own.length > 0) await deliver(queue, own);
    }
  }
}

async function deliver(queue: string, messages: readonly SentMessage[]): Promise<SQSBatchResponse> {
  const Records = messages.map(({ body }, at) => ({
    messageId: String(at),
    eventSourceARN: `arn:aws:sqs:eu-central-1:1:${queue}`,
    body: JSON.stringify(body),
  }));
  return deliverBatch({ Records } as unknown as SQSEvent, lambdaContext(60_000));
}

/** A brokerage with one of everything, and a receiver of all its events. */
async function newBrokerage() {
  const caller = newCaller();
  const { tenant_id: tenant } = caller;
  const broker = brokerage(api, caller);
  await putMarket(api, tenant);
  const hook = `/${newId("whe")}`;
  const {
    status,
    text,
    body: endpoint,
  } = await api.call(caller, "POST", "/webhook_endpoints", {
    body: { url: `${receiver.url}${hook}`, event_types: everyType },
  });
  expect(status, text).toBe(201);
  const account = await broker.account("1000.00", { type: "demo", leverage: 100 });
  const other = await broker.account("1000.00", { type: "demo", leverage: 100 });
  const floor = tradingFloor(tenant);
  await floor.open(account.id, { symbol: "EURUSD", side: "buy", lots: "0.10" });
  await floor.open(other.id, { symbol: "GBPUSD", side: "buy", lots: "0.10" });
  const withdrawal = await broker.withdrawal(account, "10.00");
  const source = await bridge(api, caller).newSource();
  return { ...{ caller, tenant, broker, hook, endpoint, account, other, floor, withdrawal, source } };
}

type Brokerage = Awaited<ReturnType<typeof newBrokerage>>;

/** Numbers of the events that a receiver got, by their identifiers; one that came twice is there twice. */
function receivedBy({ hook }: Brokerage): { readonly id: string; readonly sequence: number }[] {
  const own = receiver.received.filter(({ path }) => path === hook);
  return own.map(({ body }) => JSON.parse(body)).map(({ id, sequence }) => ({ id, sequence: Number(sequence) }));
}

async function eventsOf({ caller }: Brokerage): Promise<{ id: string; sequence: string; type: string }[]> {
  const found: { id: string; sequence: string; type: string }[] = [];
  for (let after = "0"; ; ) {
    const { body } = await api.call(caller, "GET", `/events?after_sequence=${after}&limit=100`);
    found.push(...body.data);
    if (!body.page.has_more) return found;
    after = body.data.at(-1).sequence;
  }
}

/** Every event of a brokerage came once, and all numbers are there. */
async function expectAllOnce(own: Brokerage): Promise<void> {
  const numbers = (await eventsOf(own)).map(({ sequence }) => Number(sequence));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
  expect(
    receivedBy(own)
      .map(({ sequence }) => sequence)
      .toSorted((a, b) => a - b),
  ).toEqual(numbers);
}

/** An item in DynamoDB's own notation, and its table. */
interface Stored {
  readonly TableName: string;
  readonly Item: Record<string, AttributeValue>;
}

async function stored(pk: string, sk: string): Promise<Stored> {
  const Key = { pk: { S: pk }, sk: { S: sk } };
  for (const TableName of [api.emulator.tableName, api.emulator.volatileTableName]) {
    const { Item } = await api.emulator.client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
    if (Item !== undefined) return { TableName, Item };
  }
  throw new Error(`There is no item ${pk} ${sk}.`);
}

const put = (whole: Stored, damage: Stored["Item"] = {}) =>
  api.emulator.client.send(new PutItemCommand({ ...whole, Item: { ...whole.Item, ...damage } }));

const damages = {
  version: () => ({ v: { N: "99" } }),
  member: ({ member }: Case) => ({ [member]: member.endsWith("_minor") ? { S: "1" } : { N: "7.5" } }),
  packed: ({ packed = "" }: Case) => ({ [packed]: { B: new Uint8Array([1, 2, 3, 255]) } }),
} satisfies Record<string, (one: Case) => Stored["Item"]>;

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
