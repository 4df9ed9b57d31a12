import type { Attempt, Delivery } from "../domain/delivery.ts";
import { crashOf, type Outcome } from "../domain/delivery-attempt.ts";
import {
  inForce,
  type SampleEvent,
  type WebhookCount,
  type WebhookEndpoint,
  type WebhookHealth,
} from "../domain/webhook.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import type { DeliveryMessage } from "../runtime/queues.ts";
import { rescheduled } from "../table/due.ts";
import {
  attempts,
  deliveries,
  eventKeyOf,
  type PublishedEvent,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "../table/entities.ts";
import { type ItemChange, isStill } from "../table/expression.ts";
import { changeItem, changeVersion, putOnce } from "../table/items.ts";
import { readAll, readKeys } from "../table/store.ts";

/** Everything that an attempt needs to know; what is gone is undefined. */
export interface DeliveryState {
  readonly delivery: Delivery | undefined;
  /** As it stands, see {@link inForce}. */
  readonly endpoint: WebhookEndpoint | undefined;
  readonly health: WebhookHealth | undefined;
  readonly event: PublishedEvent | SampleEvent | undefined;
  /** Webhook endpoints of its brokerage. */
  readonly endpoints: number;
}

/** Reads what the messages are about, strongly consistent, in two rounds for all of them together. */
export async function loadDeliveries(messages: readonly DeliveryMessage[]): Promise<DeliveryState[]> {
  const keys = messages.map(({ tenant_id, delivery_id }) => deliveries.key(tenant_id, delivery_id));
  const found = await readAll(deliveries, keys);
  const related = found.flatMap((delivery) => {
    if (delivery === undefined) return [];
    const { tenant_id, endpoint_id } = delivery;
    return [
      webhooks.key(tenant_id, endpoint_id),
      webhookHealths.key(tenant_id, endpoint_id),
      eventKeyOf(delivery),
      webhookCounts.key(tenant_id),
    ];
  });
  const items = await readKeys(related);
  let at = 0;
  return found.map((delivery) => {
    if (delivery === undefined) {
      return { delivery, endpoint: undefined, health: undefined, event: undefined, endpoints: 0 };
    }
    const [endpoint, health, event, count] = items.slice(at, at + 4);
    at += 4;
    const { endpoints } = (count ?? { endpoints: limits.webhooks.max_endpoints }) as WebhookCount;
    return standing({ delivery, endpoint, health, event, endpoints } as DeliveryState);
  });
}

function standing(state: DeliveryState): DeliveryState {
  return { ...state, endpoint: state.endpoint && inForce(state.endpoint, state.health) };
}

/** Moves a delivery from one state to the next; false when somebody else has moved it. */
export function moveDelivery(before: Delivery, after: Delivery): Promise<boolean> {
  return changeVersion(deliveries, before, after, "again");
}

/**
 * Writes the entry of one claim of an attempt, once and for ever. Returns undefined, or the entry that was there: then
 * its worker died after it had written it.
 */
export function putAttempt(attempt: Attempt): Promise<Attempt | undefined> {
  return putOnce(attempts, attempt);
}

/** The entry of an attempt as it is stored. */
export function entryOf(delivery: Delivery, entry: Outcome & Pick<Attempt, "claim" | "response_excerpt">): Attempt {
  return {
    tenant_id: delivery.tenant_id,
    delivery_id: delivery.id,
    ...entry,
    expires_at: Math.floor(nowMs() / 1000) + limits.webhooks.delivery_kept_seconds,
  };
}

/**
 * Writes the entry of the claim that a delivery holds and whose worker died. Returns it, and the entry that was there
 * already, if one was.
 */
export async function putCrash(
  delivery: Delivery,
): Promise<{ readonly crash: Attempt; readonly found: Attempt | undefined }> {
  const crash = entryOf(delivery, crashOf(delivery));
  return { crash, found: await putAttempt(crash) };
}

/**
 * Lets the sweep look for a delivery later than it would have. Its version stays: nothing about the delivery changes,
 * and a worker that claims it at this moment must not fail.
 */
export async function postpone(delivery: Delivery, wakeAt: string): Promise<void> {
  await putOff(delivery, { set: { wake_at: wakeAt } });
}

/** The same for a delivery whose endpoint is closed: a success at the endpoint wakes it earlier. */
export async function letRest(delivery: Delivery, wakeAt: string): Promise<void> {
  await putOff(delivery, { set: { wake_at: wakeAt, resting: true } });
}

/** Moves the wake of a delivery as it was read; false when somebody else did, or began its next attempt. */
export function putOff(delivery: Delivery, change: Pick<ItemChange, "set" | "remove">): Promise<boolean> {
  const when = isStill({ wake_at: delivery.wake_at, attempt: delivery.attempt });
  return changeItem(deliveries.keyOf(delivery), rescheduled(deliveries, delivery, { ...change, when }));
}
