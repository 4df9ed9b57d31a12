import { type Delivery, draftDelivery, messageOf } from "../domain/delivery.ts";
import { atRest } from "../domain/delivery-lane.ts";
import { subscribes, type WebhookEndpoint, type WebhookHealth } from "../domain/webhook.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { chance } from "../runtime/ids.ts";
import { countMetric, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { type OutgoingDelivery, sendDeliveries } from "../runtime/queues.ts";
import { eventTypes } from "../schema/event-types.ts";
import { rescheduled, type SweepResult, sweepItems } from "../table/due.ts";
import { accounts, deliveries, deliveryId, events, type PublishedEvent } from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { changeItem, putOnce } from "../table/items.ts";
import { findAll } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { putNew } from "../table/write.ts";
import { healthsOf } from "./endpoint-reads.ts";

type Announced = Pick<PublishedEvent, "type" | "account_id">;

/**
 * Returns which of these endpoints an event is due to: those that are enabled and subscribe to it at this moment.
 * `groups` are those of accounts that were read before, by the account; what is read now is added.
 */
export async function subscribersOf(
  tenant: string,
  endpoints: readonly WebhookEndpoint[],
  announced: readonly Announced[],
  groups = new Map<string, string | null>(),
): Promise<(event: Announced) => readonly WebhookEndpoint[]> {
  const grouped = endpoints.some(({ status, group_ids }) => status === "enabled" && group_ids !== null);
  const ids = grouped ? new Set(announced.flatMap(({ account_id }) => (account_id === null ? [] : [account_id]))) : [];
  const keys = [...ids].filter((id) => !groups.has(id)).map((id) => accounts.key(tenant, id));
  for (const { id, group_id } of await findAll(accounts, keys)) groups.set(id, group_id);
  return ({ account_id, type }) => {
    const group_id = groups.get(account_id ?? "") ?? null;
    return endpoints.filter((endpoint) => subscribes(endpoint, { type, account_id, group_id }, eventTypes));
  };
}

/** What the caller of a fan-out knows. */
interface FanOutOptions {
  /** Health of the endpoints, where it has been read already. */
  readonly healths?: ReadonlyMap<string, WebhookHealth>;
  /** Whether these deliveries are most likely not there yet, so that many are created by one transaction. */
  readonly fresh?: boolean;
}

/**
 * Creates the deliveries of published events, sends their messages, and then removes the events from the due index.
 * Each delivery is put on the condition that it does not exist: a repetition creates nothing twice, changes no
 * delivery that a worker has begun, and sends a message again for one that no worker has. One whose endpoint is
 * closed rests from the start and has no message (ADR 0031).
 * @throws when a delivery could not be created; its event stays due
 */
export async function fanOut(published: readonly PublishedEvent[], options: FanOutOptions = {}): Promise<void> {
  const due = published.filter(({ endpoints }) => endpoints !== undefined && endpoints.length > 0);
  const pairs = due.flatMap((event) => (event.endpoints ?? []).map((endpoint) => ({ event, endpoint })));
  const addresses = pairs.map(({ event: { tenant_id }, endpoint: { id } }) => ({ tenant_id, endpoint_id: id }));
  const healths = options.healths ?? (await endpointHealths(addresses));
  const now = nowIso();
  const drafts = pairs.map(({ event, endpoint }) => {
    const id = deliveryId(event.id, endpoint.id, 0);
    const draft = draftDelivery(id, { ...endpoint, tenant_id: event.tenant_id }, event, now, delayMs);
    return { event, draft: atRest(draft, healths.get(endpoint.id), { nowMs: nowMs(), delayMs, chance: chance() }) };
  });
  const messages: OutgoingDelivery[] = [];
  const unfinished = new Set<PublishedEvent>();
  const failure = await createAll(drafts, options.fresh === true, {
    made: (delivery) => isUnbegun(delivery) && messages.push(messageOf(delivery)),
    failed: (event) => unfinished.add(event),
  }).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const finished = due.filter((event) => event.wake_at !== undefined && !unfinished.has(event));
  const clearing = inParallel(limits.webhooks.parallel_writes, finished, clearDue);
  // Nothing is under way any more when this ends, also when it fails.
  const [, cleared] = await Promise.allSettled([trySend(messages), clearing]);
  if (cleared.status === "rejected") throw cleared.reason;
  if (failure !== undefined) throw failure.error;
}

interface Draft {
  readonly event: PublishedEvent;
  readonly draft: Delivery;
}

/** Gets each delivery as it is stored, and the event of each that could not be created. */
interface Created {
  readonly made: (delivery: Delivery) => void;
  readonly failed: (event: PublishedEvent) => void;
}

/**
 * Creates deliveries: many fresh ones in one transaction, otherwise each by a put. A transaction that is cancelled has
 * created none of its deliveries, and each is put by itself.
 */
async function createAll(drafts: readonly Draft[], fresh: boolean, created: Created): Promise<void> {
  const { together_from, parallel_writes } = limits.webhooks;
  if (fresh && drafts.length >= together_from && (await createTogether(drafts))) {
    for (const { draft } of drafts) created.made(draft);
    return;
  }
  await inParallel(parallel_writes, drafts, async ({ event, draft }) => {
    try {
      created.made(await putDelivery(draft));
    } catch (error) {
      created.failed(event);
      throw error;
    }
  });
}

/** One transaction of new deliveries; false when it was not carried out, or when that is not known. */
async function createTogether(drafts: readonly Draft[]): Promise<boolean> {
  if (drafts.length > limits.commit.max_items) return false;
  const created = await transactOnce(drafts.map(({ draft }) => putNew(deliveries, draft))).catch(() => ({ ok: false }));
  return created.ok;
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
    log.warn("The health of endpoints was not read: every delivery has a message.", { error: (error as Error).name });
    return new Map();
  }
}

/** Whether a delivery waits for a worker: its message may have been lost. */
function isUnbegun({ status, attempt, claims, resting }: Delivery): boolean {
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
    log.error("Deliveries wait for the sweep: the queue did not take their messages.", {
      deliveries: messages.length,
      error: (error as Error).name,
    });
  }
}

/** Wakes the deliverer for a new delivery. */
export function wake(delivery: Delivery): Promise<void> {
  return trySend([messageOf(delivery)]);
}

/** Removes an event from the due index, once all its deliveries exist. */
async function clearDue(event: PublishedEvent): Promise<void> {
  const cleared = await changeItem(
    events.keyOf(event),
    rescheduled(events, event, { remove: ["wake_at"], when: [isStored] }),
  );
  if (!cleared) throw new Error("A published event is gone.");
}

/** Finds published events that lack deliveries, and creates them. Returns how many events that were. */
export function fanOutOverdue(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("EVENT", hasTime, {
    entity: events,
    isDue: ({ wake_at }) => wake_at !== undefined,
    run: async (event) => {
      await fanOut([event]);
      return 1;
    },
    report: ({ id }, { name }) => log.error("An event could not be delivered to all.", { event_id: id, error: name }),
  });
}
