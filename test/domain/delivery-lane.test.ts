import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WebhookHealth } from "../../shared/domain/records/webhook.ts";
import { amendEndpoint } from "../../shared/domain/webhooks/decisions.ts";
import { draftDelivery } from "../../shared/domain/webhooks/delivery.ts";
import {
  atRest,
  closingAfter,
  closingSeconds,
  creditAfter,
  isProven,
  isSilence,
  laneFor,
  mostSlots,
  type Place,
  restUntil,
  slotsOf,
} from "../../shared/domain/webhooks/lane.ts";
import { draftHealth } from "../../shared/domain/webhooks/webhook.ts";
import { limits } from "../../shared/limits.ts";
import { accepted, changesOf, decisionContext, decisionTime, someEndpoint } from "../support/builders/decisions.ts";

const nowMs = Date.parse(decisionTime);
const realTime = (seconds: number) => seconds * 1000;
const at = (seconds: number) => new Date(nowMs + seconds * 1000).toISOString();
const day = 24 * 3600;
const fresh = draftHealth(someEndpoint());
const proven: WebhookHealth = { ...fresh, proven_at: at(-60), last_success_at: at(-60) };

describe("an endpoint is proven", () => {
  it.each<readonly [string, WebhookHealth, boolean]>([
    ["not before its first success", fresh, false],
    ["by a success", proven, true],
    ["for a day", { ...proven, proven_at: at(1 - day) }, true],
    ["not for longer than a day", { ...proven, proven_at: at(-day) }, false],
    ["also with failures since, which came at once", { ...proven, consecutive_failures: 9 }, true],
    ["not when something was left unanswered since", { ...proven, proven_at: null, consecutive_failures: 1 }, false],
    ["not by a success at the address before", { ...proven, proven_at: null }, false],
  ])("%s", (_, health, is) => {
    expect(isProven(health, nowMs, realTime)).toBe(is);
    expect(slotsOf(health, 16, nowMs, realTime)).toBe(is ? 4 : 1);
    expect(slotsOf({ ...health, slot_credit: 1000 }, 16, nowMs, realTime)).toBe(is ? 16 : 1);
  });

  it("for a shorter time where business time passes faster", () => {
    expect(isProven({ ...proven, proven_at: at(-144) }, nowMs, (seconds) => (seconds * 1000) / 600)).toBe(false);
    expect(isProven({ ...proven, proven_at: at(-143) }, nowMs, (seconds) => (seconds * 1000) / 600)).toBe(true);
  });
});

