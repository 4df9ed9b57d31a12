import type { Delivery } from "../domain/records/delivery.ts";
import { isOpen, messageOf } from "../domain/webhooks/delivery.ts";
import { deliveriesOf, endpointHealths, isUnbegun, putDelivery, restingOf, trySend } from "../events/fan-out.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { readable, type UnreadableItem } from "../runtime/unreadable.ts";
import { dueItems, forEachOf, rescheduled, type SweepResult, sweepKeys } from "../table/due.ts";
import { deliveries, events, type Key, type PublishedEvent } from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { readEach } from "../table/store.ts";
import { wakeAll } from "./delivery-sweep.ts";

/**
 * Looks at the deliveries of events that were published a while ago. One that no worker has stored lost its message,
 * and one that is stored, open and without a wake may have lost its worker: the first is stored and sent, the second
 * gets a wake. Then the event leaves the due index, since each of its deliveries has ended or is due by itself (ADR
 * 0045). Returns how many events lacked something, and how many could not be seen to.
 */
export function completeFanOut(hasTime: () => boolean): Promise<SweepResult> {
  const atOnce = limits.events.due_page;
  return sweepKeys("EVENT", hasTime, async (keys) => completePage(keys, hasTime), { atOnce });
}

async function completePage(keys: readonly Key[], hasTime: () => boolean): Promise<SweepResult> {
  const now = nowIso();
  const { items, unreadable } = await dueItems(events, keys);
  const due = items.filter(({ wake_at }) => wake_at !== undefined && wake_at <= now);
  const owed = due.map((event) => ({ event, drafts: deliveriesOf([event]) }));
  const drafts = owed.flatMap((each) => each.drafts);
  const stored = await readEach(drafts.map(deliveries.keyOf), { kind: deliveries });
  const known = new Map(drafts.map(({ id }, at) => [id, stored[at]]));
  const { done, failed } = await forEachOf(owed, {
    parallel: limits.webhooks.parallel_writes,
    run: async ({ event, drafts: own }) => (hasTime() ? complete(event, own, known) : 0),
    report: ({ event: { id } }, error) =>
      log.error("Deliveries of an event could not be created.", { event_id: id, ...causeOf(error) }),
  });
  return { done, failed: failed + unreadable };
}

/** Sees to the deliveries of one event, and then removes it from the due index. */
async function complete(
  event: PublishedEvent,
  drafts: readonly Delivery[],
  known: ReadonlyMap<string, Delivery | UnreadableItem | undefined>,
): Promise<SweepResult> {
  const missing = drafts.filter(({ id }) => known.get(id) === undefined);
  const stored = drafts.flatMap(({ id }) => known.get(id) ?? []);
  const read = readable(stored);
  const there = [...read, ...(await storeAll(missing))];
  const unwatched = there.filter((delivery) => isOpen(delivery) && delivery.wake_at === null);
  const { failed } = unwatched.length > 0 ? await wakeAll(unwatched) : { failed: 0 };
  // One that cannot be read may be open: the event stays due until it is well.
  const left = failed + stored.length - read.length;
  if (left > 0) return { done: 0, failed: left };
  await changeItem(events.keyOf(event), rescheduled(events, event, { remove: ["wake_at"], when: [isStored] }));
  return { done: missing.length + unwatched.length > 0 ? 1 : 0, failed: 0 };
}

/**
 * Stores deliveries, each with a wake of its own, and sends the messages of those that do not rest. Returns what is
 * stored: a worker may have stored one at this moment, without a wake.
 */
async function storeAll(missing: readonly Delivery[]): Promise<readonly Delivery[]> {
  if (missing.length === 0) return [];
  const healths = await endpointHealths(missing);
  const stored: Delivery[] = [];
  await inParallel(limits.webhooks.parallel_writes, missing, async (draft) => {
    stored.push(await putDelivery(restingOf(draft, healths) ?? draft));
  });
  await trySend(stored.filter((delivery) => isUnbegun(delivery) && delivery.wake_at !== null).map(messageOf));
  return stored;
}
