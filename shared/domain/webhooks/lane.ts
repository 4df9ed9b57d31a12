import { limits } from "../../limits.ts";
import type { Delivery } from "../records/delivery.ts";
import type { Probe, WebhookHealth } from "../records/webhook.ts";
import type { AttemptOutcome } from "./attempt.ts";

/**
 * The two lanes of deliveries (ADR 0031). Each has workers of its own, so that a receiver that never answers cannot
 * hold those that the others need.
 */
export type Lane = "proven" | "unproven";

/** Turns business seconds into real milliseconds. */
type DelayMs = (seconds: number) => number;

/** The moment of a decision, and a random number from 0 up to 1 that spreads what follows from it. */
export interface LaneClock {
  readonly nowMs: number;
  readonly delayMs: DelayMs;
  readonly chance: number;
}

/**
 * Whether an endpoint is proven: it accepted something within the last day, and nothing was left unanswered since. A
 * failure that comes at once holds no worker and costs it nothing.
 */
export function isProven({ proven_at }: WebhookHealth, nowMs: number, delayMs: DelayMs): boolean {
  if (proven_at === null) return false;
  return nowMs - Date.parse(proven_at) < delayMs(limits.webhooks.proven_seconds);
}

/**
 * Slots that an endpoint may grow to: its part of what its brokerage may have, by the number of endpoints there, but
 * never less than it begins with (ADR 0031).
 */
export function mostSlots(tenantSlots: number, endpoints: number): number {
  const { slots_per_endpoint, slots_grown_max } = limits.webhooks;
  return Math.max(slots_per_endpoint, Math.min(slots_grown_max, Math.floor(tenantSlots / endpoints)));
}

/** Attempts that an endpoint may have at the same time, `most` at most (see {@link mostSlots}). */
export function slotsOf(health: WebhookHealth, most: number, nowMs: number, delayMs: DelayMs): number {
  return isProven(health, nowMs, delayMs) ? slotsFor(health.slot_credit, most) : limits.webhooks.slots_unproven;
}

/** Slots of a proven endpoint with this credit. */
function slotsFor(credit: number, most: number): number {
  const { slots_per_endpoint, slot_grows_after } = limits.webhooks;
  return Math.min(most, slots_per_endpoint + Math.floor(credit / slot_grows_after));
}

/** Effect of an attempt on the slots of its endpoint. */
export interface Pace {
  /** Whether the endpoint accepted, and in time. */
  readonly prompt: boolean;
  /** Whether all slots were taken while the attempt ran, so that the endpoint has use for more. */
  readonly full: boolean;
  readonly most: number;
  /** The credit that the attempt began with. */
  readonly begun: number;
}

/**
 * The credit for growth of an endpoint after an attempt: one more, or, by a failure, minus the credit for half of the
 * slots that the attempt began with, unless the credit is no more than that already; undefined when nothing changes. An
 * endpoint that is unproven begins again.
 */
export function creditAfter(
  health: WebhookHealth,
  { prompt, full, most, begun }: Pace,
  { nowMs, delayMs }: Pick<LaneClock, "nowMs" | "delayMs">,
): { readonly add: number } | { readonly set: number } | undefined {
  const { slot_credit: credit } = health;
  const { slots_per_endpoint, slot_grows_after } = limits.webhooks;
  if (!isProven(health, nowMs, delayMs)) return credit === 0 ? undefined : { set: 0 };
  if (prompt) return full && slotsFor(credit, most) < most ? { add: 1 } : undefined;
  const half = Math.max(slots_per_endpoint, Math.floor(slotsFor(begun, most) / 2));
  const halved = (half - slots_per_endpoint) * slot_grows_after;
  return credit <= halved ? undefined : { set: halved };
}

/** Action of a worker on a delivery that is due. */
export type Place =
  | { readonly do: "attempt" }
  | {
      readonly do: "move";
      readonly lane: Lane;
      /** Whole business seconds. */
      readonly delay_seconds: number;
      /** Set when the delivery has to take the endpoint's one place in the lane first. */
      readonly probe?: Probe;
    }
  /** The endpoint has another delivery in the lane, which may soon prove it. */
  | { readonly do: "come_back"; readonly delay_seconds: number }
  /** The endpoint was closed and has another delivery as its probe: no message is needed until that succeeds. */
  | { readonly do: "rest"; readonly closed_until: string };

/** A message as a worker has it. */
export interface Arrived {
  readonly delivery: Pick<Delivery, "id">;
  readonly lane: Lane;
  /** How often the message went back. */
  readonly returns: number;
}

/**
 * Decides where a delivery is attempted. Of an unproven endpoint one delivery at a time is let into the unproven lane:
 * the probe. So that lane never holds more messages than there are unproven endpoints, however many events they get.
 */
export function laneFor(arrived: Arrived, health: WebhookHealth, nowMs: number, delayMs: DelayMs): Place {
  const { delivery, lane, returns } = arrived;
  if (isProven(health, nowMs, delayMs)) {
    return lane === "proven" ? { do: "attempt" } : { do: "move", lane: "proven", delay_seconds: 0 };
  }
  const now = new Date(nowMs).toISOString();
  const { closed_until } = health;
  const closed = closed_until !== null && closed_until > now;
  if (isTaken(health, delivery.id, now)) {
    // One that was closed since its last success may be silent again: what rests costs no message until it answers.
    if (closed_until !== null) return { do: "rest", closed_until };
    return { do: "come_back", delay_seconds: comeBackSeconds(returns) };
  }
  if (!closed && lane === "unproven") return { do: "attempt" };
  const openMs = closed ? Date.parse(closed_until) : nowMs;
  const until = new Date(openMs + delayMs(limits.webhooks.probe_seconds)).toISOString();
  const own = health.probe?.delivery_id === delivery.id && health.probe.until > now;
  return {
    do: "move",
    lane: "unproven",
    delay_seconds: Math.ceil((openMs - nowMs) / delayMs(1)),
    ...(own ? {} : { probe: { delivery_id: delivery.id, until } }),
  };
}

