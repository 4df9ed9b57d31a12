import { describe, expect, it, vi } from "vitest";
import type { Delivery } from "../../../shared/domain/records/delivery.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { readAll } from "../../../shared/table/store.ts";
import { lambdaContext } from "../../support/emulator/request.ts";
import { closedDoor, failure, unitsOf } from "../../support/emulator/watched-endpoint.ts";
import { answerWith } from "../../support/stack/receiver.ts";
import {
  at,
  bounds,
  deliver,
  deliveries,
  events,
  messageOf,
  none,
  nowMs,
  owed,
  put,
  queues,
  receiver,
  stored,
  unscaled,
  watched,
  webhooks,
} from "./deliver-cases.ts";

const { handler: sweepHandler } = await import("../../../functions/events/sweep-due.ts");

/** Sweeps a minute later, when the sweep looks at the events. */
async function sweepLater(): Promise<void> {
  at(nowMs + 60_001);
  expect(await sweepHandler({}, lambdaContext(60_000))).toMatchObject({ failed: 0 });
}

/** The item of a delivery, and whether its event is due. */
async function state(delivery: Delivery) {
  const [event] = await readAll(events, [events.keyById(delivery.tenant_id, delivery.event_id)]);
  return { item: (await stored(delivery)).delivery, due: event?.wake_at !== undefined };
}

/** Messages that were sent since the last look for deliveries of its brokerage. */
function sentFor({ tenant_id }: Delivery) {
  return queues.takeMessages().filter(({ body }) => body["tenant_id"] === tenant_id);
}

/** Once, just before the first write of a delivery's item, does something else. */
function beforeItIsStored(work: () => Promise<void>): void {
  let done = false;
  watched.interfere = async ({ operation, input }) => {
    if (done || operation !== "PutItem" || !JSON.stringify(input).includes('"DELIVERY"')) return undefined;
    done = true;
    await work();
    return undefined;
  };
}