describe("the slots of a proven endpoint", () => {
  const moment = { nowMs, delayMs: realTime };
  const full = { prompt: true, full: true, most: 15, begun: 0 };
  const failure = (begun: number) => ({ ...full, prompt: false, begun });
  const credited = (slot_credit: number): WebhookHealth => ({ ...proven, slot_credit });
  const slots = (health: WebhookHealth, most = 15) => slotsOf(health, most, nowMs, realTime);

  it.each([
    [15, 1, 15],
    [15, 2, 7],
    [15, 3, 5],
    [15, 4, 4],
    [15, 20, 4],
    [87, 1, 16],
    [87, 5, 16],
    [87, 8, 10],
    [87, 20, 4],
  ])("of a brokerage that may have %i at once grow beside its %i endpoints to %i", (tenant, endpoints, most) => {
    expect(mostSlots(tenant, endpoints)).toBe(most);
  });

  it.each<readonly [string, WebhookHealth, Parameters<typeof creditAfter>[1], ReturnType<typeof creditAfter>]>([
    ["an answer in time with all slots taken counts", credited(0), full, { add: 1 }],
    ["health that was stored without a credit begins at none", proven, full, { add: 1 }],
    ["an answer with a slot left does not count", credited(50), { ...full, full: false }, undefined],
    ["no answer counts beyond the most", credited(110), full, undefined],
    ["a failure halves eight slots", credited(40), failure(40), { set: 0 }],
    ["a failure halves fifteen slots, whatever the credit", credited(500), failure(500), { set: 30 }],
    ["a failure leaves the first four", credited(9), failure(9), { set: 0 }],
    ["a failure of one that gained nothing changes nothing", credited(0), failure(0), undefined],
    [
      "a failure halves what its attempt began with, also when more was gained since",
      credited(110),
      failure(40),
      { set: 0 },
    ],
    [
      "a failure of an attempt that began with slots that were halved since changes nothing",
      credited(30),
      failure(110),
      undefined,
    ],
    ["a failure gives back nothing of what was lost since", credited(0), failure(110), undefined],
    ["an unproven endpoint loses what it had gained", { ...credited(50), proven_at: null }, full, { set: 0 }],
    ["an unproven endpoint gains nothing", { ...credited(0), proven_at: null }, full, undefined],
  ])("%s", (_, health, pace, credit) => {
    expect(creditAfter(health, pace, moment)).toEqual(credit);
  });

  it("stay between the first four and the most, grow by one at a time and halve at most, whatever is answered", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ prompt: fc.boolean(), full: fc.boolean() }), { maxLength: 300 }),
        fc.integer({ min: 4, max: 16 }),
        (answers, most) => {
          let health = credited(0);
          for (const answer of answers) {
            const before = slots(health, most);
            const { slot_credit: had } = health;
            const credit = creditAfter(health, { ...answer, most, begun: had }, moment);
            if (credit !== undefined) health = credited("set" in credit ? credit.set : had + credit.add);
            const after = slots(health, most);
            expect(after).toBeGreaterThanOrEqual(Math.max(4, Math.floor(before / 2)));
            expect(after).toBeLessThanOrEqual(Math.min(most, answer.prompt ? before + 1 : before));
          }
        },
      ),
    );
  });
});

