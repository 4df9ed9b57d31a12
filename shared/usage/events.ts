import { type CountedEvent, countEvents, type DayEvents } from "../domain/usage/event-count.ts";
import { eventsTo } from "../domain/usage/usage-day.ts";
import { limits } from "../limits.ts";
import { log } from "../runtime/log.ts";
import { everyBrokerage } from "../table/brokerages.ts";
import { forEachOf, type SweepResult } from "../table/due.ts";
import { endpointsIn, type PublishedEvent, usageCursors, usageDays } from "../table/entities.ts";
import { eventsAfter } from "../table/event-pages.ts";
import { payloadText } from "../table/event-payload.ts";
import { type EventCounter, eventCounter } from "../table/sequences.ts";
import { findAll } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { changeMember, type TransactItem, typeTag } from "../table/write.ts";
import { expiryOf } from "./expiry.ts";

/**
 * Counts the events of every brokerage that were published since the run before, and the deliveries that were made of
 * them, by day and actor. Returns how many brokerages had any, and how many failed.
 */
export async function countAllEvents(hasTime: () => boolean): Promise<SweepResult> {
  const total = { done: 0, failed: 0 };
  for await (const tenants of everyBrokerage()) {
    const { done, failed } = await forEachOf(tenants, {
      parallel: limits.usage.tenants_at_once,
      run: async (tenant) => (hasTime() ? countTenant(tenant, hasTime) : 0),
      report: (tenant_id, { name, message }) =>
        log.error("The events of a brokerage could not be counted.", { tenant_id, error: name, message }),
    });
    total.done += done;
    total.failed += failed;
    if (!hasTime()) break;
  }
  return total;
}

/** 1 when a brokerage had events that were not counted, else 0. */
async function countTenant(tenant: string, hasTime: () => boolean): Promise<number> {
  const [[cursor], counter] = await Promise.all([
    findAll(usageCursors, [usageCursors.key(tenant)]),
    eventCounter(tenant),
  ]);
  let counted = cursor?.counted ?? 0;
  if (counted >= counter.last) return 0;
  while (counted < counter.last && hasTime()) {
    const { last, days } = countEvents(await eventsFrom(tenant, counted, counter), limits.usage.days_per_transaction);
    // What is older than events are kept is gone: there is nothing to count up to the present end.
    const to = last ?? counter.last;
    const outcome = await transactOnce([moveCursor(tenant, counted, to), ...days.map((day) => addEvents(tenant, day))]);
    if (!outcome.ok && outcome.codes.includes("ConditionalCheckFailed")) return 1;
    if (!outcome.ok) throw outcome.error;
    counted = to;
  }
  return 1;
}

/**
 * The next events after a number.
 * @throws Unavailable when one of them may not be seen yet: the next run counts them
 */
async function eventsFrom(tenant: string, after: number, counter: EventCounter): Promise<readonly CountedEvent[]> {
  const found = await eventsAfter<PublishedEvent>(tenant, after, counter, {
    most: limits.usage.events_per_read,
    attributes: [
      ...["id", "created_at", "resource_id", "account_id", "client_id"],
      ...["sequence", "published_at", "payload", "endpoints"],
    ],
  });
  return found.map((event) => ({
    sequence: event.sequence,
    published_at: event.published_at,
    actor_id: actorOf(payloadText(event)),
    deliveries: endpointsIn(event.endpoints),
  }));
}

function actorOf(payload: string): string {
  const { actor } = JSON.parse(payload) as { readonly actor: { readonly id: string } };
  return actor.id;
}

function moveCursor(tenant: string, from: number, to: number): TransactItem {
  return changeMember(usageCursors.key(tenant), {
    set: { ...typeTag(usageCursors.et), tenant_id: tenant, counted: to },
    when: [from === 0 ? { attribute: "counted", is: "absent" } : { attribute: "counted", is: "equal", value: from }],
  });
}

function addEvents(tenant_id: string, { day, actor_id, events, deliveries, by_endpoints }: DayEvents): TransactItem {
  const counts = [...by_endpoints].map(([endpoints, count]) => [eventsTo(endpoints), count]);
  return changeMember(usageDays.keyOf({ tenant_id, day, actor_id }), {
    set: { ...typeTag(usageDays.et), tenant_id, day, actor_id, expires_at: expiryOf(day) },
    add: { events, deliveries, ...Object.fromEntries(counts) },
  });
}
