import type { DynamoDBBatchResponse } from "aws-lambda";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Delivery } from "../../../shared/domain/delivery.ts";
import { draftHealth, type WebhookEndpoint } from "../../../shared/domain/webhook.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { deliveries, webhookHealths, webhooks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { someEndpoint } from "../../support/builders/decisions.ts";
import { startApi } from "../../support/emulator/api.ts";
import { putRaw, waitingDeliveries } from "../../support/emulator/deliveries.ts";
import type { SentMessage } from "../../support/emulator/queue-endpoint.ts";
import { type RawItem, readStream, type StreamRecord, scanTable } from "../../support/emulator/raw-table.ts";
import { lambdaContext, newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { failure } from "../../support/emulator/watched-endpoint.ts";
import { findings } from "../../support/oracles/oracle.ts";
import { eventually } from "../../support/wait.ts";

const api = await startApi();
afterAll(api.stop);
afterEach(async () => {
  api.watched.interfere = () => undefined;
  api.queues.interfere = () => undefined;
  delete process.env["TIME_SCALE"];
  expect(await findings(api.emulator)).toEqual([]);
  api.queues.takeMessages();
});

const { publishing } = await import("../../support/emulator/publishing.ts");
const work = publishing(api);
const { handler: sweepHandler } = await import("../../../functions/events/sweep-events.ts");
/** A sweep, and what the publisher then does with the keys that it sent. */
async function sweepEvents(): Promise<void> {
  await sweepHandler({}, lambdaContext(60_000));
  expect(await work.publishSent()).toEqual([]);
}

async function endpointOf(caller: TestCaller, fields: Partial<WebhookEndpoint> = {}): Promise<WebhookEndpoint> {
  const endpoint = someEndpoint({ id: newId("whe"), tenant_id: caller.tenant_id, ...fields });
  await putRaw(api, itemOf(webhooks, endpoint));
  return endpoint;
}

async function records(...callers: TestCaller[]): Promise<StreamRecord[]> {
  const tenants = new Set(callers.map(({ tenant_id }) => tenant_id));
  return (await readStream(api.emulator)).filter(
    ({ dynamodb: { NewImage: image } }) => image?.["et"]?.S === "OUTBOX" && tenants.has(image["tenant_id"]?.S ?? ""),
  );
}

function deliver(some: readonly StreamRecord[]): Promise<DynamoDBBatchResponse> {
  return work.publish(some);
}

async function itemsOf(caller: TestCaller, type: string): Promise<RawItem[]> {
  const items = await scanTable(api.emulator);
  return items.filter(({ pk, et }) => et === type && String(pk).startsWith(caller.tenant_id));
}

/** Endpoint and kind of each delivery of a tenant. */
async function delivered(caller: TestCaller): Promise<string[]> {
  const items = await itemsOf(caller, "DELIVERY");
  return items.map(({ endpoint_id, event_type }) => `${endpoint_id} ${event_type}`).toSorted();
}

const sent = () => api.queues.takeMessages().filter(({ queue }) => queue !== "fan-out");

/** Hands messages to a publisher that dies when it has sent the messages of deliveries; those that come again. */
async function dyingAfterDeliveries(messages: readonly SentMessage[]): Promise<SentMessage[]> {
  api.watched.interfere = ({ operation }) =>
    operation === "UpdateItem" ? failure("ResourceNotFoundException") : undefined;
  const again = await work.receive(messages);
  api.watched.interfere = () => undefined;
  return again;
}
const ok = { batchItemFailures: [] };

describe("publishing", () => {
  it("makes no delivery and leaves nothing due without a subscriber", async () => {
    const caller = newCaller();
    await endpointOf(caller, { event_types: ["stop.out"] });
    await endpointOf(caller, { status: "disabled" });
    await brokerage(api, caller).client();
    expect(await deliver(await records(caller))).toEqual(ok);
    expect(await delivered(caller)).toEqual([]);
    expect(sent()).toEqual([]);
    expect((await itemsOf(caller, "EVENT")).filter(({ due_pk }) => due_pk !== undefined)).toEqual([]);
  });

  it("makes one delivery for each endpoint that subscribes, and wakes the deliverer by identifiers alone", async () => {
    const caller = newCaller();
    const [all, named] = [
      await endpointOf(caller, { epoch: 4 }),
      await endpointOf(caller, { event_types: ["account.created", "account.updated"] }),
    ];
    const broker = brokerage(api, caller);
    const account = await broker.account();
    await api.call(caller, "PATCH", `/accounts/${account.id}`, { body: { name: "Main" } });
    expect(await deliver(await records(caller))).toEqual(ok);
    expect(await delivered(caller)).toEqual(
      [
        `${all.id} client.created`,
        `${all.id} account.created`,
        `${named.id} account.created`,
        `${named.id} account.updated`,
      ].toSorted(),
    );
    const items = await itemsOf(caller, "DELIVERY");
    const events = (await broker.get("/events")).data as { id: string; created_at: string }[];
    for (const item of items) {
      const event = events.find(({ id }) => id === item["event_id"]);
      expect(item).toMatchObject({ status: "pending", created_at: event?.created_at });
      expect(String(item["id"]).slice(4, 14)).toBe(event?.id.slice(4, 14));
    }
    const epochs = items.map((item) => `${item["endpoint_id"]} ${JSON.stringify(item["endpoint_epoch"])}`);
    expect(new Set(epochs)).toEqual(new Set([`${all.id} {"number":"4"}`, `${named.id} {"number":"1"}`]));
    const messages = sent();
    expect(messages.map(({ queue, delaySeconds }) => [queue, delaySeconds])).toEqual(items.map(() => ["deliver", 0]));
    const wanted = items.map(({ id, endpoint_id }) => ({
      body: { tenant_id: caller.tenant_id, delivery_id: id, attempt: 1, returns: 0 },
      group: endpoint_id,
    }));
    expect(messages).toEqual(expect.arrayContaining(wanted.map((each) => expect.objectContaining(each))));
  });

  it("lets a delivery rest from its creation where the endpoint is closed and probed, without a message", async () => {
    const caller = newCaller();
    const [silent, open] = [await endpointOf(caller), await endpointOf(caller)];
    const soon = new Date(Date.now() + 60_000).toISOString();
    const closed = { ...draftHealth(silent), closed_until: soon, probe: { delivery_id: "dlv_1", until: soon } };
    await putRaw(api, itemOf(webhookHealths, closed));
    await putRaw(api, itemOf(webhookHealths, draftHealth(open)));
    await brokerage(api, caller).client();
    const batch = await records(caller);
    const messages = await work.routed(batch);
    expect(await dyingAfterDeliveries(messages)).toEqual([]);
    const restingAt = async () =>
      (await itemsOf(caller, "DELIVERY")).flatMap((item) => (item["resting"] ? [item["endpoint_id"]] : []));
    expect(await restingAt()).toEqual([silent.id]);
    expect(sent().map(({ group }) => group)).toEqual([open.id]);
    // It is due at the end of the closing, and a publisher that comes again sends no message for it either.
    const resting = (await itemsOf(caller, "DELIVERY")).find((item) => item["resting"]);
    expect(String(resting?.["wake_at"]) >= soon).toBe(true);
    expect(resting?.["due_pk"]).toBeDefined();
    expect(await work.receive(messages, 2)).toEqual([]);
    expect(sent().map(({ group }) => group)).toEqual([open.id]);
  });

  it("lets none rest of an endpoint that answered again while the publisher was at the events before", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller);
    const soon = new Date(Date.now() + 60_000).toISOString();
    const closed = { ...draftHealth(endpoint), closed_until: soon, probe: { delivery_id: "dlv_1", until: soon } };
    await putRaw(api, itemOf(webhookHealths, closed));
    for (let made = 0; made < 3; made += 1) await brokerage(api, caller).client();
    let numbered = 0;
    api.watched.interfere = async ({ operation, input }) => {
      if (operation !== "TransactWriteItems" || !JSON.stringify(input).includes("|SEQ")) return undefined;
      numbered += 1;
      // The delivery of the first event is there, and the health of the endpoint was read for it.
      const open = { ...draftHealth(endpoint), proven_at: new Date().toISOString() };
      if (numbered === 3) await putRaw(api, itemOf(webhookHealths, open));
      return undefined;
    };
    // Each commit has a transaction of its own on the second receive.
    expect(await work.receive(await work.routed(await records(caller)), 2)).toEqual([]);
    const numberOf = ({ event_sequence: raw }: RawItem) => Number((raw as { number: string }).number);
    const inOrder = (await itemsOf(caller, "DELIVERY")).toSorted((one, other) => numberOf(one) - numberOf(other));
    const rests = inOrder.map(({ resting }) => resting === true);
    expect([numbered, rests.length, rests[0], rests[2]]).toEqual([3, 3, true, false]);
    expect(sent().map(({ group }) => group)).toContain(endpoint.id);
  });

  it("publishes and sends every message while the health of the endpoints cannot be read", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller);
    await brokerage(api, caller).client();
    const { sk } = webhookHealths.key(caller.tenant_id, endpoint.id);
    const batch = await records(caller);
    const throttled = { status: 400, body: { __type: "com.amazonaws#ProvisionedThroughputExceededException" } };
    api.watched.interfere = ({ operation, input }) =>
      operation === "BatchGetItem" && JSON.stringify(input).includes(`"${sk}"`) ? throttled : undefined;
    expect(await deliver(batch)).toEqual(ok);
    expect(sent().map(({ group }) => group)).toEqual([endpoint.id]);
  });

  it("looks at the account and at its group where an endpoint asks for some", async () => {
    const caller = newCaller();
    const broker = brokerage(api, caller);
    const [first, second] = [await broker.account(undefined, { group_id: "vip" }), await broker.account()];
    await deliver(await records(caller));
    const [byAccount, byGroup] = [
      await endpointOf(caller, { account_ids: [second.id] }),
      await endpointOf(caller, { group_ids: ["vip"] }),
    ];
    await broker.deposit(first, "1.00");
    await broker.deposit(second, "1.00");
    await broker.client();
    expect(await deliver(await records(caller))).toEqual(ok);
    expect(await delivered(caller)).toEqual(
      [`${byAccount.id} transaction.created`, `${byGroup.id} transaction.created`].toSorted(),
    );
  });

  it("reaches no endpoint of another tenant", async () => {
    const callers = [newCaller(), newCaller(), newCaller()];
    for (const caller of callers) await endpointOf(caller);
    await Promise.all(callers.map((caller) => brokerage(api, caller).client()));
    await deliver(await records(...callers));
    for (const caller of callers) {
      const [item, ...more] = await itemsOf(caller, "DELIVERY");
      expect(more).toEqual([]);
      for (const other of callers) {
        if (other !== caller) expect(JSON.stringify(item)).not.toContain(other.tenant_id);
      }
    }
  });
});

