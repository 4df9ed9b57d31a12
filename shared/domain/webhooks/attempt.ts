import { limits } from "../../limits.ts";
import type { Attempt, Delivery } from "../records/delivery.ts";
import type { WebhookEndpoint, WebhookHealth } from "../records/webhook.ts";
import { isOpen, isWanted, wakeOfSent, wakeOfWaiting } from "./delivery.ts";

/** Result of an attempt, as its delivery keeps it. */
export type AttemptOutcome = NonNullable<Delivery["last"]>;

/** Action of a worker on a message. */
export type Task =
  /** The message is old, repeated or of no delivery: another message has the rest of the work. */
  | "drop"
  /** The endpoint was switched off or deleted. */
  | "cancel"
  | "attempt"
  /** A worker claimed this attempt and died. */
  | "record_crash"
  | { readonly early_ms: number };

/**
 * Decides what to do with a message: one of an attempt that is over, that another worker has, or of another number is
 * dropped; one that is early waits.
 */
export function taskOf(
  delivery: Delivery | undefined,
  endpoint: WebhookEndpoint | undefined,
  attempt: number,
  nowMs: number,
): Task {
  if (delivery === undefined || !isOpen(delivery) || delivery.attempt !== attempt) return "drop";
  if (isLeased(delivery, nowMs)) return "drop";
  if (!isWanted(delivery, endpoint)) return "cancel";
  if (delivery.lease_until !== null) return "record_crash";
  const early = delivery.next_attempt_at === null ? 0 : Date.parse(delivery.next_attempt_at) - nowMs;
  return early > 0 ? { early_ms: early } : "attempt";
}

function isLeased({ lease_until }: Delivery, nowMs: number): boolean {
  return lease_until !== null && Date.parse(lease_until) > nowMs;
}

/**
 * The delivery while a worker has it. The sweep looks for it when the lease has ended, at the earliest; a wake that is
 * later anyway stays, because moving it costs two writes of the due index. Without a wake its event is looked at.
 */
export function claimed(delivery: Delivery, now: string, leaseUntil: string): Delivery {
  const { wake_at, first_attempt_at } = delivery;
  return {
    ...delivery,
    claims: delivery.claims + 1,
    lease_until: leaseUntil,
    wake_at: wake_at === null || wake_at >= leaseUntil ? wake_at : leaseUntil,
    first_attempt_at: first_attempt_at ?? now,
    updated_at: now,
    version: delivery.version + 1,
  };
}

/** The entry of a claim whose worker died: it may have posted, and the answer is unknown. */
export function crashOf(delivery: Delivery): AttemptOutcome & Pick<Attempt, "claim" | "response_excerpt"> {
  const { lease_ms } = limits.webhooks;
  const until = Date.parse(delivery.lease_until ?? delivery.updated_at);
  return {
    number: delivery.attempt,
    claim: delivery.claims,
    at: new Date(until - lease_ms).toISOString(),
    duration_ms: lease_ms,
    http_status: null,
    error: "worker_crash",
    response_excerpt: null,
  };
}

/** When the next attempt is, and whether a message in a queue will wake it; else the sweep does. */
export interface NextTry {
  readonly attempt: number;
  readonly delay_seconds: number;
  readonly queued: boolean;
}

/**
 * The delivery after an attempt: done when it was accepted, waiting for the next one, or given up. `delayMs` turns a
 * business delay into real time.
 */
export function recorded(
  delivery: Delivery,
  outcome: AttemptOutcome,
  next: NextTry | undefined,
  now: string,
  delayMs: (seconds: number) => number,
): Delivery {
  const { number, at, duration_ms, http_status, error } = outcome;
  const after: Delivery = {
    ...delivery,
    lease_until: null,
    last: { number, at, duration_ms, http_status, error },
    next_attempt_at: null,
    wake_at: null,
    updated_at: now,
    completed_at: now,
    version: delivery.version + 1,
  };
  if (error === null) return { ...after, status: "succeeded" };
  if (http_status === gone) return { ...after, status: "cancelled" };
  if (next === undefined) return { ...after, status: "exhausted" };
  // Rounded up: an attempt is never early, not by a part of a millisecond.
  const nextMs = Math.ceil(Date.parse(now) + delayMs(next.delay_seconds));
  return {
    ...after,
    status: "retrying",
    attempt: next.attempt,
    claims: 0,
    next_attempt_at: new Date(nextMs).toISOString(),
    wake_at: next.queued ? wakeOfSent(nextMs, delayMs) : wakeOfWaiting(nextMs, delayMs),
    completed_at: null,
  };
}

/** The status by which a receiver says that it will never be there again (RFC 9110 15.5.11). */
export const gone = 410;

/** Why the service switches an endpoint off, undefined when it does not. */
export function reasonToSwitchOff(health: WebhookHealth, delayMs: (seconds: number) => number): string | undefined {
  const { auto_disable_after_seconds, auto_disable_min_failures, auto_disable_min_span_seconds } = limits.webhooks;
  const { consecutive_failures: failures, first_failure_at: first, last_failure_at: last } = health;
  if (first === null || last === null || failures < auto_disable_min_failures) return undefined;
  const span = Date.parse(last) - Date.parse(first);
  const long = span >= delayMs(auto_disable_after_seconds) && span >= delayMs(auto_disable_min_span_seconds);
  return long ? `Every attempt since ${first} failed, ${failures} in a row.` : undefined;
}
