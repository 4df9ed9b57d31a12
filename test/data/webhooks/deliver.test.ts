import type { ServerResponse } from "node:http";
import { marshall } from "@aws-sdk/util-dynamodb";
import { describe, expect, it, vi } from "vitest";
import { wakeOfSent, wakeOfWaiting } from "../../../shared/domain/webhooks/delivery.ts";
import { limits } from "../../../shared/limits.ts";
import { newId } from "../../../shared/runtime/ids.ts";
import { closedDoor, failure, unitsOf } from "../../support/emulator/watched-endpoint.ts";
import { answerWith } from "../../support/stack/receiver.ts";
import { eventually } from "../../support/wait.ts";
import {
  at,
  bounds,
  deliver,
  emulator,
  messageOf,
  none,
  nowMs,
  queues,
  receiver,
  situation,
  stored,
  unscaled,
  watched,
  webhookHealths,
} from "./deliver-cases.ts";

describe("an attempt that is accepted", () => {
  it("posts the event's own bytes, signed, and is recorded in full", async () => {
    const { delivery, all } = await situation();
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    vi.useRealTimers();
    expect(receiver.received).toHaveLength(1);
    const [call] = receiver.received;
    expect(call?.body).toBe(all[0]?.text);
    expect(call?.headers).toMatchObject({
      "content-type": "application/json",
      "user-agent": "BrokerageWebhooks/2",
      "webhook-id": delivery.event_id,
      "webhook-timestamp": String(Math.floor(nowMs / 1000)),
      "x-service-event": "client.created",
      "x-service-delivery": delivery.id,
      "x-service-attempt": "1",
    });
    const after = await stored(delivery);
    const moment = new Date(nowMs).toISOString();
    expect(after.delivery).toMatchObject({
      status: "succeeded",
      attempt: 1,
      lease_until: null,
      next_attempt_at: null,
      wake_at: null,
      first_attempt_at: moment,
      completed_at: moment,
      last: { number: 1, at: moment, http_status: 200, error: null },
      version: 3,
    });
    const kept = { number: 1, claim: 1, http_status: 200, error: null, response_excerpt: "thanks" };
    expect(after.attempts).toEqual([expect.objectContaining(kept)]);
    expect(after.health).toMatchObject({ slots: {}, last_success_at: moment, consecutive_failures: 0 });
    expect(queues.takeMessages()).toEqual([]);
  });

  it("costs five writes of items and what their indexes ask for, in seven calls", async () => {
    const { delivery } = await situation();
    await deliver([messageOf(delivery)]);
    const other = await situation();
    watched.takeCalls();
    await deliver([messageOf(other.delivery)]);
    const calls = watched.takeCalls();
    const writes = calls.filter(({ operation }) => operation !== "BatchGetItem");
    expect(writes.map(({ operation }) => operation).sort()).toEqual([...Array(4).fill("UpdateItem"), "PutItem"].sort());
    expect(calls).toHaveLength(7);
    // Slot 1, claim 1, entry 1, record 1, moved in the index by status 2 and taken out of the due index 1, slot 1.
    expect(unitsOf(writes)).toBe(8);
  });
});

describe("an attempt concurrent with transactions on the same items", () => {
  it("is made once and recorded, though each of its updates meets one first", async () => {
    const { delivery } = await situation();
    const met = new Set<string>();
    watched.interfere = ({ operation, input }) => {
      const update = JSON.stringify(input);
      if (operation !== "UpdateItem" || met.has(update)) return undefined;
      met.add(update);
      return failure("TransactionConflictException");
    };
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    // The slot is taken, the attempt claimed and recorded, the slot given back.
    expect(met.size).toBeGreaterThanOrEqual(4);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", attempt: 1, claims: 1 });
    expect(after.health.slots).toEqual({});
  });

  it("goes back to its queue when they do not end", async () => {
    const { delivery } = await situation();
    let tries = 0;
    watched.interfere = ({ operation }) => {
      if (operation !== "UpdateItem") return undefined;
      tries += 1;
      return failure("TransactionConflictException");
    };
    expect((await deliver([messageOf(delivery)])).batchItemFailures).toHaveLength(1);
    expect(tries).toBeGreaterThanOrEqual(limits.commit.update_tries);
    expect(receiver.received).toHaveLength(0);
  });
});

