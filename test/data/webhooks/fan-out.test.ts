import type { DynamoDBBatchResponse } from "aws-lambda";
import { describe, expect, it } from "vitest";
import type { Delivery } from "../../../shared/domain/records/delivery.ts";
import { draftHealth } from "../../../shared/domain/webhooks/webhook.ts";
import type { DeliveryMessage } from "../../../shared/runtime/queues.ts";
import { deliveries, webhookHealths, webhooks } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import { atOnce, brokerage } from "../../support/builders/brokerage.ts";
import { putRaw, waitingDeliveries } from "../../support/emulator/deliveries.ts";
import { type RawItem, readStream, type StreamRecord, scanTable } from "../../support/emulator/raw-table.ts";
import { newCaller, type TestCaller } from "../../support/emulator/request.ts";
import { eventually } from "../../support/wait.ts";
import { api, endpointOf, sweep, work } from "./event-cases.ts";

const { loadDeliveries } = await import("../../../shared/webhooks/deliveries.ts");

/** A sweep, and what the publisher then does with the keys that it sent. */
async function sweepEvents(): Promise<void> {
  await sweep();
  expect(await work.publishSent()).toEqual([]);
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

const sent = () => api.queues.takeMessages().filter(({ queue }) => queue !== "fan-out");

/** Deliveries that messages are about, as a worker reads them, each once. */
async function deliveriesOf(messages: readonly { readonly body: unknown }[]): Promise<Delivery[]> {
  const states = await loadDeliveries(messages.map(({ body }) => body as DeliveryMessage));
  return [...new Map(states.flatMap(({ delivery }) => (delivery ? [[delivery.id, delivery]] : []))).values()];
}

/** Endpoint and kind of each delivery that was sent since the last look. */
async function delivered(): Promise<string[]> {
  const found = await deliveriesOf(sent());
  return found.map(({ endpoint_id, event_type }) => `${endpoint_id} ${event_type}`).toSorted();
}
const ok = { batchItemFailures: [] };

/** The trace of this process, and its digits as they are stored. */
const trace = "1-5759e988-bd862e3fe1be46a994272793";
const storedTrace = { bytes: Buffer.from("5759e988bd862e3fe1be46a994272793", "hex").toString("base64") };

describe("publishing", () => {
  it("keeps the trace of the commit with its event, in 16 bytes, and gives it to each delivery message", async () => {
    const caller = newCaller();
    await endpointOf(caller, {});
    await endpointOf(caller, {});
    await brokerage(api, caller).client();
    expect((await itemsOf(caller, "OUTBOX")).map(({ trace_id }) => trace_id)).toEqual([storedTrace]);
    const routed = await records(caller);
    process.env["_X_AMZN_TRACE_ID"] = "Root=1-00000000-000000000000000000000001";
    try {
      expect(await deliver(routed)).toEqual(ok);
    } finally {
      process.env["_X_AMZN_TRACE_ID"] = `Root=${trace}`;
    }
    expect((await itemsOf(caller, "EVENT")).map(({ trace_id }) => trace_id)).toEqual([storedTrace]);
    expect(sent().map((message) => message.trace)).toEqual([`Root=${trace}`, `Root=${trace}`]);
  });

  it("makes no delivery and leaves nothing due without a subscriber", async () => {
    const caller = newCaller();
    await endpointOf(caller, { event_types: ["stop.out"] });
    await endpointOf(caller, { status: "disabled" });
    await brokerage(api, caller).client();
    expect(await deliver(await records(caller))).toEqual(ok);
    expect(sent()).toEqual([]);
    expect(await itemsOf(caller, "DELIVERY")).toEqual([]);
    expect((await itemsOf(caller, "EVENT")).filter(({ due_pk }) => due_pk !== undefined)).toEqual([]);
  });

  it("wakes the deliverer for each endpoint that subscribes by identifiers alone, and stores no delivery", async () => {
    const caller = newCaller();
    const [all, named] = [
      await endpointOf(caller, { epoch: 4 }),
      await endpointOf(caller, { event_types: ["account.created", "account.updated"] }),
    ];
    const broker = brokerage(api, caller);
    const account = await broker.account();
    await api.call(caller, "PATCH", `/accounts/${account.id}`, { body: { name: "Main" } });
    expect(await deliver(await records(caller))).toEqual(ok);
    const messages = sent();
    const found = await deliveriesOf(messages);
    expect(found.map(({ endpoint_id, event_type }) => `${endpoint_id} ${event_type}`).toSorted()).toEqual(
      [
        `${all.id} client.created`,
        `${all.id} account.created`,
        `${named.id} account.created`,
        `${named.id} account.updated`,
      ].toSorted(),
    );
    expect(await itemsOf(caller, "DELIVERY")).toEqual([]);
    const events = (await broker.get("/events")).data as { id: string; created_at: string }[];
    for (const delivery of found) {
      const event = events.find(({ id }) => id === delivery.event_id);
      expect(delivery).toMatchObject({ status: "pending", created_at: event?.created_at });
      expect(delivery.id.slice(4, 14)).toBe(event?.id.slice(4, 14));
    }
    const epochs = found.map(({ endpoint_id, endpoint_epoch }) => `${endpoint_id} ${endpoint_epoch}`);
    expect(new Set(epochs)).toEqual(new Set([`${all.id} 4`, `${named.id} 1`]));
    expect(messages.map(({ queue, delaySeconds }) => [queue, delaySeconds])).toEqual(found.map(() => ["deliver", 0]));
    const wanted = found.map(({ id, endpoint_id, event_id }) => ({
      body: { tenant_id: caller.tenant_id, delivery_id: id, attempt: 1, returns: 0, event_id, endpoint_id },
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
    expect(await work.receive(messages)).toEqual([]);
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
    const rests = (await itemsOf(caller, "DELIVERY")).filter(({ resting }) => resting === true).map(numberOf);
    const awake = (await deliveriesOf(sent())).map(({ event_sequence }) => event_sequence);
    expect([numbered, rests.includes(1), awake.includes(3)]).toEqual([3, true, true]);
    expect([...rests, ...awake].toSorted()).toEqual([1, 2, 3]);
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
    sent();
    expect(await deliver(await records(caller))).toEqual(ok);
    expect(await delivered()).toEqual(
      [`${byAccount.id} transaction.created`, `${byGroup.id} transaction.created`].toSorted(),
    );
  });

  it("reaches no endpoint of another tenant", async () => {
    const callers = [newCaller(), newCaller(), newCaller()];
    for (const caller of callers) await endpointOf(caller);
    await Promise.all(callers.map((caller) => brokerage(api, caller).client()));
    await deliver(await records(...callers));
    const messages = sent();
    for (const caller of callers) {
      const own = messages.filter(({ body }) => body["tenant_id"] === caller.tenant_id);
      const [found, ...more] = await deliveriesOf(own);
      expect([found?.tenant_id, own.length, more]).toEqual([caller.tenant_id, 1, []]);
      for (const other of callers) {
        if (other !== caller) expect(JSON.stringify([found, own])).not.toContain(other.tenant_id);
      }
    }
  });
});

describe("a message that comes again", () => {
  it("makes no second delivery, and sends the message of every one that no worker has begun", async () => {
    const caller = newCaller();
    await endpointOf(caller);
    await brokerage(api, caller).account();
    const messages = await work.routed(await records(caller));
    expect(await work.receive(messages)).toEqual([]);
    const first = await deliveriesOf(sent());
    const [begun] = first;
    if (begun === undefined) throw new Error("There are two deliveries.");
    await putRaw(api, itemOf(deliveries, { ...begun, claims: 1, version: 1 }));
    expect(await work.receive(messages, 2)).toEqual([]);
    expect(await itemsOf(caller, "DELIVERY")).toMatchObject([{ id: begun.id, claims: { number: "1" } }]);
    const again = sent().map(({ body }) => body["delivery_id"]);
    expect(again).toEqual(first.map(({ id }) => id).filter((id) => id !== begun.id));
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
    const found = await delivered();
    expect([found.length, found.filter((each) => each.startsWith(late.id))]).toEqual([1, []]);
  });

  it("to five publishers at once is delivered once", async () => {
    const caller = newCaller();
    const endpoint = await endpointOf(caller);
    await brokerage(api, caller).account();
    const batch = await records(caller);
    await atOnce(5, () => deliver(batch));
    expect(await delivered()).toEqual([`${endpoint.id} account.created`, `${endpoint.id} client.created`]);
  });
});

describe("a publisher that dies", () => {
  it("before it sends messages leaves the event due, and the sweep stores and sends what is missing", async () => {
    const caller = newCaller();
    await endpointOf(caller);
    await endpointOf(caller);
    await brokerage(api, caller).client();
    process.env["TIME_SCALE"] = "1000000";
    api.queues.interfere = ({ queue }) => (queue === "publish.fifo" ? undefined : "unavailable");
    expect(await deliver(await records(caller))).toEqual(ok);
    expect(sent()).toEqual([]);
    expect(await itemsOf(caller, "DELIVERY")).toEqual([]);
    api.queues.interfere = () => undefined;
    await eventually(async () =>
      (await itemsOf(caller, "EVENT"))[0]?.["due_pk"] === undefined ? true : sweepEvents(),
    );
    const items = await itemsOf(caller, "DELIVERY");
    // From then on each is due by itself, like one whose message is lost.
    expect(items.map(({ due_pk, status }) => [typeof due_pk, status])).toEqual([
      ["string", "pending"],
      ["string", "pending"],
    ]);
    const messages = sent();
    expect(new Set(messages.map(({ queue }) => queue))).toEqual(new Set(["deliver"]));
    const wanted = items.map(({ id, endpoint_id }) => `${id} ${endpoint_id}`);
    expect(new Set(messages.map(({ body, group }) => `${body["delivery_id"]} ${group}`))).toEqual(new Set(wanted));
  });
});

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
    const died = { wake_at: null, lease_until: "2020-01-01T00:00:00.000Z", claims: 1 };
    const [dead] = await waitingDeliveries(api, { ...endpoint, epoch: 1 }, 1, died);
    await putRaw(api, itemOf(webhooks, { ...endpoint, wake_at: "2020-01-01T00:00:00.000Z", version: 2 }));
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
    const endpoint = await endpointOf(caller, { status: "deleted", wake_at: "2020-01-01T00:00:00.000Z" });
    const open = await waitingDeliveries(api, endpoint, 3, { wake_at: null });
    await sweepEvents();
    expect(await itemsOf(caller, "WEBHOOK")).toEqual([]);
    const items = await itemsOf(caller, "DELIVERY");
    expect(items.map(({ status }) => status)).toEqual([...open].map(() => "cancelled"));
  });
});