describe("a message that comes again", () => {
  it("makes no second delivery, and sends the message of every one that has not begun", async () => {
    const caller = newCaller();
    await endpointOf(caller);
    await brokerage(api, caller).account();
    const messages = await work.routed(await records(caller));
    expect(await dyingAfterDeliveries(messages)).toEqual([]);
    const before = await itemsOf(caller, "DELIVERY");
    const first = sent().map(({ body }) => body["delivery_id"]);
    const [begun] = before;
    await putRaw(api, itemOf(deliveries, { ...(await readDelivery(begun)), claims: 1 }));
    expect(await work.receive(messages, 2)).toEqual([]);
    expect(await itemsOf(caller, "DELIVERY")).toHaveLength(before.length);
    expect(sent().map(({ body }) => body["delivery_id"])).toEqual(first.filter((id) => id !== begun?.["id"]));
  });

  it("owes nothing to an endpoint that was made after its events were published", async () => {
    const caller = newCaller();
    await endpointOf(caller, { event_types: ["account.created"] });
    await brokerage(api, caller).account();
    const batch = await records(caller);
    await deliver(batch);
    const late = await endpointOf(caller);
    await deliver(batch);
    await sweepEvents();
    expect((await delivered(caller)).filter((each) => each.startsWith(late.id))).toEqual([]);
  });

  it("to five publishers at once is delivered once", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller);
    await brokerage(api, caller).account();
    const batch = await records(caller);
    await atOnce(5, () => deliver(batch));
    expect(await delivered(caller)).toEqual([`${endpoint.id} account.created`, `${endpoint.id} client.created`]);
  });
});