describe("a delivery that its worker stores", () => {
  it("is posted and recorded in full, by six calls and eight units, with no entry in the due index", async () => {
    await deliver((await owed()).messages);
    const { delivery, messages, all } = await owed();
    receiver.received.splice(0);
    watched.takeCalls();
    expect(await deliver(messages)).toEqual(none);
    const calls = watched.takeCalls();
    expect(calls.map(({ operation }) => operation)).toEqual([
      "BatchGetItem",
      "UpdateItem",
      "PutItem",
      "PutItem",
      "UpdateItem",
      "UpdateItem",
    ]);
    // Slot 1, item 1 with its list 1, entry 1, record 1 moved in the list 2, slot 1.
    expect(unitsOf(calls.slice(1))).toBe(8);
    expect(receiver.received.map(({ body }) => body)).toEqual([all[0]?.text]);
    const after = await stored(delivery);
    const { wake_at: _, version: __, ...drafted } = delivery;
    const moment = new Date(nowMs).toISOString();
    expect(after.delivery).toMatchObject({
      ...drafted,
      ...{ status: "succeeded", claims: 1, next_attempt_at: null, first_attempt_at: moment, completed_at: moment },
      ...{ wake_at: null, version: 2, last: { number: 1, http_status: 200, error: null } },
    });
    expect(after.attempts).toMatchObject([{ number: 1, claim: 1, http_status: 200 }]);
    expect(after.health.slots).toEqual({});
    await sweepLater();
    expect(await state(delivery)).toEqual({ item: after.delivery, due: false });
    expect(sentFor(delivery)).toEqual([]);
  });

  it("climbs the ladder when its first attempt fails, and is due by itself from then on", async () => {
    const { delivery, messages } = await owed();
    receiver.answer = answerWith(500);
    await deliver(messages);
    const after = (await stored(delivery)).delivery;
    expect(after).toMatchObject({ status: "retrying", attempt: 2, wake_at: expect.any(String) });
    expect(queues.takeMessages()).toMatchObject([{ queue: "retry-1m", body: { attempt: 2 } }]);
    await sweepLater();
    expect(await state(delivery)).toEqual({ item: after, due: false });
  });

  it("is called for once, however many workers get its message at once, and again later", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const { delivery, messages } = await owed();
    const door = closedDoor();
    receiver.answer = async (_, reply) => {
      await door.opened;
      reply.end();
    };
    const batches = Array.from({ length: 5 }, () => deliver([...messages, ...messages]));
    await Promise.race(batches);
    door.open();
    for (const answer of await Promise.all(batches)) expect(answer).toEqual(none);
    expect(await deliver(messages)).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", claims: 1 });
    expect(after.health.slots).toEqual({});
  });

  it("is cancelled on record when its endpoint is off by then", async () => {
    const { delivery, endpoint, messages } = await owed();
    await put(webhooks, { ...endpoint, status: "disabled" });
    expect(await deliver(messages)).toEqual(none);
    expect(receiver.received).toEqual([]);
    expect((await stored(delivery)).delivery).toMatchObject({ status: "cancelled", wake_at: null, claims: 0 });
  });

  it("rests on record, due by itself, where its endpoint is closed or has no slot for too long", async () => {
    const soon = new Date(nowMs + 30_000).toISOString();
    const probe = { delivery_id: newId("dlv"), until: soon };
    const closed = await owed(1, {}, { proven_at: null, closed_until: soon, probe });
    await deliver(closed.messages, { queue: "deliver" });
    expect((await stored(closed.delivery)).delivery).toMatchObject({ status: "pending", resting: true, claims: 0 });
    const slots = Object.fromEntries([1, 2, 3, 4].map((n) => [`dlv_0000000000000000000000000${n}`, soon]));
    const busy = await owed(1, {}, { slots });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const [message] = busy.messages;
    if (message === undefined) throw new Error("There is a message.");
    await deliver([message]);
    // It comes back with what its delivery is made of, and is not stored for that.
    expect(queues.takeMessages()).toMatchObject([{ queue: "deliver", body: { ...message, returns: 1 } }]);
    expect((await stored(busy.delivery)).delivery).toBeUndefined();
    await deliver([{ ...message, returns: bounds.max_returns }]);
    for (const { delivery } of [closed, busy]) {
      const { wake_at, version } = (await stored(delivery)).delivery;
      expect([version, Date.parse(wake_at ?? "") > nowMs]).toEqual([1, true]);
    }
    expect(receiver.received).toEqual([]);
  });

  it("is made of nothing but an event that is due to its endpoint", async () => {
    const { messages, endpoint } = await owed();
    const [message] = messages;
    const other = await owed(1, { tenant_id: endpoint.tenant_id });
    if (message === undefined) throw new Error("There is a message.");
    const wrong = [
      { ...message, endpoint_id: other.endpoint.id },
      { ...message, event_id: other.all[0]?.event.id ?? "" },
      { ...message, event_id: newId("evt") },
      { ...message, delivery_id: newId("dlv") },
      { ...message, tenant_id: newId("brk") },
    ];
    expect(await deliver(wrong, { queue: "deliver" })).toEqual(none);
    expect(receiver.received).toEqual([]);
    expect(queues.takeMessages()).toEqual([]);
  });
});

describe("a worker that dies with a delivery that it was to store", () => {
  it("before it stores it leaves nothing but a slot, and the sweep stores and sends it", async () => {
    const { delivery, messages } = await owed();
    watched.interfere = ({ operation }) => (operation === "PutItem" ? failure("ValidationException") : undefined);
    expect((await deliver(messages)).batchItemFailures).toHaveLength(1);
    watched.interfere = () => undefined;
    expect(receiver.received).toEqual([]);
    expect(await state(delivery)).toEqual({ item: undefined, due: true });
    await sweepLater();
    const wake_at = new Date(nowMs + unscaled(bounds.lost_after_seconds)).toISOString();
    expect(await state(delivery)).toMatchObject({ item: { status: "pending", wake_at }, due: false });
    expect(sentFor(delivery)).toMatchObject([{ queue: "deliver", body: messageOf(delivery) }]);
    // That message is lost as well: by now the delivery is due by itself.
    await sweepLater();
    expect(sentFor(delivery)).toMatchObject([{ queue: "deliver", group: delivery.endpoint_id, delaySeconds: 0 }]);
    await deliver([messageOf(delivery)]);
    expect((await stored(delivery)).delivery).toMatchObject({ status: "succeeded", claims: 1, wake_at: null });
  });

  it("after it posted leaves a claim that the sweep gives a wake, and the next worker records the crash", async () => {
    const { delivery, messages } = await owed();
    watched.interfere = ({ operation, input }) =>
      operation === "PutItem" && JSON.stringify(input).includes("ATTEMPT") ? failure("ValidationException") : undefined;
    expect((await deliver(messages)).batchItemFailures).toHaveLength(1);
    watched.interfere = () => undefined;
    expect(await state(delivery)).toMatchObject({ item: { claims: 1, wake_at: null }, due: true });
    await sweepLater();
    expect(await state(delivery)).toMatchObject({ item: { claims: 1, wake_at: expect.any(String) }, due: false });
    expect(sentFor(delivery)).toMatchObject([{ queue: "deliver", body: messageOf(delivery) }]);
    await deliver([messageOf(delivery)]);
    const after = await stored(delivery);
    expect(receiver.received).toHaveLength(2);
    expect(after.delivery).toMatchObject({ status: "succeeded", claims: 2, wake_at: null });
    expect(after.attempts.map(({ claim, error }) => [claim, error])).toEqual([
      [1, "worker_crash"],
      [2, null],
    ]);
  });
});

