import type { Delivery } from "../domain/records/delivery.ts";
import type { WebhookEndpoint, WebhookHealth } from "../domain/records/webhook.ts";
import { cancelled, isOpen, isWanted, messageOf, type Wake, wakeUp } from "../domain/webhooks/delivery.ts";
import { restsOn, restUntil } from "../domain/webhooks/lane.ts";
import { healthsOf } from "../events/endpoint-reads.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { chance } from "../runtime/ids.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { type DeliveryQueue, type OutgoingDelivery, sendDeliveries } from "../runtime/queues.ts";
import { dueItems, isDue, rescheduled, type SweepResult, sweepItems, sweepKeys } from "../table/due.ts";
import { deliveries, type Key, webhookHealths, webhooks } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeItem, deleteItem } from "../table/items.ts";
import { keyIn, type PartitionPage, pagesOf } from "../table/partition.ts";
import { findReadable } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { transactOnce } from "../table/transact.ts";
import { updateItem } from "../table/write.ts";
import { letRest, putCrash, putOff } from "./deliveries.ts";

/**
 * Wakes the deliveries that are due: those whose time comes within the horizon, and those whose message or worker was
 * lost. Each is put off and then sent, so two sweeps at once send it once. Returns how many messages were sent, and how
 * many deliveries could not be woken.
 */
export function wakeDeliveries(hasTime: () => boolean): Promise<SweepResult> {
  const wake = async (keys: readonly Key[]) => {
    const { items, unreadable } = await dueItems(deliveries, keys);
    const { done, failed } = await wakeAll(items.filter(isDue));
    return { done, failed: failed + unreadable };
  };
  // In small steps: what is put off and not sent, because the function ends, waits for its next wake.
  return sweepKeys("DLV", hasTime, wake, { atOnce: limits.events.due_page });
}

/**
 * Puts deliveries off and sends their messages; of an endpoint that is closed only the first. `delayOf` says how many
 * seconds a message is held back by its place.
 */
export async function wakeAll(due: readonly Delivery[], delayOf = (_place: number) => 0): Promise<SweepResult> {
  const messages: { queue: DeliveryQueue; message: OutgoingDelivery }[] = [];
  let failed = 0;
  // Those of an endpoint that waited together are sent in the order of their events.
  const inOrder = due.toSorted((a, b) => (a.event_sequence ?? 0) - (b.event_sequence ?? 0));
  const healths = await healthsOf(due);
  const probed = new Set<string>();
  await inParallel(limits.webhooks.parallel_writes, [...inOrder.entries()], async ([place, delivery]) => {
    const { endpoint_id } = delivery;
    const wake = wakeUp(delivery, nowMs(), delayMs);
    const overdue = wake.do === "send" && wake.delay_seconds === 0;
    const health = healths.get(endpoint_id);
    if (overdue && restsOn(health, probed.has(endpoint_id))) return restOn(delivery, health);
    if (overdue) probed.add(endpoint_id);
    const message = await wakeOne(delivery, overdue ? heldBack(wake, delayOf(place)) : wake);
    if (message !== undefined) messages[place] = message;
  }).catch((error: unknown) => {
    failed += 1;
    log.error("Deliveries could not be checked by the sweep.", causeOf(error));
  });
  return { done: await sendAll(messages.filter(Boolean)), failed };
}

/** A delivery that is held back goes to the queue of long waits: in the queue of first attempts it would look late. */
function heldBack(wake: Extract<Wake, { do: "send" }>, delay_seconds: number): Wake {
  const wakeAt = new Date(Date.parse(wake.wake_at) + delayMs(delay_seconds)).toISOString();
  return { ...wake, queue: delay_seconds > 0 ? "retry_long" : wake.queue, delay_seconds, wake_at: wakeAt };
}

function restOn(delivery: Delivery, health: WebhookHealth | undefined): Promise<void> {
  const until = restUntil(delivery, health?.closed_until ?? nowIso(), { nowMs: nowMs(), delayMs, chance: chance() });
  return letRest(delivery, until);
}

/**
 * Wakes what rests of an endpoint that was closed and accepted something since, page by page within the function's
 * time, and at the pace of the endpoint: all at once they would keep those waiting that come after them. A delivery
 * that was woken rests no more, so a sweep that goes on sends nothing twice. Returns whether all of them are awake, and
 * the seconds after which the messages that were sent are through.
 */