describe("a publisher that dies", () => {
  it("before a delivery is made leaves the event due, and the sweep makes what is missing, once", async () => {
    const caller = newCaller();
    await endpointOf(caller);
    await endpointOf(caller);
    await brokerage(api, caller).client();
    const batch = await records(caller);
    process.env["TIME_SCALE"] = "1000000";
    let puts = 0;
    api.watched.interfere = ({ operation, input }) => {
      if (operation !== "PutItem" || JSON.stringify(input).includes('"IDEM"')) return undefined;
      puts += 1;
      return puts === 1 ? undefined : { status: 400, body: { __type: "com.amazonaws#AccessDeniedException" } };
    };
    expect(await work.receive(await work.routed(batch))).toEqual([]);
    expect(await itemsOf(caller, "DELIVERY")).toHaveLength(1);
    // Its message is lost as well.
    expect(api.queues.takeFrom("fan-out")).toHaveLength(1);
    api.watched.interfere = () => undefined;
    await eventually(async () => ((await itemsOf(caller, "EVENT"))[0]?.["due_pk"] === undefined ? true : sweep()));
    expect(await itemsOf(caller, "DELIVERY")).toHaveLength(2);
  });

  it("before the message is sent leaves the delivery due, and the sweep sends it", async () => {
    const caller = newCaller();
    await endpointOf(caller);
    await brokerage(api, caller).client();
    process.env["TIME_SCALE"] = "1000000";
    api.queues.interfere = ({ queue }) => (queue === "deliver" ? "unavailable" : undefined);
    expect(await deliver(await records(caller))).toEqual(ok);
    expect(sent()).toEqual([]);
    api.queues.interfere = () => undefined;
    const [item] = await itemsOf(caller, "DELIVERY");
    const woken = await eventually(async () => {
      await sweepEvents();
      return sent().find(({ body }) => body["delivery_id"] === item?.["id"]);
    });
    expect(woken).toMatchObject({ queue: "deliver", group: item?.["endpoint_id"], delaySeconds: 0 });
  });
});

