import type { Difference } from "../domain/books/difference.ts";
import type { Ledger } from "../domain/records/ledger.ts";
import { limits } from "../limits.ts";
import { delayMs, pause } from "../runtime/clock.ts";
import { inParallel } from "../runtime/parallel.ts";
import { timeOfId } from "../table/entities/keys.ts";
import { duePartition, dueShards, events } from "../table/entities.ts";
import { pagesOf, readPage } from "../table/partition.ts";
import { indexes } from "../table/table-shape.ts";

/**
 * The entries of an account whose commit has no event, neither published nor waiting. A commit has the time of its
 * event; an entry has it too, or its identifier does where an entry before it had a later one.
 */
export async function withoutEvent(
  tenant: string,
  accountId: string,
  entries: readonly Ledger[],
): Promise<readonly Difference[]> {
  if (entries.length === 0) return [];
  let left = notIn(await eventTimes(tenant, accountId), entries);
  if (left.length === 0) return [];
  // The index shows what is waiting a moment late, and then an event that was published meanwhile.
  await pause(limits.books.settle_ms);
  const waiting = await waitingTimes(tenant);
  if (waiting === "many") return [];
  left = notIn(waiting, left);
  if (left.length > 0) await pause(limits.books.settle_ms);
  left = left.length === 0 ? left : notIn(await eventTimes(tenant, accountId), left);
  return left.map(({ id, created_at }) => ({
    ...{ object_type: "ledger_entry", object_id: id, account_id: accountId },
    ...{ field: "event", expected: created_at, found: null },
  }));
}

function notIn(times: ReadonlySet<string>, entries: readonly Ledger[]): readonly Ledger[] {
  return entries.filter(({ id, created_at }) => !times.has(created_at) && !times.has(timeOfId(id)));
}

/** Times of the published events of an account. */
async function eventTimes(tenant: string, accountId: string): Promise<ReadonlySet<string>> {
  const times = new Set<string>();
  const query = { index: indexes.owner, attributes: ["created_at"] };
  for await (const { items } of pagesOf(events.ofOwner(tenant, accountId), query)) {
    for (const item of items) times.add(String(item["created_at"]));
  }
  return times;
}

/** Times of the commits of a tenant whose events wait to be published; `many` where there are too many to read. */
async function waitingTimes(tenant: string): Promise<ReadonlySet<string> | "many"> {
  const times = new Set<string>();
  let isMore = false;
  const shards = Array.from({ length: dueShards("OUTBOX") }, (_, shard) => duePartition("OUTBOX", shard));
  await inParallel(limits.events.due_parallel, shards, async (shard) => {
    const { items, next } = await readPage(shard, { index: indexes.due, page_size: limits.books.waiting_commits });
    isMore ||= next !== undefined;
    for (const item of items) {
      if (!String(item["pk"]).startsWith(`${tenant}#`)) continue;
      const [wakeAt = ""] = String(item[indexes.due.sort]).split("|");
      times.add(new Date(Date.parse(wakeAt) - delayMs(limits.events.unpublished_after_seconds)).toISOString());
    }
  });
  return isMore ? "many" : times;
}
