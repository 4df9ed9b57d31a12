import { type AttributeValue, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { SQSEvent } from "aws-lambda";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { newId } from "../../../shared/runtime/ids.ts";
import { optInEventTypes } from "../../../shared/schema/event-types.ts";
import { bridge } from "../../support/builders/bridge.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putMarket } from "../../support/builders/trading-data.ts";
import { startApi } from "../../support/emulator/api.ts";
import type { SentMessage } from "../../support/emulator/queue-endpoint.ts";
import { readStream } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller } from "../../support/emulator/request.ts";
import { startReceiver } from "../../support/stack/receiver.ts";

export const api = await startApi("stream");
Object.assign(process.env, { BROKERAGE_LOCAL: "1", POWERTOOLS_LOG_LEVEL: "ERROR" });
const receiver = await startReceiver();
afterAll(async () => {
  await receiver.stop();
  await api.stop();
});

const { publishing } = await import("../../support/emulator/publishing.ts");
const { tradingFloor } = await import("../../support/builders/trading-floor.ts");
export const { handler: sweepEvents } = await import("../../../functions/events/sweep-due.ts");
const { handler: sweepMargin } = await import("../../../functions/margin/sweep.ts");
const { handler: deliverBatch } = await import("../../../functions/events/deliver.ts");
const work = publishing(api);
const everyType = ["*", ...optInEventTypes.slice(0, 19)];

/** Lines of the service's log. */
export const logged: Record<string, unknown>[] = [];
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

/**
 * Takes commits all the way to the receivers, as the stream and the queues bring them, and then the sweeps: ten
 * messages to a worker, or one after the other, so that receivers see the order in which they were sent.
 */
export async function settle({ rounds = 2, atOnceMost = 10 } = {}): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const records = await readStream(api.emulator);
    const fresh = records.slice(seen);
    seen = records.length;
    await work.publish(fresh);
    await atOnce(async () => {
      await deliverAll(atOnceMost);
      await sweepEvents({}, lambdaContext(60_000));
      await sweepMargin({}, lambdaContext(60_000));
      await work.publishSent();
      await deliverAll(atOnceMost);
    });
  }
}

const deliveryQueues = ["deliver", "deliver-unproven", "retry-1m", "retry-5m", "retry-long"];

/** Messages that a worker failed with: SQS brings them again. */
const failed: { readonly queue: string; readonly message: SentMessage }[] = [];

async function deliverAll(most: number): Promise<void> {
  const again = failed.splice(0);
  for (let round = 0; round < 6; round += 1) {
    const sent = deliveryQueues.flatMap((queue) => api.queues.takeFrom(queue).map((message) => ({ queue, message })));
    const messages = [...again.splice(0), ...sent];
    if (messages.length === 0) return;
    for (const queue of deliveryQueues) {
      const own = messages.filter((each) => each.queue === queue).map(({ message }) => message);
      for (let start = 0; start < own.length; start += most) await deliver(queue, own.slice(start, start + most));
    }
  }
}

async function deliver(queue: string, messages: readonly SentMessage[]): Promise<void> {
  const Records = messages.map(({ body }, at) => ({
    messageId: String(at),
    eventSourceARN: `arn:aws:sqs:eu-central-1:1:${queue}`,
    body: JSON.stringify(body),
  }));
  const { batchItemFailures } = await deliverBatch({ Records } as unknown as SQSEvent, lambdaContext(60_000));
  const left = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  failed.push(...messages.filter((_, at) => left.has(String(at))).map((message) => ({ queue, message })));
}

/** A brokerage with one of everything, and a receiver of all its events. */
export async function newBrokerage() {
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

export type Brokerage = Awaited<ReturnType<typeof newBrokerage>>;

/** Numbers of the events that a receiver got, by their identifiers; one that came twice is there twice. */
export function receivedBy({ hook }: Brokerage): { readonly id: string; readonly sequence: number }[] {
  const own = receiver.received.filter(({ path }) => path === hook);
  return own.map(({ body }) => JSON.parse(body)).map(({ id, sequence }) => ({ id, sequence: Number(sequence) }));
}

/** An event, of which tests look at this. */
interface Seen {
  readonly id: string;
  readonly sequence: string;
  readonly type: string;
  readonly resource: { readonly id: string };
}

export async function eventsOf({ caller }: Brokerage): Promise<Seen[]> {
  const found: Seen[] = [];
  for (let after = "0"; ; ) {
    const { body } = await api.call(caller, "GET", `/events?after_sequence=${after}&limit=100`);
    found.push(...body.data);
    if (!body.page.has_more) return found;
    after = body.data.at(-1).sequence;
  }
}

/** Every event of a brokerage came once, and all numbers are there. */
export async function expectAllOnce(own: Brokerage): Promise<void> {
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

export async function stored(pk: string, sk: string): Promise<Stored> {
  const Key = { pk: { S: pk }, sk: { S: sk } };
  for (const TableName of [api.emulator.tableName, api.emulator.volatileTableName]) {
    const { Item } = await api.emulator.client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
    if (Item !== undefined) return { TableName, Item };
  }
  throw new Error(`There is no item ${pk} ${sk}.`);
}

export const put = (whole: Stored, damage: Stored["Item"] = {}) =>
  api.emulator.client.send(new PutItemCommand({ ...whole, Item: { ...whole.Item, ...damage } }));

/** The damage of an item: a member, one that is packed, or one that is read and cannot be worked with. */
interface Damaged {
  readonly member: string;
  readonly packed?: string;
  readonly parsed?: Stored["Item"];
}

export const damages = {
  version: () => ({ v: { N: "99" } }),
  member: ({ member }: Damaged) => ({ [member]: member.endsWith("_minor") ? { S: "1" } : { N: "7.5" } }),
  packed: ({ packed = "" }: Damaged) => ({ [packed]: { B: new Uint8Array([1, 2, 3, 255]) } }),
  parsed: ({ parsed = {} }: Damaged) => parsed,
} satisfies Record<string, (one: Damaged) => Stored["Item"]>;
