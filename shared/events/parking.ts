import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { countMetric, log } from "../runtime/log.ts";
import { overdueKeys } from "../table/due.ts";
import { type Outbox, outboxes, type Parked, parkedOutboxes, publishTries } from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { changeAndRead } from "../table/items.ts";
import { findAll, readKeys } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { deleteMember, putNew, typeTag } from "../table/write.ts";

/** How many transactions of their own outbox items had, in their order. */
export async function triesOf(items: readonly Outbox[]): Promise<readonly number[]> {
  const found = await readKeys(items.map(publishTries.keyOf));
  return found.map((tries) => (tries as { n?: number } | undefined)?.n ?? 0);
}

/**
 * Counts a transaction of its own of an outbox item, or takes one back that the table did not decide. Returns how many
 * it had.
 */
export async function countTry(item: Outbox, by: 1 | -1 = 1): Promise<number> {
  const expires_at = Math.floor(nowMs() / 1000) + limits.events.tries_kept_seconds;
  const change = { add: { n: by }, set: { ...typeTag(publishTries.et), expires_at } };
  const counted = await changeAndRead<{ n: number }>(publishTries.keyOf(item), change, "again");
  return counted.item?.n ?? 0;
}

/**
 * Sets an outbox item aside, so that it is tried no more until an operator releases it. Its parts stay where they are.
 * One that is gone has been published and is left alone.
 */
export async function park({ wake_at: _, ...item }: Outbox, error: string): Promise<void> {
  const parked: Parked = { ...item, parked_at: nowIso(), error };
  const moved = await transactOnce([deleteMember(outboxes.keyOf(item), [isStored]), putNew(parkedOutboxes, parked)]);
  if (!moved.ok) {
    if (moved.codes[0] === "ConditionalCheckFailed") return;
    throw moved.error;
  }
  countMetric("OutboxParked");
  log.error("A commit was parked: its events could not be published.", { outbox_id: item.id, error });
}

/**
 * Puts every parked outbox item back, with tries of its own again: the stream brings it to the publisher. Returns how
 * many there were.
 */
export async function releaseParked(): Promise<number> {
  const parked = await findAll(parkedOutboxes, await overdueKeys("PARKED"));
  for (const { parked_at: _at, error: _error, ...item } of parked) {
    const wake_at = new Date(nowMs() + delayMs(limits.events.unpublished_after_seconds)).toISOString();
    const released = await transactOnce([
      deleteMember(parkedOutboxes.keyOf(item), [isStored]),
      putNew(outboxes, { ...item, wake_at }),
      deleteMember(publishTries.keyOf(item)),
    ]);
    if (!released.ok) throw released.error;
  }
  return parked.length;
}