/** Whether another delivery is the endpoint's probe or is being attempted. The slot of a dead worker ends by itself. */
function isTaken({ probe, slots }: WebhookHealth, deliveryId: string, now: string): boolean {
  if (probe && probe.delivery_id !== deliveryId && probe.until > now) return true;
  return Object.entries(slots).some(([id, until]) => id !== deliveryId && until > now);
}

/** A probe that succeeds takes a moment, one that does not takes ten seconds: the waits grow from one to the other. */
function comeBackSeconds(returns: number): number {
  return Math.min(2 ** returns, limits.webhooks.unproven_return_max_seconds);
}

/** Whether a failed attempt held its worker for long: nothing was answered, or something that came late. */
export function isSilence({ error, duration_ms }: Pick<AttemptOutcome, "error" | "duration_ms">): boolean {
  if (error === null || error === "worker_crash") return false;
  return error === "timeout" || duration_ms >= limits.webhooks.connect_timeout_ms;
}

/** Whether none of the attempts of an endpoint lasts longer than an answer in time: its slots are free in a moment. */
export function isPrompt({ slots }: Pick<WebhookHealth, "slots">, nowMs: number): boolean {
  const { lease_ms, slow_answer_ms } = limits.webhooks;
  return Object.values(slots).every((until) => nowMs - (Date.parse(until) - lease_ms) < slow_answer_ms);
}

/**
 * How long an endpoint is closed after so many unanswered attempts in a row, in business seconds: twice as long each
 * time and up to a quarter longer by `chance`, but never longer than `closed_max_seconds`.
 */
export function closingSeconds(timeouts: number, chance: number): number {
  const { closed_min_seconds, closed_max_seconds, closed_jitter_max } = limits.webhooks;
  const least = Math.min(closed_min_seconds * 2 ** (timeouts - 1), closed_max_seconds / (1 + closed_jitter_max));
  return least * (1 + closed_jitter_max * chance);
}

/** Members of an endpoint's health that say that it is unproven, or for how long it is closed. */
export type Closing = { readonly proven_at: null } | Pick<WebhookHealth, "timeouts_in_a_row" | "closed_until">;

/**
 * The state of an endpoint after an unanswered attempt. A proven one becomes unproven by it and no more; of several
 * attempts that ran concurrently only the first closes it. Undefined when nothing changes.
 */
export function closingAfter(health: WebhookHealth, { nowMs, delayMs, chance }: LaneClock): Closing | undefined {
  const { closed_until, timeouts_in_a_row: before } = health;
  if (isProven(health, nowMs, delayMs)) return { proven_at: null };
  if (closed_until !== null && Date.parse(closed_until) > nowMs) return undefined;
  const timeouts_in_a_row = before + 1;
  const until = new Date(Math.ceil(nowMs + delayMs(closingSeconds(timeouts_in_a_row, chance)))).toISOString();
  return { timeouts_in_a_row, closed_until: until };
}

/**
 * A new delivery: at rest, and with no message to send, when the first worker could only let it rest because the
 * endpoint was closed and has another delivery as its probe.
 */
export function atRest(draft: Delivery, health: WebhookHealth | undefined, moment: LaneClock): Delivery {
  if (health === undefined) return draft;
  const place = laneFor({ delivery: draft, lane: "proven", returns: 0 }, health, moment.nowMs, moment.delayMs);
  if (place.do !== "rest") return draft;
  return { ...draft, wake_at: restUntil(draft, place.closed_until, moment), resting: true };
}

/**
 * Whether the sweep leaves an overdue delivery of an endpoint at rest: one that was closed since its last success needs
 * one probe, which it gets, and a message for each of thousands would keep those waiting that come after them.
 */
export function restsOn(health: WebhookHealth | undefined, probeIsSent: boolean): boolean {
  return probeIsSent && Boolean(health?.closed_until);
}

/**
 * Until when a delivery rests whose endpoint is closed: to the end of the closing, for five minutes at least, and for a
 * quarter of the time by which it is late already, so that those of an endpoint that is gone for days cost little. A
 * success wakes them all, whatever they wait for. `chance` spreads them.
 */
export function restUntil(
  { next_attempt_at }: Pick<Delivery, "next_attempt_at">,
  closedUntil: string,
  { nowMs, delayMs, chance }: LaneClock,
): string {
  const { rest_spread_seconds, rest_min_seconds, rest_max_seconds } = limits.webhooks;
  const late = next_attempt_at === null ? 0 : Math.max(0, nowMs - Date.parse(next_attempt_at));
  const share = Math.max(delayMs(rest_min_seconds), Math.min(late / 4, delayMs(rest_max_seconds)));
  const rest = Math.max(Date.parse(closedUntil), nowMs + share);
  return new Date(Math.ceil(rest + chance * delayMs(rest_spread_seconds))).toISOString();
}