describe("a delivery", () => {
  const own = { id: "dlv_1" };
  const probeOf = (delivery_id: string, seconds: number) => ({ probe: { delivery_id, until: at(seconds) } });
  const closed = { ...fresh, consecutive_failures: 3, timeouts_in_a_row: 2, closed_until: at(60) };
  const takes = (seconds: number) => ({ delivery_id: own.id, until: at(seconds) });
  const toProbe = (delay_seconds: number, until: number): Place => ({
    do: "move",
    lane: "unproven",
    delay_seconds,
    probe: takes(until),
  });

  it.each<readonly [string, "proven" | "unproven", WebhookHealth, Place]>([
    ["of a proven endpoint is attempted", "proven", proven, { do: "attempt" }],
    [
      "of a proven endpoint leaves the other lane",
      "unproven",
      proven,
      { do: "move", lane: "proven", delay_seconds: 0 },
    ],
    ["of an unproven endpoint is moved as its probe", "proven", fresh, toProbe(0, 60)],
    [
      "that is the probe is moved again without a new note",
      "proven",
      { ...fresh, ...probeOf("dlv_1", 9) },
      { do: "move", lane: "unproven", delay_seconds: 0 },
    ],
    ["whose probe has expired becomes the probe again", "proven", { ...fresh, ...probeOf("dlv_1", 0) }, toProbe(0, 60)],
    ["of an unproven endpoint is attempted in its lane", "unproven", fresh, { do: "attempt" }],
    ["that is the probe is attempted in its lane", "unproven", { ...fresh, ...probeOf("dlv_1", 9) }, { do: "attempt" }],
    [
      "next to another probe comes back",
      "proven",
      { ...fresh, ...probeOf("dlv_2", 9) },
      { do: "come_back", delay_seconds: 1 },
    ],
    [
      "next to another probe is not attempted in the lane either",
      "unproven",
      { ...fresh, ...probeOf("dlv_2", 9) },
      { do: "come_back", delay_seconds: 1 },
    ],
    [
      "next to another attempt comes back",
      "proven",
      { ...fresh, slots: { dlv_2: at(9) } },
      { do: "come_back", delay_seconds: 1 },
    ],
    ["next to a probe that never came takes its place", "proven", { ...fresh, ...probeOf("dlv_2", 0) }, toProbe(0, 60)],
    [
      "next to an attempt whose worker died takes its place",
      "proven",
      { ...fresh, slots: { dlv_2: at(0) } },
      toProbe(0, 60),
    ],
    ["of a closed endpoint is its probe after the closing", "proven", closed, toProbe(60, 120)],
    [
      "of a closed endpoint that comes too early is delayed again",
      "unproven",
      { ...closed, ...probeOf("dlv_1", 120) },
      { do: "move", lane: "unproven", delay_seconds: 60 },
    ],
    [
      "rests next to the probe of an endpoint that was closed since its last success, also when the closing is over",
      "proven",
      { ...closed, closed_until: at(-1), ...probeOf("dlv_2", 9) },
      { do: "rest", closed_until: at(-1) },
    ],
    [
      "of a closed endpoint rests next to its probe",
      "proven",
      { ...closed, ...probeOf("dlv_2", 120) },
      { do: "rest", closed_until: at(60) },
    ],
    ["of an endpoint whose closing is over is its probe", "proven", { ...closed, closed_until: at(0) }, toProbe(0, 60)],
  ])("%s", (_, lane, health, place) => {
    expect(laneFor({ delivery: own, lane, returns: 0 }, health, nowMs, realTime)).toEqual(place);
  });

  it("comes back ever later, so that it outlives a probe that is not answered", () => {
    const busy = { ...fresh, ...probeOf("dlv_2", 9) };
    const delays = [0, 1, 2, 3, 4, 11].map((returns) =>
      laneFor({ delivery: own, lane: "proven", returns }, busy, nowMs, realTime),
    );
    expect(delays).toEqual([1, 2, 4, 8, 8, 8].map((delay_seconds) => ({ do: "come_back", delay_seconds })));
    const { max_returns, attempt_timeout_ms } = limits.webhooks;
    expect(1 + 2 + 4 + 8 * (max_returns - 3)).toBeGreaterThan(2 * (attempt_timeout_ms / 1000));
  });

  it("is delayed by whole seconds, never less than the closing", () => {
    const health = { ...closed, closed_until: new Date(nowMs + 1).toISOString() };
    expect(laneFor({ delivery: own, lane: "proven", returns: 0 }, health, nowMs, realTime)).toMatchObject({
      delay_seconds: 1,
    });
    const faster = (seconds: number) => seconds * 10;
    expect(laneFor({ delivery: own, lane: "proven", returns: 0 }, closed, nowMs, faster)).toMatchObject({
      delay_seconds: 6000,
    });
  });
});

describe("a new delivery", () => {
  const event = { id: "evt_1", type: "client.created", sequence: 1, created_at: decisionTime };
  const draft = draftDelivery("dlv_1", someEndpoint(), event, decisionTime, realTime);
  const moment = { nowMs, delayMs: realTime, chance: 0.5 };
  const closed = { ...fresh, closed_until: at(60), probe: { delivery_id: "dlv_2", until: at(120) } };

  it("rests from the start where the endpoint is closed and has its probe", () => {
    expect(atRest(draft, closed, moment)).toEqual({ ...draft, resting: true, wake_at: at(315) });
  });

  it.each<readonly [string, WebhookHealth | undefined]>([
    ["proven", proven],
    ["fresh", fresh],
    ["gone", undefined],
    ["closed without a probe, which it becomes", { ...closed, probe: null }],
    ["open, with a probe that may prove it in a moment", { ...closed, closed_until: null }],
  ])("has a message where the endpoint is %s", (_, health) => {
    expect(atRest(draft, health, moment)).toBe(draft);
  });
});

