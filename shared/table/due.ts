import { limits } from "../limits.ts";
import { nowIso, nowMs } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { inParallel } from "../runtime/parallel.ts";
import { readable } from "../runtime/unreadable.ts";
import { type DueKind, dueBy, duePartition, dueShards, type Entity, type Key } from "./entities.ts";
import type { ItemChange } from "./expression.ts";
import { keyIn, type PartitionPosition, readPage } from "./partition.ts";
import { readEach } from "./store.ts";
import { indexes } from "./table-shape.ts";

/** Result of a sweep: how many items it completed, and how many failed. */
export interface SweepResult {
  readonly done: number;
  readonly failed: number;
}

/**
 * Results of sweeps that run concurrently, by their names, and the number of failures of all of them; logged when any
 * found work. Neither a backlog nor a failure of one delays the others.
 * @throws the first failure of a whole sweep, after all have ended
 */
export async function runSweeps(
  sweeps: Readonly<Record<string, Promise<SweepResult>>>,
): Promise<Record<string, number>> {
  const done: Record<string, number> = { failed: 0 };
  const results = await Promise.allSettled(Object.values(sweeps));
  for (const [index, name] of Object.keys(sweeps).entries()) {
    const result = results[index];
    if (result?.status !== "fulfilled") continue;
    done[name] = result.value.done;
    done["failed"] = (done["failed"] ?? 0) + result.value.failed;
  }
  if (Object.values(done).some((count) => count > 0)) log.warn("The sweep recovered work.", done);
  const broken = results.find((result) => result.status === "rejected");
  if (broken !== undefined) throw broken.reason;
  return done;
}

type DueKey = Key & { readonly due: string };

interface Shard {
  readonly partition: string;
  /** Where to go on after the pages read so far. */
  readonly from: PartitionPosition | undefined;
}

/**
 * Keys of the items of one kind that are due, in pages from the longest overdue to the latest, over all shards of the
 * kind and to their end, as long as `hasTime` says so. An item that becomes due meanwhile belongs to the next sweep, so
 * a sweep that puts an item off never meets it again. `aheadMs` are those by which items may come before they are due.
 */
async function* overdue(kind: DueKind, hasTime: () => boolean, aheadMs = 0): AsyncGenerator<readonly Key[]> {
  const until = new Date(nowMs() + aheadMs).toISOString();
  let open: readonly Shard[] = Array.from({ length: dueShards(kind) }, (_, shard) => ({
    partition: duePartition(kind, shard),
    from: undefined,
  }));
  let read: readonly DueKey[] = [];
  while (open.length > 0 && hasTime()) {
    const pages: Awaited<ReturnType<typeof pageOf>>[] = [];
    await inParallel(limits.events.due_parallel, open, async (shard) => {
      pages.push(await pageOf(shard, until));
    });
    read = [...read, ...pages.flatMap(({ keys }) => keys)].toSorted((a, b) => (a.due < b.due ? -1 : 1));
    // An item behind the last key of a shard with more pages might come after one that is still to be read.
    const frontier = pages
      .flatMap(({ next, keys }) => (next === undefined ? [] : [keys.at(-1)?.due ?? ""]))
      .toSorted()[0];
    const ready = frontier === undefined ? read : read.filter(({ due }) => due <= frontier);
    read = read.slice(ready.length);
    open = pages.flatMap(({ next }) => (next === undefined ? [] : [next]));
    if (ready.length > 0) yield ready;
  }
}

async function pageOf(shard: Shard, until: string): Promise<{ keys: readonly DueKey[]; next: Shard | undefined }> {
  const query = { index: indexes.due, to: dueBy(until), page_size: limits.events.due_page };
  const { items, next } = await readPage(shard.partition, query, shard.from);
  const keys = items.map((item) => ({ ...keyIn(item), due: String(item[indexes.due.sort]) }));
  return { keys, next: next && { ...shard, from: next } };
}

/** Whether the item itself is due: the index may be behind, and another sweep may have dealt with it by now. */
export function isDue<T extends { readonly wake_at: string | null }>(item: T | undefined): item is T {
  return item !== undefined && item.wake_at !== null && item.wake_at <= nowIso();
}