describe("a write that is carried out and not answered", () => {
  /** Loses the answer to the first write of this kind to the item of a delivery: the SDK sends it again. */
  const loseOne = (operation: string, { id }: Delivery) => {
    let lost = false;
    watched.interfere = (call) => {
      const { input } = call;
      const item = JSON.stringify(input["Item"] ?? input["Key"] ?? {});
      if (lost || call.operation !== operation || !item.includes(`#${id}"`) || item.includes("ATTEMPT"))
        return undefined;
      lost = true;
      return "lose_answer";
    };
    return () => lost;
  };

  it("of a worker that stores a delivery is its claim: it posts and records it", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const { delivery, messages } = await owed();
    const lost = loseOne("PutItem", delivery);
    expect(await deliver(messages)).toEqual(none);
    expect([lost(), receiver.received.length]).toEqual([true, 1]);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", claims: 1, version: 2 });
    expect([after.attempts.length, after.health.slots]).toEqual([1, {}]);
  });

  it("of a sweep that puts a delivery off sends its message all the same", async () => {
    const { delivery } = await owed();
    const lease_until = new Date(nowMs - 1000).toISOString();
    await put(deliveries, { ...delivery, claims: 1, lease_until, wake_at: null });
    const lost = loseOne("UpdateItem", delivery);
    await sweepLater();
    expect(lost()).toBe(true);
    expect(sentFor(delivery)).toMatchObject([{ queue: "deliver", body: messageOf(delivery) }]);
  });
});

describe("a delivery that the code before stored with its event", () => {
  it("keeps its wake when the sweep looks at the event, and is attempted by its message", async () => {
    const { delivery } = await owed();
    const before = { ...delivery, wake_at: new Date(nowMs + 120_000).toISOString() };
    await put(deliveries, before);
    await sweepLater();
    expect(await state(delivery)).toMatchObject({ item: before, due: false });
    expect(sentFor(delivery)).toEqual([]);
    await deliver([messageOf(delivery)]);
    expect((await stored(delivery)).delivery).toMatchObject({ status: "succeeded", version: 3, wake_at: null });
  });
});

describe("a worker and the sweep that store a delivery at the same moment", () => {
  it("leave it to the message of the sweep when that is first", async () => {
    const { delivery, messages } = await owed();
    beforeItIsStored(sweepLater);
    expect(await deliver(messages)).toEqual(none);
    expect(receiver.received).toEqual([]);
    const after = await stored(delivery);
    expect([after.delivery.claims, after.health.slots]).toEqual([0, {}]);
    const [message] = sentFor(delivery);
    await deliver([message?.body as unknown as (typeof messages)[0] & object]);
    expect((await stored(delivery)).delivery).toMatchObject({ status: "succeeded", claims: 1 });
  });

  it("give it a wake when the worker is first, in case that one dies", async () => {
    const { delivery } = await owed();
    const lease_until = new Date(nowMs + 70_000).toISOString();
    beforeItIsStored(() => put(deliveries, { ...delivery, claims: 1, lease_until, wake_at: null }));
    await sweepLater();
    const wake_at = new Date(Date.parse(lease_until) + 1000).toISOString();
    expect(await state(delivery)).toMatchObject({ item: { claims: 1, lease_until, wake_at }, due: false });
    expect(sentFor(delivery)).toEqual([]);
  });
});
