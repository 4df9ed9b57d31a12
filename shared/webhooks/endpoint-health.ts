import type { Probe, WebhookHealth } from "../domain/records/webhook.ts";
import type { AttemptOutcome } from "../domain/webhooks/attempt.ts";
import { closingAfter, creditAfter, isSilence, slotsOf } from "../domain/webhooks/lane.ts";
import { limits } from "../limits.ts";
import { delayMs } from "../runtime/clock.ts";
import { chance } from "../runtime/ids.ts";
import { rescheduled } from "../table/due.ts";
import { webhookHealths } from "../table/entities.ts";
import { type Condition, type ItemChange, isStill, isStored } from "../table/expression.ts";
import { type Changed, changeAndRead } from "../table/items.ts";

/** A place among the attempts of an endpoint that run at the same time. It ends by itself when its lease does. */
export interface Slot {
  readonly health: WebhookHealth;
  readonly delivery_id: string;
  readonly lease_until: string;
  /** Slots that the endpoint may grow to. */
  readonly most: number;
}

/** A slot that is asked for. */
export interface Wanted extends Omit<Slot, "health"> {
  /** RFC 3339. */
  readonly now: string;
}

/**
 * Takes a slot of the endpoint, and clears away those whose lease has ended. Undefined when all are taken, when this
 * delivery has one already, or when the endpoint is gone.
 */
export async function takeSlot(health: WebhookHealth, wanted: Wanted): Promise<Slot | undefined> {
  const { delivery_id, lease_until, most, now } = wanted;
  let current: WebhookHealth | undefined = health;
  // The item of an endpoint at work changes often: what a failed condition brings along is the newest.
  for (let tried = 0; current !== undefined && tried < most; tried += 1) {
    const slots = slotsOf(current, most, Date.parse(now), delayMs);
    if (!hasRoom(current, slots, delivery_id, now)) return undefined;
    const done = await updateHealth(current, slotTaking(current.slots, slots, wanted));
    if (done.ok) return { health: done.item, delivery_id, lease_until, most };
    current = done.item;
  }
  return undefined;
}

function hasRoom({ slots }: WebhookHealth, most: number, deliveryId: string, now: string): boolean {
  const live = Object.entries(slots).filter(([, until]) => until > now);
  return live.length < most && live.every(([id]) => id !== deliveryId);
}

/** Expected to be over by now: each is compared, so two workers never clear or take one twice. */
function slotTaking(
  slots: WebhookHealth["slots"],
  most: number,
  { delivery_id: deliveryId, lease_until: leaseUntil, now }: Wanted,
): ItemChange {
  const over = Object.keys(slots).filter((id) => (slots[id] ?? "") <= now && id !== deliveryId);
  const own = slots[deliveryId] === undefined ? 0 : 1;
  const isOver = (id: string) => ({ attribute: slotOf(id), is: "at_most", value: now }) as const;
  return {
    set: { [slotOf(deliveryId)]: leaseUntil },
    remove: over.map(slotOf),
    when: [
      { attribute: "slots", is: "size_at_most", value: most - 1 + own + over.length },
      own === 0 ? { attribute: slotOf(deliveryId), is: "absent" } : isOver(deliveryId),
      ...over.map(isOver),
    ],
  };
}

/** The path of the slot of a delivery. */
function slotOf(deliveryId: string): string {
  return `slots.${deliveryId}`;
}

/**
 * Notes that a delivery is the probe of its endpoint. When another worker has changed that meanwhile, what it made of
 * the health is returned, undefined when the endpoint is gone.
 */
export function noteProbe(health: WebhookHealth, probe: Probe): Promise<Changed<WebhookHealth>> {
  return updateHealth(health, { set: { probe }, when: isStill({ probe: health.probe }) });
}

/**
 * Notes that deliveries rest of an endpoint that was not closed, as a closing that is over: its next success wakes
 * them. Where another worker has noted a closing meanwhile, that says the same.
 */
export async function noteResting(health: WebhookHealth, at: string): Promise<void> {
  if (health.closed_until) return;
  await updateHealth(health, { set: { closed_until: at }, when: isStill({ closed_until: null }) });
}

/**
 * Meaning of an attempt for its endpoint: `slow` that it accepted and took long, `late` that it kept its worker from
 * others by that; `nothing` where the service itself broke off.
 */
export type Verdict = "accepted" | "slow" | "late" | "failed" | "unanswered" | "nothing";

/** The verdict of an attempt's outcome. */
export function verdictOf(outcome: AttemptOutcome): Verdict {
  if (outcome.error === null) {
    if (outcome.duration_ms >= limits.webhooks.late_answer_ms) return "late";
    return outcome.duration_ms < limits.webhooks.slow_answer_ms ? "accepted" : "slow";
  }
  if (outcome.error === "worker_crash") return "nothing";
  return isSilence(outcome) ? "unanswered" : "failed";
}