describe("a closing", () => {
  it("lasts 30 s, doubling, and never longer than five minutes", () => {
    const lengths = (chance: number) => [1, 2, 3, 4, 5, 6, 1000].map((timeouts) => closingSeconds(timeouts, chance));
    expect(lengths(0)).toEqual([30, 60, 120, 240, 240, 240, 240]);
    expect(lengths(1)).toEqual([37.5, 75, 150, 300, 300, 300, 300]);
  });

  it.each<readonly [string, WebhookHealth, ReturnType<typeof closingAfter>]>([
    ["begins with an attempt without an answer", fresh, { timeouts_in_a_row: 1, closed_until: at(30) }],
    [
      "is longer after the one before",
      { ...fresh, timeouts_in_a_row: 3, closed_until: at(-1) },
      { timeouts_in_a_row: 4, closed_until: at(240) },
    ],
    ["makes of a proven endpoint no more than an unproven one", proven, { proven_at: null }],
    ["is not made longer by a concurrent attempt", { ...fresh, timeouts_in_a_row: 1, closed_until: at(20) }, undefined],
  ])("%s", (_, health, closing) => {
    expect(closingAfter(health, { nowMs, delayMs: realTime, chance: 0 })).toEqual(closing);
  });

  it("is longer by up to a quarter, so that endpoints that fell silent together are probed apart", () => {
    const untils = [0, 0.5, 0.999].map((chance) => closingAfter(fresh, { nowMs, delayMs: realTime, chance }));
    expect(untils).toMatchObject([30, 33.75, 37.493].map((seconds) => ({ closed_until: at(seconds) })));
  });

  it.each([
    ["timeout", 10_000, true],
    ["timeout", 0, true],
    ["http_status", 2999, false],
    ["http_status", 3000, true],
    ["connection_reset", 9000, true],
    ["connection_refused", 5, false],
    ["worker_crash", 20_000, false],
    [null, 9000, false],
  ] as const)("follows %s after %i ms: %s", (error, duration_ms, is) => {
    expect(isSilence({ error, duration_ms })).toBe(is);
  });

  it.each<readonly [string, number, number, number]>([
    ["lets a new delivery rest for five minutes", 0, 0, 300],
    ["is exceeded by a spread", 0, 0.5, 315],
    ["is exceeded by a quarter of the time that the delivery is late", -1600, 0, 400],
    ["is exceeded by an hour at most", -5 * day, 0, 3600],
    ["counts a delivery as on time that is early", 600, 0, 300],
  ])("%s", (_, due, chance, rest) => {
    const delivery = { next_attempt_at: at(due) };
    expect(restUntil(delivery, at(60), { nowMs, delayMs: realTime, chance })).toBe(at(rest));
  });

  it("lets nothing that rests wake before its end", () => {
    const delivery = { next_attempt_at: at(0) };
    expect(restUntil(delivery, at(375), { nowMs, delayMs: realTime, chance: 0 })).toBe(at(375));
  });

  it.each<readonly [string, object, string | null, number]>([
    ["ends at once with another address", { url: "https://hooks.example.com/other" }, decisionTime, 3],
    ["goes on when something else is changed", { description: "x" }, at(60), 3],
  ])("%s", (_, patch, closed_until, failures) => {
    const health = { ...proven, consecutive_failures: 3, timeouts_in_a_row: 2, closed_until: at(60) };
    const rules = { local: false, unknownAccounts: [] };
    const decision = accepted(amendEndpoint({ endpoint: someEndpoint(), health }, patch, rules, decisionContext()));
    expect(decision.result.health).toMatchObject({ closed_until, consecutive_failures: failures });
    const moved = closed_until === decisionTime;
    expect(decision.result.health.proven_at).toBe(moved ? null : proven.proven_at);
    expect(changesOf(decision.changes, "adjust")).toHaveLength(moved ? 1 : 0);
  });

  it("is forgotten when the endpoint is switched on again", () => {
    const health = {
      ...proven,
      consecutive_failures: 3,
      timeouts_in_a_row: 2,
      closed_until: at(60),
      reopened_at: at(-9),
    };
    const rules = { local: false, unknownAccounts: [] };
    const endpoint = someEndpoint({ status: "disabled" });
    const decision = amendEndpoint({ endpoint, health }, { status: "enabled" }, rules, decisionContext());
    expect(decision).toMatchObject({
      ok: true,
      result: { health: { ...fresh, last_success_at: proven.last_success_at } },
    });
  });
});
