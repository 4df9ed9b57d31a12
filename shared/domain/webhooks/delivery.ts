import { limits } from "../../limits.ts";
import type { DeliveryBody } from "../../schema/webhook.ts";
import { type Context, refuse } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Attempt, Delivery } from "../records/delivery.ts";
import type { WebhookEndpoint } from "../records/webhook.ts";
import type { SampleEvent } from "./webhook.ts";

/** An event as a delivery needs it. */
export interface DeliveredEvent {
  readonly id: string;
  readonly type: string;
  /** Null for a sample. */
  readonly sequence: number | null;
  readonly created_at: string;
}

/** Identifies a repetition and its origin; without it the delivery is the event's first to the endpoint. */
export interface Redelivery {
  /** Epoch milliseconds of the request: the same for a request that runs again. */
  readonly redelivery: number;
  readonly redelivery_of: string | null;
}

/**
 * A new delivery whose message is about to be sent; the sweep looks for it when it ought to have begun. `delayMs` turns
 * a business delay into real time.
 */
export function draftDelivery(
  id: string,
  endpoint: Pick<WebhookEndpoint, "id" | "tenant_id" | "epoch">,
  event: DeliveredEvent,
  now: string,
  delayMs: (seconds: number) => number,
  { redelivery, redelivery_of }: Redelivery = { redelivery: 0, redelivery_of: null },
): Delivery {
  const created = redelivery === 0 ? event.created_at : new Date(redelivery).toISOString();
  return {
    id,
    tenant_id: endpoint.tenant_id,
    endpoint_id: endpoint.id,
    endpoint_epoch: endpoint.epoch,
    event_id: event.id,
    event_type: event.type as Delivery["event_type"],
    event_sequence: event.sequence,
    redelivery,
    redelivery_of,
    status: "pending",
    attempt: 1,
    claims: 0,
    lease_until: null,
    next_attempt_at: now,
    wake_at: wakeOfSent(Date.parse(now), delayMs),
    first_attempt_at: null,
    last: null,
    created_at: created,
    updated_at: now,
    completed_at: null,
    version: 1,
    expires_at: Math.floor(Date.parse(now) / 1000) + limits.webhooks.delivery_kept_seconds,
  };
}

/**
 * A delivery as it is before its worker stores it, which is with its first write. No wake of its own is written for it:
 * its event is due until the sweep has seen that each of its deliveries has ended or has a wake (ADR 0045).
 */
export function unstored(draft: Delivery): Delivery {
  return { ...draft, wake_at: null, version: 0 };
}

/** Whether a delivery has no item yet, see {@link unstored}. */
export function isUnstored({ version }: Pick<Delivery, "version">): boolean {
  return version === 0;
}

/** Message about the next attempt, with the data to make a delivery that is not stored. */
interface MessageBody {
  readonly tenant_id: string;
  readonly delivery_id: string;
  readonly attempt: number;
  readonly returns: number;
  readonly event_id?: string;
  readonly endpoint_id?: string;
}

/** The message of the attempt that is next, with what it is sent by. */
export function messageOf(delivery: Delivery): { readonly body: MessageBody; readonly endpoint_id: string } {
  const { tenant_id, id: delivery_id, attempt, endpoint_id, event_id } = delivery;
  const body = { tenant_id, delivery_id, attempt, returns: 0 };
  return { body: isUnstored(delivery) ? { ...body, event_id, endpoint_id } : body, endpoint_id };
}

/** When the sweep looks for an attempt whose message shows in its queue at this moment: then it ought to be done. */
export function wakeOfSent(nextAttemptMs: number, delayMs: (seconds: number) => number): string {
  return new Date(nextAttemptMs + delayMs(limits.webhooks.lost_after_seconds)).toISOString();
}

/** When the sweep looks for an attempt that no queue can hold yet: in time to send it with the delay that is left. */
export function wakeOfWaiting(nextAttemptMs: number, delayMs: (seconds: number) => number): string {
  return new Date(nextAttemptMs - delayMs(limits.webhooks.sweep_horizon_seconds)).toISOString();
}

/** Action of the sweep on a delivery that is due. */
export type Wake =
  | { readonly do: "rest" }
  | { readonly do: "wait"; readonly wake_at: string }
  | {
      readonly do: "send";
      readonly queue: "deliver" | "retry_long";
      /** Whole business seconds, at most what a queue can hold. */
      readonly delay_seconds: number;
      readonly wake_at: string;
    };

/**
 * Decides what becomes of a delivery that the sweep finds due: one that waits for its time is sent ahead with the delay
 * that is left; one that ought to have been attempted has lost its message or its worker and is sent again. Either way
 * it is looked for again later, and not before: a sweep must not feed on its own backlog.
 */
export function wakeUp(delivery: Delivery, nowMs: number, delayMs: (seconds: number) => number): Wake {
  if (!isOpen(delivery)) return { do: "rest" };
  const leaseEnd = delivery.lease_until === null ? 0 : Date.parse(delivery.lease_until);
  if (leaseEnd > nowMs) return { do: "wait", wake_at: new Date(leaseEnd + delayMs(1)).toISOString() };
  const next = delivery.next_attempt_at === null ? nowMs : Date.parse(delivery.next_attempt_at);
  const delay_seconds = Math.max(0, Math.ceil((next - nowMs) / delayMs(1)));
  if (delay_seconds > limits.webhooks.sweep_horizon_seconds) {
    return { do: "wait", wake_at: wakeOfWaiting(next, delayMs) };
  }
  const again = new Date(nowMs + delayMs(limits.webhooks.sent_again_after_seconds)).toISOString();
  return {
    do: "send",
    queue: delivery.attempt === 1 ? "deliver" : "retry_long",
    delay_seconds,
    wake_at: delay_seconds > 0 ? wakeOfSent(next, delayMs) : again,
  };
}

