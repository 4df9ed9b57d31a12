import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { Delivery } from "../../../shared/domain/records/delivery.ts";
import type { WebhookHealth } from "../../../shared/domain/records/webhook.ts";
import { isProven } from "../../../shared/domain/webhooks/lane.ts";
import type { DeliveryMessage } from "../../../shared/runtime/queues.ts";
import { closedDoor } from "../../support/emulator/watched-endpoint.ts";
import { answerWith, type Received } from "../../support/stack/receiver.ts";
import {
  answerByDefault,
  at,
  bounds,
  deliver,
  messageOf,
  none,
  nowMs,
  put,
  queues,
  receiver,
  releaseSlot,
  situation,
  stored,
  takeSlot,
  unscaled,
  webhookCounts,
  webhookHealths,
} from "./deliver-cases.ts";

describe("the unproven lane", () => {
  const fresh = { proven_at: null, last_success_at: null };
  const seconds = (from: number, count: number) => new Date(from + count * 1000).toISOString();
  const silence = (_: Received, reply: ServerResponse) => {
    // The view of the worker on a receiver that never answers, ten seconds later.
    at(nowMs + 10_000);
    reply.destroy();
  };
  const bodies = () => queues.takeMessages().map(({ queue, delaySeconds, body }) => ({ queue, delaySeconds, body }));

  it("gets one delivery of an endpoint that nothing is known of; its others come back in a second", async () => {
    const { all } = await situation(3, {}, fresh);
    expect(
      await deliver(
        all.map(({ delivery }) => messageOf(delivery)),
        { queue: "deliver" },
      ),
    ).toEqual(none);
    expect(receiver.received).toEqual([]);
    const sent = bodies();
    expect(sent.map(({ queue, delaySeconds }) => `${queue} ${delaySeconds}`).sort()).toEqual([
      "deliver 1",
      "deliver 1",
      "deliver-unproven 0",
    ]);
    const moved = sent.find(({ queue }) => queue === "deliver-unproven")?.body;
    expect(moved).toMatchObject({ attempt: 1, returns: 1 });
    const [first] = all;
    if (first === undefined) throw new Error("There are three deliveries.");
    expect((await stored(first.delivery)).health.probe).toEqual({
      delivery_id: moved?.["delivery_id"],
      until: seconds(nowMs, bounds.probe_seconds),
    });
    await deliver([moved as unknown as DeliveryMessage], { queue: "deliver-unproven" });
    expect(receiver.received).toHaveLength(1);
    expect((await stored(first.delivery)).health).toMatchObject({ probe: null, closed_until: null, slots: {} });
    // It is proven now: the others are attempted where they are.
    const others = sent
      .filter(({ queue }) => queue === "deliver")
      .map(({ body }) => body as unknown as DeliveryMessage);
    await deliver(others, { queue: "deliver" });
    expect(receiver.received).toHaveLength(3);
    expect(queues.takeMessages()).toEqual([]);
  });

  it("gives back what belongs to a proven endpoint, and takes a retry of one that is not", async () => {
    const { delivery } = await situation();
    await deliver([messageOf(delivery)], { queue: "deliver-unproven" });
    expect(bodies()).toMatchObject([{ queue: "deliver", delaySeconds: 0, body: { attempt: 1, returns: 1 } }]);
    const silent = await situation(1, {}, { proven_at: null, consecutive_failures: 1 });
    await deliver([messageOf(silent.delivery)], { queue: "retry-5m" });
    expect(bodies()).toMatchObject([{ queue: "deliver-unproven", delaySeconds: 0, body: { returns: 1 } }]);
    expect(receiver.received).toEqual([]);
  });

  it("closes an endpoint that does not answer for 30 s, doubling to five minutes, with one probe each", async () => {
    const { all } = await situation(9, {}, fresh);
    receiver.answer = silence;
    for (const [turn, { delivery }] of all.slice(0, 6).entries()) {
      const [moved] = await movedBy(delivery);
      const least = [0, 30, 60, 120, 240, 240];
      expect(moved).toMatchObject({ queue: "deliver-unproven" });
      expectBetween(moved?.delaySeconds, least[turn] ?? 0);
      at(nowMs + (moved?.delaySeconds ?? 0) * 1000);
      expect(await deliver([messageOf(delivery)], { queue: "deliver-unproven" })).toEqual(none);
      expect(receiver.received).toHaveLength(turn + 1);
      queues.takeMessages();
      const { health } = await stored(delivery);
      expect(health).toMatchObject({ timeouts_in_a_row: turn + 1, probe: null });
      expectBetween((Date.parse(health.closed_until ?? "") - nowMs) / 1000, least[turn + 1] ?? 240);
    }
  });

  /** A closing lasts so many seconds, and up to a quarter longer, in whole seconds of a queue. */
  function expectBetween(value: number | undefined, least: number) {
    expect(value).toBeGreaterThanOrEqual(least);
    expect(value).toBeLessThanOrEqual(Math.ceil(least * (1 + bounds.closed_jitter_max)));
  }

  async function movedBy(delivery: Delivery) {
    await deliver([messageOf(delivery)], { queue: "deliver" });
    return bodies();
  }

  it("lets rest what comes next to the probe of a closed endpoint: no message, a wake after the closing", async () => {
    const closed_until = seconds(nowMs, 60);
    const { all, delivery } = await situation(3, {}, { ...fresh, consecutive_failures: 2, closed_until });
    const [probe, ...others] = all.map((each) => each.delivery);
    await deliver([messageOf(probe ?? delivery)], { queue: "deliver" });
    expect(bodies()).toMatchObject([{ queue: "deliver-unproven", delaySeconds: 60, body: { delivery_id: probe?.id } }]);
    await deliver(
      others.map((each) => messageOf(each)),
      { queue: "deliver" },
    );
    // Also one that was let in before and comes too early.
    await deliver([messageOf(probe ?? delivery)], { queue: "deliver-unproven" });
    expect(bodies()).toMatchObject([{ queue: "deliver-unproven", delaySeconds: 60 }]);
    expect(receiver.received).toEqual([]);
    for (const each of others) {
      const { delivery: resting } = await stored(each);
      expect(resting).toMatchObject({ status: "pending", attempt: 1, version: 1, resting: true });
      expect((resting.wake_at ?? "") >= seconds(nowMs, bounds.rest_min_seconds)).toBe(true);
      const latest = bounds.rest_min_seconds + bounds.rest_spread_seconds;
      expect((resting.wake_at ?? "") <= seconds(nowMs, latest)).toBe(true);
    }
  });

  it("opens an endpoint with its first success, and notes for the sweep that what rests may go", async () => {
    const closed_until = seconds(nowMs, -1);
    const { delivery } = await situation(
      1,
      {},
      { ...fresh, consecutive_failures: 2, timeouts_in_a_row: 2, closed_until },
    );
    expect(await deliver([messageOf(delivery)], { queue: "deliver-unproven" })).toEqual(none);
    const now = seconds(nowMs, 0);
    const { health } = await stored(delivery);
    expect(health).toMatchObject({ timeouts_in_a_row: 0, closed_until: null, proven_at: now, reopened_at: now });
    expect(health).toMatchObject({ wake_at: now, consecutive_failures: 0 });
    expect(isProven(health, nowMs, unscaled)).toBe(true);
  });

  it("lets rest what it had no place for too often, until a success of an endpoint that was never closed", async () => {
    const { all, delivery } = await situation(2, {}, { proven_at: null, consecutive_failures: 3 });
    const [probe, other] = all.map((each) => each.delivery);
    await movedBy(probe ?? delivery);
    await deliver([messageOf(other ?? delivery, 1, bounds.max_returns)], { queue: "deliver" });
    expect(queues.takeMessages()).toEqual([]);
    const { delivery: resting, health } = await stored(other ?? delivery);
    expect(resting).toMatchObject({ resting: true, wake_at: seconds(nowMs, bounds.sent_again_after_seconds) });
    expect(health).toMatchObject({ closed_until: seconds(nowMs, 0), consecutive_failures: 3 });
    await deliver([messageOf(probe ?? delivery)], { queue: "deliver-unproven" });
    const now = seconds(nowMs, 0);
    expect((await stored(delivery)).health).toMatchObject({ closed_until: null, reopened_at: now, wake_at: now });
  });

  it("keeps its lane and its slots where it fails at once: that holds no worker", async () => {
    const { all, delivery } = await situation(2);
    receiver.answer = answerWith(500);
    for (const each of all) await deliver([messageOf(each.delivery)]);
    expect(receiver.received).toHaveLength(2);
    const { health } = await stored(delivery);
    expect([health.consecutive_failures, isProven(health, nowMs, unscaled)]).toEqual([2, true]);
  });

  it("is that of an endpoint that accepts, and holds its worker for long by it", async () => {
    const { all, delivery } = await situation(2);
    const answerAfter =
      (ms: number) =>
      (_: Received, reply: ServerResponse): void => {
        at(nowMs + ms);
        reply.end();
      };
    receiver.answer = answerAfter(bounds.late_answer_ms);
    await deliver([messageOf(delivery)]);
    const { delivery: done, health } = await stored(delivery);
    expect([done.status, health.consecutive_failures, health.closed_until]).toEqual(["succeeded", 0, null]);
    expect(isProven(health, nowMs, unscaled)).toBe(false);
    receiver.answer = answerAfter(0);
    const second = all[1]?.delivery ?? delivery;
    await deliver([messageOf(second)], { queue: "deliver-unproven" });
    expect(isProven((await stored(second)).health, nowMs, unscaled)).toBe(true);
  });

  it("does not close a proven endpoint that fails once; its next success proves it again", async () => {
    const { all, delivery } = await situation(2);
    receiver.answer = silence;
    await deliver([messageOf(delivery)]);
    queues.takeMessages();
    expect((await stored(delivery)).health).toMatchObject({ consecutive_failures: 1, closed_until: null });
    receiver.answer = answerByDefault;
    const second = all[1]?.delivery ?? delivery;
    await deliver([messageOf(second)], { queue: "deliver-unproven" });
    const { health } = await stored(second);
    expect(health).toMatchObject({ reopened_at: null, wake_at: null });
    expect(isProven(health, nowMs, unscaled)).toBe(true);
  });

  it("leaves the place of a delivery whose message was lost to another one after a minute", async () => {
    const { all, delivery } = await situation(2, {}, fresh);
    expect(await movedBy(delivery)).toHaveLength(1);
    at(nowMs + bounds.probe_seconds * 1000);
    const second = all[1]?.delivery ?? delivery;
    expect(await movedBy(second)).toMatchObject([{ queue: "deliver-unproven", body: { delivery_id: second.id } }]);
  });

  it("is asked for again by a message that comes a second time, and by none that came too often", async () => {
    const { delivery } = await situation(1, {}, fresh);
    expect(await movedBy(delivery)).toEqual(await movedBy(delivery));
    await deliver([messageOf(delivery, 1, bounds.max_returns)], { queue: "deliver" });
    expect(queues.takeMessages()).toEqual([]);
    expect(Date.parse((await stored(delivery)).delivery.wake_at ?? "")).toBeGreaterThanOrEqual(nowMs + 900_000);
  });
});