/**
 * Sweeps the items of one kind that are due: `run` gets their keys page by page, or so many at a time, and each time
 * only while `hasTime` says so. Returns the sum of what it came to.
 */
export async function sweepKeys(
  kind: DueKind,
  hasTime: () => boolean,
  run: (keys: readonly Key[]) => Promise<SweepResult>,
  { atOnce = Number.POSITIVE_INFINITY, aheadMs = 0 } = {},
): Promise<SweepResult> {
  const total = { done: 0, failed: 0 };
  for await (const keys of overdue(kind, hasTime, aheadMs)) {
    for (let start = 0; start < keys.length && hasTime(); start += atOnce) {
      const { done, failed } = await run(keys.slice(start, start + atOnce));
      total.done += done;
      total.failed += failed;
    }
  }
  return total;
}

/** The work on each of several items, and its log message on failure. */
export interface Task<T> {
  /** How many at the same time; one after the other without it. */
  readonly parallel?: number;
  /** Returns how much was done, with what failed where that does not end the task. */
  readonly run: (item: T) => Promise<number | SweepResult>;
  readonly report: (item: T, error: Error) => void;
}

/** Does a task with every item and counts; what fails with one holds no other. */
export async function forEachOf<T>(items: readonly T[], task: Task<T>): Promise<SweepResult> {
  const total = { done: 0, failed: 0 };
  await inParallel(task.parallel ?? 1, items, async (item) => {
    try {
      const result = await task.run(item);
      total.done += typeof result === "number" ? result : result.done;
      total.failed += typeof result === "number" ? 0 : result.failed;
    } catch (error) {
      total.failed += 1;
      task.report(item, error as Error);
    }
  });
  return total;
}

/**
 * Sweeps the items of one kind that are due by themselves, see {@link isDue}, each with one task: as they are stored
 * when their page is read, and as long as `hasTime` says so.
 */
export function sweepItems<T>(
  kind: DueKind,
  hasTime: () => boolean,
  task: Task<T> & { readonly entity: Entity<T>; readonly isDue: (item: T) => boolean },
  options: { readonly aheadMs?: number } = {},
): Promise<SweepResult> {
  const sweep = async (keys: readonly Key[]) => {
    const run = async (item: T) => (task.isDue(item) && hasTime() ? task.run(item) : 0);
    const { items, unreadable } = await dueItems(task.entity, keys);
    const { done, failed } = await forEachOf(items, { ...task, run });
    return { done, failed: failed + unreadable };
  };
  return sweepKeys(kind, hasTime, sweep, options);
}

/** The items of one kind under keys that are due, and how many cannot be read: those stay due until they are well. */
export async function dueItems<T>(
  entity: Entity<T>,
  keys: readonly Key[],
): Promise<{ readonly items: readonly T[]; readonly unreadable: number }> {
  const found = (await readEach(keys, { kind: entity })).filter((item) => item !== undefined);
  const items = readable(found);
  return { items, unreadable: found.length - items.length };
}

/** Every due key of a kind that never has many. */
export async function overdueKeys(kind: DueKind): Promise<readonly Key[]> {
  const found: Key[] = [];
  for await (const keys of overdue(kind, () => true)) found.push(...keys);
  return found;
}

/**
 * A change of an item together with its place in the due index: where what the change makes of the item is due, or out
 * of the index when that is not.
 */
export function rescheduled<T extends object>(entity: Entity<T>, item: T, change: ItemChange): ItemChange {
  const { set, remove = [] } = change;
  const after = Object.fromEntries(Object.entries({ ...item, ...set }).filter(([name]) => !remove.includes(name)));
  const { due_pk, due_sk } = entity.indexesOf?.(after as T) ?? {};
  const { partition, sort } = indexes.due;
  return due_pk === undefined
    ? { ...change, remove: [...remove, partition, sort] }
    : { ...change, set: { ...set, [partition]: due_pk, [sort]: due_sk } };
}
