import type { Delivery } from "../domain/records/delivery.ts";
import type { WebhookEndpoint, WebhookHealth } from "../domain/records/webhook.ts";
import { draftDelivery, messageOf, unstored } from "../domain/webhooks/delivery.ts";
import { atRest } from "../domain/webhooks/lane.ts";
import { subscribes } from "../domain/webhooks/webhook.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { chance } from "../runtime/ids.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { type OutgoingDelivery, sendDeliveries } from "../runtime/queues.ts";
import { readable, UnreadableItem } from "../runtime/unreadable.ts";
import { eventTypes } from "../schema/event-types.ts";
import { accounts, deliveries, deliveryId, type PublishedEvent } from "../table/entities.ts";
import { putOnce } from "../table/items.ts";
import { readEach } from "../table/store.ts";
import { healthsOf } from "./endpoint-reads.ts";

type Announced = Pick<PublishedEvent, "type" | "account_id">;

/** The endpoints that events are due to. */
export interface Subscribers {
  readonly of: (event: Announced) => readonly WebhookEndpoint[];
  /** An account that cannot be read, so that no endpoint gets its events that filters by groups. */
  readonly unreadable: UnreadableItem | undefined;
}

/**
 * Returns which of these endpoints an event is due to: those that are enabled and subscribe to it at this moment.
 * `groups` are those of accounts that were read before, by the account; what is read now is added.
 */
export async function subscribersOf(
  tenant: string,
  endpoints: readonly WebhookEndpoint[],
  announced: readonly Announced[],
  groups = new Map<string, string | null>(),
): Promise<Subscribers> {
  const grouped = endpoints.some(({ status, group_ids }) => status === "enabled" && group_ids !== null);
  const ids = grouped ? new Set(announced.flatMap(({ account_id }) => (account_id === null ? [] : [account_id]))) : [];
  const keys = [...ids].filter((id) => !groups.has(id)).map((id) => accounts.key(tenant, id));
  const found = await readEach(keys, { kind: accounts });
  for (const account of found) {
    if (account !== undefined && !(account instanceof UnreadableItem)) groups.set(account.id, account.group_id);
  }
  return {
    of: ({ account_id, type }) => {
      const group_id = groups.get(account_id ?? "") ?? null;
      return endpoints.filter((endpoint) => subscribes(endpoint, { type, account_id, group_id }, eventTypes));
    },
    unreadable: found.find((account) => account instanceof UnreadableItem),
  };
}

/** Options of a fan-out. */
interface FanOutOptions {
  /** Health of the endpoints, where it has been read already. */
  readonly healths?: ReadonlyMap<string, WebhookHealth>;
  /** Whether this was begun before, so that what a worker has by now needs no message. */
  readonly again?: boolean;
}

/**
 * Sends the messages of the deliveries of published events; a delivery is stored by the worker that gets its message.
 * One whose endpoint is closed rests: it is stored here and has no message (ADR 0031). Whatever fails or is lost, the
 * events stay due until the sweep has seen to each of their deliveries (ADR 0045).
 * @throws when a delivery that rests could not be stored
 */
export async function fanOut(published: readonly PublishedEvent[], options: FanOutOptions = {}): Promise<void> {
  const drafts = deliveriesOf(published);
  const healths = options.healths ?? (await endpointHealths(drafts));
  const stored = options.again === true ? await readEach(drafts.map(deliveries.keyOf), { kind: deliveries }) : [];
  const fresh = drafts.filter((_, place) => stored[place] === undefined);
  const resting = fresh.flatMap((draft) => restingOf(draft, healths) ?? []);
  const rests = new Set(resting.map(({ id }) => id));
  const waiting = [
    ...fresh.filter(({ id }) => !rests.has(id)).map(unstored),
    ...readable(stored.filter((delivery) => delivery !== undefined)).filter(isUnbegun),
  ];
  const putting = inParallel(limits.webhooks.parallel_writes, resting, async (delivery) => {
    await putDelivery(delivery);
  });
  // Nothing is under way any more when this ends, also when it fails.
  const traces = new Map(published.map(({ id, trace_id }) => [id, trace_id]));
  const messages = waiting.map((each) => ({ ...messageOf(each), trace_id: traces.get(each.event_id) }));
  const [, put] = await Promise.allSettled([trySend(messages), putting]);
  if (put.status === "rejected") throw put.reason;
}

/** The first delivery of each event to each endpoint that it is due to, as it would be stored now. */
export function deliveriesOf(published: readonly PublishedEvent[]): readonly Delivery[] {
  const now = nowIso();
  return published.flatMap((event) =>
    (event.endpoints ?? []).map((endpoint) => {
      const id = deliveryId(event.id, endpoint.id, 0);
      return draftDelivery(id, { ...endpoint, tenant_id: event.tenant_id }, event, now, delayMs);
    }),
  );
}

/** The delivery at rest where its endpoint is closed, see {@link atRest}. */
export function restingOf(draft: Delivery, healths: ReadonlyMap<string, WebhookHealth>): Delivery | undefined {
  const delivery = atRest(draft, healths.get(draft.endpoint_id), { nowMs: nowMs(), delayMs, chance: chance() });
  return delivery.resting === true ? delivery : undefined;
}

/**
 * The health of endpoints, by their identifiers. It only saves messages, so a read that fails delays nothing: without a
 * health every delivery has a message, and its worker reads the health.
 */
export async function endpointHealths(
  endpoints: readonly { readonly tenant_id: string; readonly endpoint_id: string }[],
): Promise<ReadonlyMap<string, WebhookHealth>> {
  try {
    return await healthsOf(endpoints);
  } catch (error) {
    log.warn("The health of endpoints could not be read; all deliveries are queued.", causeOf(error));
    return new Map();
  }
}

/** Whether a stored delivery waits for a worker: its message may have been lost. */
export function isUnbegun({ status, attempt, claims, resting }: Delivery): boolean {
  return status === "pending" && attempt === 1 && claims === 0 && resting !== true;
}

/** Puts a delivery unless it exists, and returns the stored one. */
export async function putDelivery(draft: Delivery): Promise<Delivery> {
  return (await putOnce(deliveries, draft)) ?? draft;
}

/** Sends first messages. A queue that rejects them is no error: the sweep finds the deliveries by their time. */
export async function trySend(messages: readonly OutgoingDelivery[]): Promise<void> {
  if (messages.length === 0) return;
  try {
    await sendDeliveries("deliver", messages);
  } catch (error) {
    countMetric("DeliveryMessageFailed");
    log.error("Deliveries could not be queued; the sweep retries them.", {
      deliveries: messages.length,
      ...causeOf(error),
    });
  }
}

/** Wakes the deliverer for a new delivery. */
export function wake(delivery: Delivery): Promise<void> {
  return trySend([messageOf(delivery)]);
}
