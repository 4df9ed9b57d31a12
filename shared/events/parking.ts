import { limits } from "../limits.ts";
import { withinBudget } from "../runtime/budget.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { UnreadableItem, unlessUnreadable } from "../runtime/unreadable.ts";
import { dueItems, overdueKeys } from "../table/due.ts";
import {
  type Key,
  type Outbox,
  type Parked,
  parkedOutboxes,
  publishTries,
  readTrace,
  releasedOutboxes,
} from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { changeAndRead } from "../table/items.ts";
import { readEach, readStored } from "../table/store.ts";
import { transactOnce } from "../table/transact.ts";
import { deleteMember, putNew, typeTag } from "../table/write.ts";

/** The count of the tries of an outbox item. */
interface Tries {
  readonly n?: number;
}

/** How many transactions of their own outbox items had, in their order. */
export async function triesOf(items: readonly Outbox[]): Promise<readonly number[]> {
  const found = await readEach<Tries>(items.map(publishTries.keyOf));
  return found.map((tries) => (tries instanceof UnreadableItem ? limits.events.publish_tries : (tries?.n ?? 0)));
}

/** Counts a transaction of its own of an outbox item. Returns how many it had. */
export async function countTry(item: Outbox, by: 1 | -1 = 1): Promise<number> {
  const expires_at = Math.floor(nowMs() / 1000) + limits.events.tries_kept_seconds;
  const change = { add: { n: by }, set: { ...typeTag(publishTries.et), expires_at } };
  const counted = await unlessUnreadable(changeAndRead<Tries>(publishTries.keyOf(item), change, "again"));
  // One that cannot be read was the last try: the count must not hold the commits behind it.
  return counted instanceof UnreadableItem ? limits.events.publish_tries : (counted.item?.n ?? 0);
}

/**
 * Takes a try back that the table did not decide. It has a budget of its own, in the last moments of the publisher:
 * where the table is slow, the publisher's has just ended, and a brownout would park what is sound.
 */
export async function takeTryBack(item: Outbox): Promise<void> {
  try {
    await withinBudget(limits.events.take_back_ms, () => countTry(item, -1));
  } catch (error) {
    log.warn("The attempt count of an outbox item could not be lowered.", { outbox_id: item.id, ...causeOf(error) });
  }
}

/**
 * Sets an outbox item aside as it is stored, so that it is tried no more until an operator releases it. Its parts stay
 * where they are. One that is gone has been published and is left alone.
 */
export async function park(key: Key, error: unknown): Promise<void> {
  const [stored] = await readStored([key], true);
  if (stored === undefined) return;
  const cause = causeOf(error);
  const parked: Parked = { ...nameOf(key), parked_at: nowIso(), ...cause, stored };
  const moved = await transactOnce([deleteMember(key, [isStored]), putNew(parkedOutboxes, parked)]);
  if (!moved.ok) {
    if (moved.codes[0] === "ConditionalCheckFailed") return;
    throw moved.error;
  }
  countMetric("OutboxParked");
  log.error("A commit was parked: its events could not be published.", {
    ...{ outbox_id: parked.id, tenant_id: parked.tenant_id, ...readTrace(stored) },
    ...{ ...cause, key: `${key.pk} ${key.sk}` },
  });
}

/** Identifiers in the key of an outbox item. */
function nameOf({ pk, sk }: Key): Pick<Outbox, "id" | "tenant_id" | "root_id"> {
  const [tenant_id = "", root_id = ""] = pk.split("#");
  return { id: sk.replace("OUTBOX#", "obx_"), tenant_id, root_id };
}

/**
 * Puts parked outbox items back while `hasTime` says so, with tries of their own again: the stream brings them to the
 * publisher. Returns how many, and how many are left for the next call: those it had no time for or met a conflict at.
 */
export async function releaseParked(hasTime: () => boolean): Promise<{ released: number; left: number }> {
  const { items: parked, unreadable } = await dueItems(parkedOutboxes, await overdueKeys("PARKED"));
  let released = 0;
  await inParallel(limits.events.released_in_parallel, parked, async (item) => {
    if (!hasTime()) return;
    const wake_at = new Date(nowMs() + delayMs(limits.events.unpublished_after_seconds)).toISOString();
    const moved = await transactOnce([
      deleteMember(parkedOutboxes.keyOf(item), [isStored]),
      putNew(releasedOutboxes, { ...item, wake_at }),
      deleteMember(publishTries.keyOf(item)),
    ]);
    if (moved.ok) released += 1;
    else log.warn("A parked commit was not released.", { outbox_id: item.id, ...causeOf(moved.error) });
  });
  return { released, left: parked.length + unreadable - released };
}