describe("the slots of an endpoint that answers in time", () => {
  const grown = { slot_credit: 110 };

  /**
   * Sends deliveries by two workers to the only endpoint of a brokerage, which answers when it has so many of them in
   * hand, and returns its health after them.
   */
  async function send(count: number, health: Partial<WebhookHealth>, inHand: number, answer = answerWith(200)) {
    const { all, delivery, endpoint } = await situation(count, {}, health);
    await put(webhookCounts, { tenant_id: endpoint.tenant_id, endpoints: 1 });
    const door = closedDoor();
    receiver.answer = async (call, reply) => {
      if (receiver.received.length >= inHand) door.open();
      await door.opened;
      answer(call, reply);
    };
    const messages = all.map((each) => messageOf(each.delivery));
    await Promise.all([messages.slice(0, 10), messages.slice(10)].map((half) => deliver(half)));
    return (await stored(delivery)).health;
  }

  it("grow by its answers while all are taken", async () => {
    const { slot_credit } = await send(20, {}, 4);
    expect(receiver.mostAtOnce).toBe(4);
    expect(slot_credit).toBeGreaterThan(0);
    expect(slot_credit).toBeLessThanOrEqual(20);
  });

  it("are what it has earned, at most the part of its brokerage in the lane", async () => {
    expect((await send(20, grown, 15)).slot_credit).toBe(110);
    expect(receiver.mostAtOnce).toBe(15);
  });

  it.each([0, 3])("are halved once by attempts that fail together, with %i failures before", async (before) => {
    const health = { ...grown, consecutive_failures: before };
    expect(await send(15, health, 15, answerWith(500))).toMatchObject({
      slot_credit: 30,
      consecutive_failures: before + 15,
    });
  });

  it("are not given back by a slow answer to an attempt that began before they were lost", async () => {
    const { delivery } = await situation(1, {}, grown);
    const { health } = await stored(delivery);
    const [now, lease_until] = [0, bounds.lease_ms].map((ms) => new Date(nowMs + ms).toISOString()) as [string, string];
    const slot = await takeSlot(health, { delivery_id: delivery.id, lease_until, most: 15, now });
    if (slot === undefined) throw new Error("An endpoint without attempts has a slot.");
    await put(webhookHealths, { ...slot.health, slot_credit: 0 });
    expect(await releaseSlot(slot, "slow", now)).toMatchObject({ slot_credit: 0, slots: {} });
  });
});
