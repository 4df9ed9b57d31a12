import { limits } from "../limits.ts";
import { nowMs, pause } from "../runtime/clock.ts";
import { events, type PublishedEvent } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { lastSequence } from "../table/sequences.ts";
import { readItem } from "../table/table.ts";

/**
 * The events of a tenant after a number, read again until they hold all that is awaited or the time is up. They get
 * their numbers a moment after the commit that announced them, and in its order.
 */
export async function awaitEvents(
  tenant: string,
  after: number,
  isWhole: (found: readonly PublishedEvent[]) => boolean,
  remainingMs: () => number,
): Promise<{ readonly found: readonly PublishedEvent[]; readonly whole: boolean }> {
  const end = nowMs() + limits.sandbox.events_awaited_ms;
  for (;;) {
    const found = await eventsAfter(tenant, after);
    const whole = isWhole(found);
    if (whole || nowMs() > end || remainingMs() < limits.commit.reserve_ms) return { found, whole };
    await pause(limits.sandbox.events_pause_ms);
  }
}

async function eventsAfter(tenant: string, after: number): Promise<readonly PublishedEvent[]> {
  const last = await lastSequence(tenant);
  if (last <= after) return [];
  const partitions = new Set([events.partition(tenant, after + 1), events.partition(tenant, last)]);
  const pages = await Promise.all([...partitions].map((partition) => eventsIn(partition, after)));
  return pages.flat();
}

async function eventsIn(partition: string, after: number): Promise<PublishedEvent[]> {
  const items = await readPartition(partition, { from: events.sortOf(after + 1) });
  return items.map((item) => readItem<PublishedEvent>(item));
}