describe("an attempt that fails", () => {
  it("is followed by a message for the next one, recorded before it is sent", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(500);
    await deliver([messageOf(delivery)]);
    const after = (await stored(delivery)).delivery;
    const [message, ...more] = queues.takeMessages();
    expect(more).toEqual([]);
    expect(message).toMatchObject({
      queue: "retry-1m",
      group: delivery.endpoint_id,
      body: { tenant_id: delivery.tenant_id, delivery_id: delivery.id, attempt: 2, returns: 1 },
    });
    const delay = message?.delaySeconds ?? 0;
    expect(delay).toBeGreaterThanOrEqual(60);
    expect(delay).toBeLessThanOrEqual(66);
    const next = nowMs + delay * 1000;
    expect(after).toMatchObject({
      status: "retrying",
      attempt: 2,
      claims: 0,
      next_attempt_at: new Date(next).toISOString(),
      wake_at: wakeOfSent(next, unscaled),
      completed_at: null,
      last: { number: 1, http_status: 500, error: "http_status" },
    });
  });

  it("goes through six attempts of the same event, each signed again, and is given up", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(503);
    const start = nowMs;
    const waits = [60, 300, 1800, 7200, 86_400];
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      expect(await deliver([messageOf(delivery, attempt)])).toEqual(none);
      const now = (await stored(delivery)).delivery;
      const sent = queues.takeMessages();
      if (attempt === 6) {
        expect(now).toMatchObject({ status: "exhausted", attempt: 6, wake_at: null, next_attempt_at: null });
        expect(sent).toEqual([]);
        break;
      }
      const next = Date.parse(now.next_attempt_at ?? "");
      const wait = (waits[attempt - 1] ?? 0) * 1000;
      expect(next - nowMs).toBeGreaterThanOrEqual(wait);
      expect(next - nowMs).toBeLessThanOrEqual(wait * 1.1);
      expect(sent.map(({ queue }) => queue)).toEqual(attempt === 1 ? ["retry-1m"] : attempt === 2 ? ["retry-5m"] : []);
      if (attempt > 2) expect(now.wake_at).toBe(wakeOfWaiting(next, unscaled));
      at(next);
    }
    expect(receiver.received).toHaveLength(6);
    const timestamps = receiver.received.map(({ headers }) => Number(headers["webhook-timestamp"]));
    expect(new Set(timestamps).size).toBe(6);
    expect((timestamps[5] ?? 0) - Math.floor(start / 1000)).toBeGreaterThanOrEqual(95_760);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-signature"])).size).toBe(6);
    expect(receiver.received.map(({ headers }) => headers["x-service-attempt"])).toEqual([
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
    ]);
    const after = await stored(delivery);
    expect(after.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(after.health.consecutive_failures).toBe(6);
  });

  it.each([1, 2, 3, 4, 5])("%i times and is then accepted has been posted once more than that", async (failures) => {
    const { delivery } = await situation();
    receiver.answer = (call, reply) => {
      reply.writeHead(Number(call.headers["x-service-attempt"]) > failures ? 200 : 500).end();
    };
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await deliver([messageOf(delivery, attempt)]);
      const { next_attempt_at: next } = (await stored(delivery)).delivery;
      if (next !== null) at(Date.parse(next));
    }
    expect(receiver.received).toHaveLength(failures + 1);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", attempt: failures + 1 });
    expect(after.health).toMatchObject({ consecutive_failures: 0, first_failure_at: null });
  });

  it("waits as long as the receiver asks, in the table where no queue can hold it", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(429, { "Retry-After": "7200" });
    await deliver([messageOf(delivery)]);
    const after = (await stored(delivery)).delivery;
    expect(after.next_attempt_at).toBe(new Date(nowMs + 7_200_000).toISOString());
    expect(after.wake_at).toBe(wakeOfWaiting(nowMs + 7_200_000, unscaled));
    expect(queues.takeMessages()).toEqual([]);
  });

  it("is left to the sweep when its message is not taken, and when too many came in a row", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(500);
    queues.interfere = () => "unavailable";
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect((await stored(delivery)).delivery).toMatchObject({ status: "retrying", attempt: 2 });
    queues.interfere = () => undefined;
    const other = await situation();
    await deliver([messageOf(other.delivery, 1, bounds.max_returns)]);
    expect(queues.takeMessages()).toEqual([]);
    const { next_attempt_at: next, wake_at } = (await stored(other.delivery)).delivery;
    expect(wake_at).toBe(wakeOfWaiting(Date.parse(next ?? ""), unscaled));
  });
});

