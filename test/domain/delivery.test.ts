import { describe, expect, it } from "vitest";
import type { Delivery } from "../../shared/domain/records/delivery.ts";
import {
  cancelled,
  draftDelivery,
  isOpen,
  isWanted,
  messageOf,
  wakeOfSent,
  wakeOfWaiting,
  wakeUp,
} from "../../shared/domain/webhooks/delivery.ts";
import { autoDisabled, draftHealth } from "../../shared/domain/webhooks/webhook.ts";
import { decisionTime, someEndpoint, tenantId } from "../support/builders/decisions.ts";

const endpoint = someEndpoint({ epoch: 3, version: 4 });

const event = {
  id: "evt_01JD0000000000000000000001",
  type: "client.created",
  sequence: 1,
  created_at: "2026-11-21T06:29:59.000Z",
};

const realTime = (seconds: number) => seconds * 1000;
const draft = draftDelivery("dlv_01JD0000000000000000000001", endpoint, event, decisionTime, realTime);
const nowMs = Date.parse(decisionTime);

describe("a new delivery", () => {
  it("waits for its first attempt, is looked for a minute later and is kept 30 days", () => {
    expect(draft).toMatchObject({
      status: "pending",
      attempt: 1,
      claims: 0,
      next_attempt_at: decisionTime,
      wake_at: "2026-11-21T06:31:00.000Z",
      created_at: event.created_at,
      redelivery: 0,
      redelivery_of: null,
      expires_at: nowMs / 1000 + 30 * 24 * 3600,
    });
  });

  it("that repeats another one carries the moment it was asked for", () => {
    const asked = { redelivery: nowMs + 5, redelivery_of: draft.id };
    const again = draftDelivery("dlv_01JD0000000000000000000002", endpoint, event, decisionTime, realTime, asked);
    expect(again).toMatchObject({ ...asked, created_at: "2026-11-21T06:30:00.005Z", event_id: event.id });
  });
});

describe("the sweep looks for a delivery", () => {
  it("60 s after its message ought to have shown, or 15 min before a time that no queue can hold", () => {
    expect(wakeOfSent(nowMs, realTime)).toBe("2026-11-21T06:31:00.000Z");
    expect(wakeOfWaiting(nowMs, realTime)).toBe("2026-11-21T06:15:00.000Z");
    expect(wakeOfSent(nowMs, (seconds) => (seconds * 1000) / 600)).toBe("2026-11-21T06:30:00.100Z");
  });
});

const at = (seconds: number) => new Date(nowMs + seconds * 1000).toISOString();
const retrying: Delivery = { ...draft, status: "retrying", attempt: 4, next_attempt_at: at(600), wake_at: at(-300) };

describe("a delivery that the sweep finds due", () => {
  it.each<readonly [string, Partial<Delivery>, object]>([
    ["is let rest when it ended", { status: "succeeded" }, { do: "rest" }],
    ["is let rest when it was cancelled", { status: "cancelled" }, { do: "rest" }],
    ["is left to the worker that has it", { lease_until: at(7) }, { do: "wait", wake_at: at(8) }],
    ["waits when it was woken too early", { next_attempt_at: at(901) }, { do: "wait", wake_at: at(1) }],
    [
      "is sent ahead with exactly the delay that is left",
      {},
      { do: "send", queue: "retry_long", delay_seconds: 600, wake_at: at(660) },
    ],
    [
      "is sent with the longest delay of SQS at the horizon",
      { next_attempt_at: at(900) },
      { do: "send", queue: "retry_long", delay_seconds: 900, wake_at: at(960) },
    ],
    [
      "is never sent early: a begun second counts as a whole one",
      { next_attempt_at: new Date(nowMs + 1).toISOString() },
      { do: "send", queue: "retry_long", delay_seconds: 1, wake_at: "2026-11-21T06:31:00.001Z" },
    ],
    [
      "whose first message was lost goes to the first attempts again, and is left alone for a quarter of an hour",
      { ...draft, next_attempt_at: at(-61) },
      { do: "send", queue: "deliver", delay_seconds: 0, wake_at: at(900) },
    ],
    [
      "whose worker died is sent again at once",
      { lease_until: at(-1), next_attempt_at: null },
      { do: "send", queue: "retry_long", delay_seconds: 0, wake_at: at(900) },
    ],
  ])("%s", (_, fields, wake) => {
    expect(wakeUp({ ...retrying, ...fields }, nowMs, realTime)).toEqual(wake);
  });

  it("is sent with the unscaled delay where business time runs faster", () => {
    const faster = (seconds: number) => (seconds * 1000) / 600;
    const soon = { ...retrying, next_attempt_at: at(1) };
    expect(wakeUp(soon, nowMs, faster)).toMatchObject({ do: "send", delay_seconds: 600 });
  });

  it("is named by its identifiers alone in a message", () => {
    const body = { tenant_id: tenantId, delivery_id: draft.id, attempt: 4, returns: 0 };
    expect(messageOf(retrying)).toEqual({ body, endpoint_id: endpoint.id });
  });
});

describe("a delivery is not sent", () => {
  it.each([
    ["to a deleted endpoint", { ...endpoint, status: "deleted" as const }],
    ["to an endpoint that is gone", undefined],
    ["to a disabled endpoint", { ...endpoint, status: "disabled" as const }],
    ["to one that the service switched off", autoDisabled(endpoint, "answered 410", decisionTime)],
    ["to one that was switched off and on since", { ...endpoint, epoch: 4 }],
  ])("%s", (_, now) => {
    expect(isWanted(draft, now)).toBe(false);
    expect(isWanted(draft, endpoint)).toBe(true);
  });

  it("once it ended, and a cancelled one has nothing left to wake it", () => {
    const ended: Delivery = cancelled(draft, decisionTime);
    expect([draft, { status: "retrying" as const }].map(isOpen)).toEqual([true, true]);
    for (const status of ["succeeded", "exhausted", "cancelled"] as const) expect(isOpen({ status })).toBe(false);
    expect(ended).toMatchObject({ status: "cancelled", wake_at: null, next_attempt_at: null, version: 2 });
  });
});

describe("an endpoint that the service switches off", () => {
  it("says why, is due at once for its open deliveries, and its health begins empty", () => {
    expect(autoDisabled(endpoint, "answered 410", decisionTime)).toEqual({
      ...endpoint,
      status: "auto_disabled",
      disabled_reason: "answered 410",
      wake_at: decisionTime,
      version: 5,
    });
    expect(draftHealth(endpoint)).toMatchObject({ endpoint_id: endpoint.id, consecutive_failures: 0, slots: {} });
  });
});
