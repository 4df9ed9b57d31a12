import { limits } from "../limits.ts";
import { nowMs, pause } from "../runtime/clock.ts";
import { readable } from "../runtime/unreadable.ts";
import type { PublishedEvent } from "../table/entities.ts";
import { eventsAfter } from "../table/event-pages.ts";
import { eventCounter } from "../table/sequences.ts";

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
    const counter = await eventCounter(tenant);
    const most = Math.max(0, counter.last - after);
    const found = readable((await eventsAfter<PublishedEvent>(tenant, after, counter, { most })).found);
    const whole = isWhole(found);
    if (whole || nowMs() > end || remainingMs() < limits.commit.reserve_ms) return { found, whole };
    await pause(limits.sandbox.events_pause_ms);
  }
}
