import { restoredOf, resumeAfter } from "../domain/restore/numbers.ts";
import { delayMs } from "../runtime/clock.ts";
import { systemContext } from "../table/context.ts";
import { putOutbox } from "../table/outbox.ts";
import { advanceCounter, eventCounter } from "../table/sequences.ts";
import { transactOnce } from "../table/transact.ts";

/**
 * Lets the numbers of a brokerage's events go on above every number that a receiver may have seen, after its data were
 * restored from a copy, and announces which events are void. Both are one transaction: no number is given in between.
 * Returns the number that they go on after, and how many events are void.
 * @throws Error one sentence, where the statement is wrong or events are being numbered meanwhile
 */
export async function resumeNumbers(given: Readonly<Record<string, unknown>>): Promise<Record<string, number>> {
  const restored = restoredOf(given);
  const { tenant_id, after, last_valid } = restored;
  const context = systemContext(tenant_id, "restore");
  const counter = await eventCounter(tenant_id);
  const event = resumeAfter(restored, counter.last, context.newId("rst"), context.now);
  const moved = await transactOnce([
    advanceCounter(tenant_id, counter, { last: after, audit: counter.audit }),
    ...putOutbox([event], context, delayMs),
  ]);
  if (!moved.ok) throw new Error("Events of the brokerage are being numbered: stop its traffic and repeat.");
  return { resumed_after: after, void_events: after - last_valid };
}