/** One sweep; undefined, so that its caller looks again. */
async function sweep(): Promise<undefined> {
  await sweepEvents();
  return undefined;
}

async function readDelivery(item: RawItem | undefined): Promise<Delivery> {
  const { readKeys } = await import("../../../shared/table/store.ts");
  const [found] = await readKeys([{ pk: String(item?.["pk"]), sk: String(item?.["sk"]) }]);
  return found as Delivery;
}

describe("the sweep", () => {
  it("sends what is due within a quarter of an hour ahead, with the delay that is left, and nothing else", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller);
    const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
    const rung = { status: "retrying", attempt: 4 } as const;
    const [soon] = await waitingDeliveries(api, endpoint, 1, { ...rung, next_attempt_at: at(500), wake_at: at(-400) });
    await waitingDeliveries(api, endpoint, 1, { ...rung, next_attempt_at: at(7000), wake_at: at(-1) });
    await waitingDeliveries(api, endpoint, 1, { ...rung, next_attempt_at: at(7000), wake_at: at(6100) });
    await waitingDeliveries(api, endpoint, 1, { status: "succeeded", wake_at: at(-1) });
    await sweepEvents();
    const own = sent().filter(({ body }) => body["tenant_id"] === caller.tenant_id);
    const [message, ...more] = own;
    expect(more).toEqual([]);
    expect(message).toMatchObject({ queue: "retry-long", body: { delivery_id: soon, attempt: 4 } });
    expect(message?.delaySeconds).toBeGreaterThan(490);
    expect(message?.delaySeconds).toBeLessThanOrEqual(500);
  });

  it("cancels what was on its way to an endpoint that is off, but not what a worker has just now", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller, { epoch: 2 });
    const before = await waitingDeliveries(api, { ...endpoint, epoch: 1 }, 120, { wake_at: null });
    const since = await waitingDeliveries(api, endpoint, 2, { wake_at: null });
    const leased = new Date(Date.now() + 60_000).toISOString();
    const [busy] = await waitingDeliveries(api, { ...endpoint, epoch: 1 }, 1, { wake_at: null, lease_until: leased });
    const died = { wake_at: null, lease_until: "2026-11-21T06:30:00.000Z", claims: 1 };
    const [dead] = await waitingDeliveries(api, { ...endpoint, epoch: 1 }, 1, died);
    await putRaw(api, itemOf(webhooks, { ...endpoint, wake_at: endpoint.created_at, version: 2 }));
    await sweepEvents();
    // Its worker may have posted before it died, so it leaves an entry.
    expect(await itemsOf(caller, "ATTEMPT")).toMatchObject([{ delivery_id: dead, error: "worker_crash" }]);
    const state = new Map((await itemsOf(caller, "DELIVERY")).map(({ id, status }) => [String(id), status]));
    expect([...before].map((id) => state.get(id))).toEqual([...before].map(() => "cancelled"));
    expect([...since, busy].map((id) => state.get(id ?? ""))).toEqual(["pending", "pending", "pending"]);
    const [stored] = await itemsOf(caller, "WEBHOOK");
    expect(String(stored?.["wake_at"]) > new Date().toISOString()).toBe(true);
  });

  it("removes a deleted endpoint when nothing is on its way to it any more", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller, { status: "deleted", wake_at: "2026-01-01T00:00:00.000Z" });
    const open = await waitingDeliveries(api, endpoint, 3, { wake_at: null });
    await sweepEvents();
    expect(await itemsOf(caller, "WEBHOOK")).toEqual([]);
    const items = await itemsOf(caller, "DELIVERY");
    expect(items.map(({ status }) => status)).toEqual([...open].map(() => "cancelled"));
  });
});