export async function wakeResting(
  tenant: string,
  endpointId: string,
  hasTime: () => boolean,
): Promise<{ readonly whole: boolean; readonly seconds: number }> {
  const { max_delay_seconds } = limits.queues;
  let whole = true;
  let woken = 0;
  const secondsAt = (place: number) => Math.floor(place / limits.webhooks.woken_per_second);
  const spent = () => !hasTime() || secondsAt(woken + limits.events.due_page) > max_delay_seconds;
  for (const partition of deliveries.ofEndpoint(tenant, endpointId, ["pending", "retrying"])) {
    if (spent()) return { whole: false, seconds: secondsAt(woken) };
    for await (const page of pagesOf(partition, openPages)) {
      const first = woken;
      const resting = (await deliveriesOn(page)).filter((item) => item.resting === true);
      const { failed } = await wakeAll(resting, (place) => secondsAt(first + place));
      woken += resting.length;
      whole &&= failed === 0;
      if (page.next !== undefined && spent()) return { whole: false, seconds: secondsAt(woken) };
    }
  }
  return { whole, seconds: secondsAt(woken) };
}

/** Moves the wake of a delivery on, and returns the message to send if this sweep was the one that did so. */
async function wakeOne(
  delivery: Delivery,
  wake: Wake,
): Promise<{ queue: DeliveryQueue; message: OutgoingDelivery } | undefined> {
  const wake_at = wake.do === "rest" ? null : wake.wake_at;
  if (!(await putOff(delivery, { set: { wake_at }, remove: ["resting"] }))) return undefined;
  if (wake.do !== "send") return undefined;
  return { queue: wake.queue, message: { ...messageOf(delivery), delay_seconds: wake.delay_seconds } };
}

async function sendAll(messages: readonly { queue: DeliveryQueue; message: OutgoingDelivery }[]): Promise<number> {
  let sent = 0;
  for (const queue of new Set(messages.map((each) => each.queue))) {
    const own = messages.filter((each) => each.queue === queue).map(({ message }) => message);
    try {
      await sendDeliveries(queue, own);
      sent += own.length;
    } catch (error) {
      countMetric("DeliveryMessageFailed");
      log.error("Deliveries could not be queued; the next sweep retries them.", {
        deliveries: own.length,
        ...causeOf(error),
      });
    }
  }
  return sent;
}

/**
 * Cancels what was on its way to endpoints that were switched off or deleted, page by page within the function's time,
 * and ends an endpoint's wake when nothing is left. A worker that meets such a delivery cancels it too. Returns how
 * many deliveries were cancelled, and how many endpoints could not be dealt with.
 */
export function cancelUnwanted(hasTime: () => boolean): Promise<SweepResult> {
  return sweepItems("WEBHOOK", hasTime, {
    entity: webhooks,
    isDue,
    run: (endpoint) => cancelOf(endpoint, hasTime),
    report: ({ id }, error) => log.error("Deliveries could not be cancelled.", { endpoint_id: id, ...causeOf(error) }),
  });
}

async function cancelOf(endpoint: WebhookEndpoint, hasTime: () => boolean): Promise<number> {
  let count = 0;
  let left = false;
  const partitions = deliveries.ofEndpoint(endpoint.tenant_id, endpoint.id, ["pending", "retrying"]);
  for (const partition of partitions) {
    for await (const page of pagesOf(partition, openPages)) {
      const unwanted = (await deliveriesOn(page)).filter((item) => isOpen(item) && !isWanted(item, endpoint));
      await inParallel(limits.webhooks.parallel_writes, unwanted, async (delivery) => {
        if (await cancel(delivery)) count += 1;
        else left = true;
      });
      if (page.next === undefined || hasTime()) continue;
      left = true;
      break;
    }
  }
  await endWake(endpoint, left);
  return count;
}

/** How the deliveries of an endpoint in one status are read. */
const openPages = { index: indexes.state, page_size: limits.events.due_page };

function deliveriesOn({ items }: PartitionPage): Promise<readonly Delivery[]> {
  return findReadable(deliveries, items.map(keyIn));
}

/** Cancels a delivery unless a worker has it; that one records its attempt first. */
async function cancel(delivery: Delivery): Promise<boolean> {
  const now = nowIso();
  if (delivery.lease_until !== null) {
    if (delivery.lease_until > now) return false;
    // Its worker died and may have posted: a call that was made is on record, however the delivery ends.
    await putCrash(delivery);
  }
  return (await transactOnce([updateItem(deliveries, delivery, cancelled(delivery, now))])).ok;
}

/** Ends the endpoint's wake, or looks again in a while; one that was changed meanwhile stays due as it is. */
async function endWake(endpoint: WebhookEndpoint, left: boolean): Promise<void> {
  const key = webhooks.keyOf(endpoint);
  const when = isStill({ version: endpoint.version, wake_at: endpoint.wake_at });
  if (!left && endpoint.status === "deleted") {
    await deleteItem(webhookHealths.key(endpoint.tenant_id, endpoint.id));
    await deleteItem(key, when);
    return;
  }
  const wake_at = left ? new Date(nowMs() + delayMs(limits.webhooks.lost_after_seconds)).toISOString() : null;
  await changeItem(key, rescheduled(webhooks, endpoint, { set: { wake_at }, when }));
}