describe("a message", () => {
  it("that is no message of ours fails by itself", async () => {
    const { delivery } = await situation();
    const bad = ["no JSON", "null", "{}", JSON.stringify({ ...messageOf(delivery), attempt: "1" })];
    expect(await deliver([...bad, messageOf(delivery)])).toEqual({
      batchItemFailures: bad.map((_, index) => ({ itemIdentifier: `m${index}` })),
    });
    expect(receiver.received).toHaveLength(1);
  });

  it("of nothing, of another attempt, or of what is over does nothing", async () => {
    const { delivery } = await situation();
    const missing = { ...messageOf(delivery), delivery_id: newId("dlv") };
    const foreign = { ...messageOf(delivery), tenant_id: newId("brk") };
    expect(await deliver([missing, foreign, messageOf(delivery, 2), messageOf(delivery, 0)])).toEqual(none);
    expect(receiver.received).toEqual([]);
    await deliver([messageOf(delivery)]);
    const after = await stored(delivery);
    expect(await deliver([messageOf(delivery), messageOf(delivery, 2), messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    expect(await stored(delivery)).toEqual(after);
  });

  it("that comes before its time posts nothing; one that is a moment early comes again", async () => {
    const { delivery } = await situation();
    receiver.answer = answerWith(500);
    await deliver([messageOf(delivery)]);
    queues.takeMessages();
    const { next_attempt_at: next } = (await stored(delivery)).delivery;
    at(nowMs + 1000);
    expect(await deliver([messageOf(delivery, 2)])).toEqual(none);
    expect(queues.takeMessages()).toEqual([]);
    at(Date.parse(next ?? "") - 1500);
    await deliver([messageOf(delivery, 2, 3)], { queue: "retry-1m" });
    const { wake_at } = (await stored(delivery)).delivery;
    await deliver([messageOf(delivery, 2, bounds.max_returns)], { queue: "retry-1m" });
    expect((await stored(delivery)).delivery.wake_at).toBe(wake_at);
    expect(receiver.received).toHaveLength(1);
    expect(queues.takeMessages()).toMatchObject([
      { queue: "retry-1m", delaySeconds: 2, body: { attempt: 2, returns: 4 } },
    ]);
  });

  it("that comes twice at once, or to several workers, makes one call", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const { delivery } = await situation();
    const door = closedDoor();
    receiver.answer = async (_, reply) => {
      await door.opened;
      reply.end();
    };
    const batches = Array.from({ length: 5 }, () => deliver([messageOf(delivery), messageOf(delivery)]));
    // Some of the others have looked, waited in vain and left before the one with the claim comes back.
    await Promise.race(batches);
    door.open();
    for (const answer of await Promise.all(batches)) expect(answer).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", version: 3 });
    expect(after.health.slots).toEqual({});
  });

  it("that comes while its attempt runs makes no second call", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const { delivery, all } = await situation(2);
    // Connections are warm: after a pause a worker drops those that it has, and both workers here have the same.
    for (const before of all.slice(1)) await deliver([messageOf(before.delivery)]);
    const door = closedDoor();
    receiver.answer = async (_, reply) => {
      if (receiver.received.length === 2) await door.opened;
      reply.end();
    };
    const first = deliver([messageOf(delivery)]);
    await eventually(() => (receiver.received.length === 2 ? true : undefined));
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(2);
    door.open();
    expect(await first).toEqual(none);
    const after = await stored(delivery);
    expect(after.delivery).toMatchObject({ status: "succeeded", claims: 1, last: { error: null } });
  });

  it("goes back when the function's time is too short for an attempt", async () => {
    const { delivery } = await situation();
    expect(await deliver([messageOf(delivery)], { remainingMs: 11_000, queue: "retry-5m" })).toEqual(none);
    expect(receiver.received).toEqual([]);
    expect(queues.takeMessages()).toMatchObject([{ queue: "retry-5m", delaySeconds: 5, body: { returns: 1 } }]);
    expect((await stored(delivery)).delivery).toMatchObject(delivery);
  });
});

describe("the slots of an endpoint", () => {
  it("let four attempts run at a time, however many messages come to however many workers", async () => {
    const { all } = await situation(20);
    const held: ServerResponse[] = [];
    receiver.answer = (_, reply) => {
      held.push(reply);
      // None ends before four run, however busy the machine is.
      if (receiver.mostAtOnce < 4) return;
      for (const each of held.splice(0)) setTimeout(() => each.end(), 40);
    };
    const messages = all.map(({ delivery }) => messageOf(delivery));
    const halves = [messages.slice(0, 10), messages.slice(10)];
    for (const answer of await Promise.all(halves.map((half) => deliver(half)))) expect(answer).toEqual(none);
    expect(receiver.mostAtOnce).toBe(4);
    const returned = queues.takeMessages();
    expect(receiver.received.length + returned.length).toBe(20);
    expect(returned.every(({ delaySeconds, body }) => delaySeconds === 5 && body["returns"] === 1)).toBe(true);
    const states = await Promise.all(all.map(({ delivery }) => stored(delivery)));
    expect(states.filter(({ delivery }) => delivery.status === "succeeded")).toHaveLength(receiver.received.length);
    expect(states[0]?.health.slots).toEqual({});
  });

  const busy = (end: number) =>
    Object.fromEntries(
      [1, 2, 3, 4].map((n) => [`dlv_0000000000000000000000000${n}`, new Date(nowMs + end).toISOString()]),
    );

  it("that are all taken send a message back, and do not count the attempt", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(10_000) });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    expect(await deliver([messageOf(delivery, 1, 4)])).toEqual(none);
    expect(receiver.received).toEqual([]);
    expect(queues.takeMessages()).toMatchObject([
      { queue: "deliver", delaySeconds: 5, body: { attempt: 1, returns: 5 } },
    ]);
    expect((await stored(delivery)).delivery).toMatchObject(delivery);
  });

  it("that an unproven endpoint holds are not waited for: the worker is free for others at once", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(10_000), proven_at: null });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const startMs = Date.now();
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(Date.now() - startMs).toBeLessThan(bounds.slot_wait_ms);
    expect(queues.takeMessages()).toMatchObject([{ queue: "deliver", delaySeconds: 1, body: { returns: 1 } }]);
  });

  it("that are held for longer than an answer in time are not waited for: the batch has others", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(bounds.lease_ms - bounds.slow_answer_ms) });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    const startMs = Date.now();
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(Date.now() - startMs).toBeLessThan(bounds.slot_wait_ms);
    expect(queues.takeMessages()).toMatchObject([{ queue: "deliver", delaySeconds: 5, body: { returns: 1 } }]);
  });

  it("that stay taken leave the delivery to the sweep, which looks for it later", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(10_000) });
    vi.useFakeTimers({ toFake: ["Date"], now: nowMs, shouldAdvanceTime: true });
    expect(await deliver([messageOf(delivery, 1, bounds.max_returns)])).toEqual(none);
    expect(queues.takeMessages()).toEqual([]);
    const after = (await stored(delivery)).delivery;
    expect(Date.parse(after.wake_at ?? "")).toBeGreaterThanOrEqual(nowMs + 900_000);
    expect({ ...after, wake_at: delivery.wake_at }).toMatchObject(delivery);
  });

  it("of workers that died are free again when their leases have ended", async () => {
    const { delivery } = await situation(1, {}, { slots: busy(-1) });
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    expect(receiver.received).toHaveLength(1);
    expect((await stored(delivery)).health.slots).toEqual({});
  });

  it("are not recreated for an endpoint whose health is gone", async () => {
    const { delivery, endpoint } = await situation();
    receiver.answer = async (_, reply) => {
      const { DeleteItemCommand } = await import("@aws-sdk/client-dynamodb");
      const Key = marshall(webhookHealths.key(endpoint.tenant_id, endpoint.id));
      await emulator.client.send(new DeleteItemCommand({ TableName: emulator.tableName, Key }));
      reply.end();
    };
    expect(await deliver([messageOf(delivery)])).toEqual(none);
    const after = await stored(delivery);
    expect(after.health).toBeUndefined();
    expect(after.delivery.status).toBe("succeeded");
  });
});
