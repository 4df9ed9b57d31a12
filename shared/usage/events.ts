import { type CountedEvent, countEvents, type DayEvents } from "../domain/usage/event-count.ts";
import { eventsTo } from "../domain/usage/usage-day.ts";
import { limits } from "../limits.ts";
import { causeOf, log } from "../runtime/log.ts";
import { readable, unlessUnreadable } from "../runtime/unreadable.ts";
import { onEveryBrokerage } from "../table/brokerages.ts";
import { forEachOf, type SweepResult } from "../table/due.ts";
import { endpointsIn, type PublishedEvent, usageCursors, usageDays } from "../table/entities.ts";
import { eventsAfter } from "../table/event-pages.ts";
import { payloadOf } from "../table/event-payload.ts";
import { type EventCounter, eventCounter } from "../table/sequences.ts";
import { findAll } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { changeMember, type TransactItem, typeTag } from "../table/write.ts";
import { expiryOf } from "./expiry.ts";

/**
 * Counts the events of every brokerage that were published since the run before, and the deliveries that were made of
 * them, by day and actor. Returns how many brokerages had any, and how many failed.
 */
export function countAllEvents(hasTime: () => boolean): Promise<SweepResult> {
  return onEveryBrokerage(hasTime, (tenants) =>
    forEachOf(tenants, {
      parallel: limits.usage.tenants_at_once,
      run: async (tenant) => (hasTime() ? countTenant(tenant, hasTime) : 0),
      report: (tenant_id, error) =>
        log.error("The events of a brokerage could not be metered.", { tenant_id, ...causeOf(error) }),
    }),
  );
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
    const { events: read, reached } = await eventsFrom(tenant, counted, counter);
    const { last, days } = countEvents(read, limits.usage.days_per_transaction);
    // Events that have expired are gone, and those that cannot be read are left out: none is looked at again.
    const to = days.length === 0 || last === read.at(-1)?.sequence ? reached : (last ?? reached);
    const outcome = await transactOnce([moveCursor(tenant, counted, to), ...days.map((day) => addEvents(tenant, day))]);
    if (!outcome.ok && outcome.codes.includes("ConditionalCheckFailed")) return 1;
    if (!outcome.ok) throw outcome.error;
    counted = to;
  }
  return 1;
}

/**
 * The next events after a number that can be read, and the last number that was looked at.
 * @throws Unavailable when one of them may not be seen yet: the next run counts them
 */
async function eventsFrom(tenant: string, after: number, counter: EventCounter) {
  const { found, reached } = await eventsAfter<PublishedEvent>(tenant, after, counter, {
    most: limits.usage.events_per_read,
    attributes: [
      ...["id", "created_at", "resource_id", "account_id", "client_id"],
      ...["sequence", "published_at", "payload", "endpoints"],
    ],
  });
  const counts = readable(found).map((event) => unlessUnreadable(countOf(event, tenant)));
  return { events: readable(await Promise.all(counts)), reached };
}

async function countOf(event: PublishedEvent, tenant: string): Promise<CountedEvent> {
  const { actor } = payloadOf(event, tenant).body as { readonly actor: { readonly id: string } };
  return {
    sequence: event.sequence,
    published_at: event.published_at,
    actor_id: actor.id,
    deliveries: endpointsIn(event.endpoints),
  };
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
