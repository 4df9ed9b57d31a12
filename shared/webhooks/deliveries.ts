import type { Attempt, Delivery } from "../domain/records/delivery.ts";
import type { WebhookCount, WebhookEndpoint, WebhookHealth } from "../domain/records/webhook.ts";
import { type AttemptOutcome, crashOf } from "../domain/webhooks/attempt.ts";
import { draftDelivery, isOpen, isUnstored, unstored } from "../domain/webhooks/delivery.ts";
import { inForce, type SampleEvent } from "../domain/webhooks/webhook.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import type { DeliveryMessage } from "../runtime/queues.ts";
import { UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import { rescheduled } from "../table/due.ts";
import {
  attempts,
  deliveries,
  deliveryId,
  eventKeyOf,
  events,
  type Key,
  type PublishedEvent,
  readTrace,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "../table/entities.ts";
import { type EventPayload, payloadOf } from "../table/event-payload.ts";
import { type ItemChange, isNew, isStill } from "../table/expression.ts";
import { changeOnce, changeVersion, putItem, putOnce } from "../table/items.ts";
import { identityOf, readEach } from "../table/store.ts";

/** Everything that an attempt needs to know; what is gone is undefined. */
export interface DeliveryState {
  readonly delivery: Delivery | undefined;
  /** As it stands, see {@link inForce}. */
  readonly endpoint: WebhookEndpoint | undefined;
  readonly health: WebhookHealth | undefined;
  readonly payload: EventPayload | undefined;
  /** Trace of the commit of the event, in the form of X-Ray. */
  readonly trace_id?: string;
  /** Webhook endpoints of its brokerage. */
  readonly endpoints: number;
  /** An item among these that cannot be read: what follows from them cannot be told. */
  readonly unreadable?: UnreadableItem | undefined;
}

/**
 * Reads what the messages are about, strongly consistent, for all of them together: in one round where they say their
 * event and endpoint, in two otherwise. A delivery that is not stored yet is made from its event. One that cannot be
 * read is none: it stays due, and the sweep finds it when it is well.
 */
export async function loadDeliveries(messages: readonly DeliveryMessage[]): Promise<DeliveryState[]> {
  const found = new Map<string, unknown>();
  const read = async (keys: readonly Key[]) => {
    const wanted = keys.filter((key) => !found.has(identityOf(key)));
    const items = await readEach(wanted);
    for (const [at, key] of wanted.entries()) found.set(identityOf(key), items[at]);
  };
  const itemAt = (key: Key) => found.get(identityOf(key));
  const keyOf = ({ tenant_id, delivery_id }: DeliveryMessage) => deliveries.key(tenant_id, delivery_id);
  const ahead = messages.flatMap((message) => (namesEvent(message) ? relatedKeys(subjectOf(message)) : []));
  await read([...messages.map(keyOf), ...ahead]);
  const known = messages.map((message) => {
    const stored = itemAt(keyOf(message)) as Delivery | UnreadableItem | undefined;
    if (stored instanceof UnreadableItem) return undefined;
    if (stored !== undefined || !namesEvent(message)) return stored;
    const event = itemAt(eventKeyOf(subjectOf(message))) as PublishedEvent | UnreadableItem | undefined;
    return event instanceof UnreadableItem ? undefined : ofEvent(message, event);
  });
  await read(known.flatMap((delivery) => (delivery === undefined ? [] : relatedKeys(delivery))));
  return Promise.all(
    known.map(async (delivery) => {
      if (delivery === undefined) {
        return { delivery, endpoint: undefined, health: undefined, payload: undefined, endpoints: 0 };
      }
      const [endpoint, health, event, count] = relatedKeys(delivery).map(itemAt);
      const payload = event instanceof UnreadableItem ? event : await unlessUnreadable(payloadFor(event, delivery));
      const unreadable = [endpoint, health, payload].find((item) => item instanceof UnreadableItem);
      // How many endpoints there are only bounds how much is done at a time.
      const counted = count instanceof UnreadableItem ? undefined : count;
      const { endpoints } = (counted ?? { endpoints: limits.webhooks.max_endpoints }) as WebhookCount;
      if (unreadable !== undefined) {
        return { delivery, endpoint: undefined, health: undefined, payload: undefined, endpoints, unreadable };
      }
      const traced = readTrace({ ...(event ?? {}) });
      return standing({ delivery, endpoint, health, payload, endpoints, ...traced } as DeliveryState);
    }),
  );
}

async function payloadFor(event: unknown, { tenant_id }: Delivery): Promise<EventPayload | undefined> {
  return event === undefined ? undefined : payloadOf(event as PublishedEvent | SampleEvent, tenant_id);
}

/** Members of a delivery that locate the items of its attempt. */
type Subject = Pick<Delivery, "tenant_id" | "endpoint_id" | "event_id" | "event_sequence">;

function relatedKeys(subject: Subject): readonly Key[] {
  const { tenant_id, endpoint_id } = subject;
  return [
    webhooks.key(tenant_id, endpoint_id),
    webhookHealths.key(tenant_id, endpoint_id),
    eventKeyOf(subject),
    webhookCounts.key(tenant_id),
  ];
}

type NamingMessage = DeliveryMessage & Required<Pick<DeliveryMessage, "event_id" | "endpoint_id">>;

function namesEvent(message: DeliveryMessage): message is NamingMessage {
  return message.event_id !== undefined && message.endpoint_id !== undefined;
}

/** A published event has a number, which its identifier carries. */
function subjectOf({ tenant_id, endpoint_id, event_id }: NamingMessage): Subject {
  return { tenant_id, endpoint_id, event_id, event_sequence: 0 };
}

/** The delivery of an event to one of the endpoints that it is due to; undefined for any other. */
function ofEvent(message: NamingMessage, event: PublishedEvent | undefined): Delivery | undefined {
  const { tenant_id, delivery_id, event_id, endpoint_id } = message;
  if (event === undefined || deliveryId(event_id, endpoint_id, 0) !== delivery_id) return undefined;
  const { endpoints = event.endpoints } = events.fromStored({ ...event });
  const endpoint = endpoints?.find(({ id }) => id === endpoint_id);
  return endpoint && unstored(draftDelivery(delivery_id, { ...endpoint, tenant_id }, event, nowIso(), delayMs));
}

function standing(state: DeliveryState): DeliveryState {
  return { ...state, endpoint: state.endpoint && inForce(state.endpoint, state.health) };
}

/**
 * Moves a delivery from one state to the next, or stores it first; false when another worker has done so. A claim that
 * is there already is this worker's, from a put whose answer was lost: no other one has the slot of the delivery.
 */
export async function moveDelivery(before: Delivery, after: Delivery): Promise<boolean> {
  if (!isUnstored(before)) return changeVersion(deliveries, before, after, "again");
  const stored = await putOnce(deliveries, after);
  if (stored === undefined) return true;
  const { version, lease_until, updated_at } = stored;
  return version === after.version && lease_until === after.lease_until && updated_at === after.updated_at;
}

/**
 * Writes the entry of one claim of an attempt, once and for ever. Returns undefined, or the entry that was there: then
 * its worker died after it had written it.
 */
export function putAttempt(attempt: Attempt): Promise<Attempt | undefined> {
  return putOnce(attempts, attempt);
}

/** The entry of an attempt as it is stored. */
export function entryOf(
  delivery: Delivery,
  entry: AttemptOutcome & Pick<Attempt, "claim" | "response_excerpt">,
): Attempt {
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

/** Lets the sweep look again in a while whether what an attempt needs can be read by then: no attempt is used up. */
export async function waitUntilWell(delivery: Delivery | undefined, attempt: number): Promise<void> {
  if (delivery === undefined || !isOpen(delivery) || delivery.attempt !== attempt) return;
  await postpone(delivery, new Date(nowMs() + delayMs(limits.webhooks.sent_again_after_seconds)).toISOString());
}

/** The same for a delivery whose endpoint is closed: a success at the endpoint wakes it earlier. */
export async function letRest(delivery: Delivery, wakeAt: string): Promise<void> {
  await putOff(delivery, { set: { wake_at: wakeAt, resting: true } });
}

/**
 * Moves the wake of a delivery as it was read, or stores it with that wake; false when another worker or sweep did, or
 * began its next attempt.
 */
export function putOff(delivery: Delivery, change: Pick<ItemChange, "set" | "remove">): Promise<boolean> {
  if (isUnstored(delivery)) return putItem(deliveries, { ...delivery, ...change.set, version: 1 }, [isNew]);
  const { attempt } = delivery;
  const when = isStill({ wake_at: delivery.wake_at, attempt });
  const isDone = (stored: Delivery) => stored.wake_at === change.set?.["wake_at"] && stored.attempt === attempt;
  return changeOnce(deliveries.keyOf(delivery), rescheduled(deliveries, delivery, { ...change, when }), isDone);
}