/**
 * Whether a delivery may still be sent: its endpoint exists, is enabled, and was not switched off since the delivery
 * was made. A delivery that was skipped is never sent silently when its endpoint is switched on again.
 */
export function isWanted(delivery: Delivery, endpoint: WebhookEndpoint | undefined): boolean {
  return endpoint?.status === "enabled" && endpoint.epoch === delivery.endpoint_epoch;
}

/** Whether a delivery is on its way: it may be attempted, or cancelled. */
export function isOpen({ status }: Pick<Delivery, "status">): boolean {
  return status === "pending" || status === "retrying";
}

/** The delivery after its endpoint was switched off or deleted. */
export function cancelled(delivery: Delivery, now: string): Delivery {
  return {
    ...delivery,
    status: "cancelled",
    lease_until: null,
    next_attempt_at: null,
    wake_at: null,
    updated_at: now,
    completed_at: now,
    version: delivery.version + 1,
  };
}

/** The delivery as lists show it. */
export function deliveryBody(delivery: Delivery): DeliveryBody {
  const { id, endpoint_id, event_id, event_type, status, attempt, next_attempt_at, redelivery_of } = delivery;
  return {
    id,
    object: "delivery",
    endpoint_id,
    event_id,
    event_type,
    status,
    attempt,
    max_retries: limits.webhooks.retry_delays_seconds.length,
    next_attempt_at,
    redelivery_of,
    created_at: delivery.created_at,
    updated_at: delivery.updated_at,
    completed_at: delivery.completed_at,
    version: delivery.version,
    _links: {
      self: { href: `/v2/deliveries/${id}` },
      webhook_endpoint: { href: `/v2/webhook_endpoints/${endpoint_id}` },
      // A sample is in no list and at no address.
      ...(delivery.event_sequence === null ? {} : { event: { href: `/v2/events/${event_id}` } }),
    },
  };
}

/** The delivery with every attempt, in the order in which they were made. */
export function deliveryWithAttempts(delivery: Delivery, attempts: readonly Attempt[]): DeliveryBody {
  const ordered = attempts.toSorted((a, b) => a.number - b.number || a.claim - b.claim);
  return { ...deliveryBody(delivery), attempts: ordered };
}

const off = "The webhook endpoint is not enabled.";

/** A new delivery and its identifier, made from event, endpoint and repetition. */
export type NameDelivery = (eventId: string, endpointId: string, redelivery: number) => string;

/**
 * Decides `POST /deliveries/{id}/retry`: a new delivery of the same event, once the one before has ended.
 * `nameOf` makes the identifier, `delayMs` turns a business delay into real time.
 */
export function retryDelivery(
  delivery: Delivery,
  endpoint: WebhookEndpoint | undefined,
  event: DeliveredEvent | undefined,
  { nameOf, delayMs }: { nameOf: NameDelivery; delayMs: (seconds: number) => number },
  { now }: Context,
): Decision<Delivery> {
  if (isOpen(delivery)) {
    return refuse("illegal_transition", "The delivery is still on its way.", { extra: { allowed: [] } });
  }
  if (endpoint?.status !== "enabled") return refuse("webhook_endpoint_disabled", off);
  if (event === undefined) return refuse("not_found", "The event is not kept any more.");
  const again = { redelivery: Date.parse(now), redelivery_of: delivery.id };
  const id = nameOf(delivery.event_id, endpoint.id, again.redelivery);
  const made = draftDelivery(id, endpoint, event, now, delayMs, again);
  return { ok: true, result: made, changes: [{ op: "create", entity: "delivery", item: made }], events: [] };
}

/**
 * Decides `POST /webhook_endpoints/{id}/test` and `POST /sandbox/events/trigger`: a sample that goes to this endpoint
 * alone and is in no list.
 */
export function sendSample(
  endpoint: WebhookEndpoint,
  sample: Readonly<Record<string, unknown>> & { readonly type: SampleEvent["type"] },
  { nameOf, delayMs }: { nameOf: NameDelivery; delayMs: (seconds: number) => number },
  { now, newId, environment, actor, request_id }: Context,
): Decision<Delivery> {
  if (endpoint.status !== "enabled") return refuse("webhook_endpoint_disabled", off);
  const id = newId("evt");
  const event: SampleEvent = {
    id,
    tenant_id: endpoint.tenant_id,
    type: sample.type,
    created_at: now,
    payload: JSON.stringify({
      ...sample,
      id,
      synthetic: true,
      created_at: now,
      timestamp: now,
      environment,
      sequence: "0",
      actor,
      request_id,
      _links: {},
    }),
    expires_at: Math.floor(Date.parse(now) / 1000) + limits.webhooks.delivery_kept_seconds,
  };
  const made = draftDelivery(nameOf(id, endpoint.id, 0), endpoint, { ...event, sequence: null }, now, delayMs);
  return {
    ok: true,
    result: made,
    changes: [
      { op: "create", entity: "sample_event", item: event },
      { op: "create", entity: "delivery", item: made },
    ],
    events: [],
  };
}