/**
 * Releases a slot and counts the outcome of its attempt, in one write. Returns the endpoint's new health, undefined
 * when the endpoint is gone. A slot that another worker has cleared meanwhile is left alone.
 */
export async function releaseSlot(slot: Slot, verdict: Verdict, at: string): Promise<WebhookHealth | undefined> {
  let current: WebhookHealth | undefined = slot.health;
  let held = true;
  for (let tried = 0; current !== undefined && tried < limits.commit.conflict_tries; tried += 1) {
    const change = slotRelease(slot, held, counted(verdict, slot, current, at));
    if (change === undefined) return current;
    const done = await updateHealth(current, change);
    if (done.ok) return done.item;
    current = done.item;
    held = current?.slots[slot.delivery_id] === slot.lease_until;
  }
  if (current !== undefined) throw new Error("The health of an endpoint is too contended.");
  return undefined;
}

function slotRelease({ delivery_id, lease_until }: Slot, held: boolean, change: ItemChange): ItemChange | undefined {
  if (!held) return change.set && change;
  const own: Condition = { attribute: slotOf(delivery_id), is: "equal", value: lease_until };
  return { ...change, remove: [slotOf(delivery_id)], when: [...(change.when ?? []), own] };
}

/**
 * Change by a verdict in addition to the slot. Several answers count at the same time, so that the credit is added to.
 * Attempts that fail together were begun with the same slots and halve them once, whichever is counted first: a failure
 * sets the credit only where it is still above half of what the attempt began with.
 */
function counted(verdict: Verdict, { health: taken, most }: Slot, health: WebhookHealth, at: string): ItemChange {
  const change = countings[verdict](health, at);
  if (verdict === "nothing") return change;
  const moment = { nowMs: Date.parse(at), delayMs };
  const full = Object.keys(taken.slots).length >= slotsOf(taken, most, moment.nowMs, delayMs);
  const begun = taken.slot_credit;
  const credit = creditAfter(health, { prompt: verdict === "accepted", full, most, begun }, moment);
  if (credit === undefined) return change;
  if ("add" in credit) return { ...change, add: { ...change.add, slot_credit: credit.add } };
  const isAbove: Condition = { attribute: "slot_credit", is: "above", value: credit.set };
  return { ...change, set: { ...change.set, slot_credit: credit.set }, when: [...(change.when ?? []), isAbove] };
}

const countings: Readonly<Record<Verdict, (health: WebhookHealth, at: string) => ItemChange>> = {
  nothing: () => ({}),
  accepted,
  slow: accepted,
  late: (health, at) => {
    const { set, ...rest } = accepted(health, at);
    return { ...rest, set: { ...set, proven_at: null } };
  },
  failed,
  unanswered: (health, at) => {
    const closing = closingAfter(health, { nowMs: Date.parse(at), delayMs, chance: chance() });
    const { set, when = [], ...rest } = failed(health, at);
    if (closing === undefined) return { ...rest, set, when };
    if ("proven_at" in closing) {
      return {
        ...rest,
        set: { ...set, proven_at: null },
        when: [...when, ...isStill({ proven_at: health.proven_at })],
      };
    }
    const { timeouts_in_a_row, closed_until } = closing;
    return {
      ...rest,
      set: { ...set, timeouts_in_a_row, closed_until },
      when: [...when, ...isStill({ closed_until: health.closed_until })],
    };
  },
};

function accepted(health: WebhookHealth, at: string): ItemChange {
  const set = {
    ...{ consecutive_failures: 0, first_failure_at: null, last_success_at: at, proven_at: at },
    ...{ timeouts_in_a_row: 0, closed_until: null, probe: null },
  };
  const when = isStill({ closed_until: health.closed_until });
  if (!health.closed_until) return { set, when };
  // Of an endpoint that was closed deliveries rest: the sweep finds it and wakes them, after any other note about it.
  return rescheduled(webhookHealths, health, { set: { ...set, reopened_at: at, wake_at: at }, when });
}

/** The attempt of the probe is over: another delivery may be the next one. */
function failed({ consecutive_failures: failures }: WebhookHealth, at: string): ItemChange {
  const seen = { last_failure_at: at, probe: null };
  const counter = "consecutive_failures";
  // The counter identifies the first failure after a success; a concurrent attempt may have changed it.
  return failures > 0
    ? { add: { [counter]: 1 }, set: seen, when: [{ attribute: counter, is: "above", value: 0 }] }
    : { set: { ...seen, [counter]: 1, first_failure_at: at }, when: isStill({ [counter]: 0 }) };
}

/**
 * Changes an endpoint's health, unless a condition fails or it is gone. An update that meets a transaction, such as a
 * person's retry or the removal of the endpoint, is sent again: without its outcome an attempt would be made twice.
 */
export function updateHealth(health: WebhookHealth, change: ItemChange): Promise<Changed<WebhookHealth>> {
  const when = [isStored, ...(change.when ?? [])];
  return changeAndRead<WebhookHealth>(webhookHealths.keyOf(health), { ...change, when }, "again");
}
