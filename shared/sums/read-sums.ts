import { type DaySums, EventSums, type SumList } from "../domain/sums/event-sums.ts";
import type { SummaryDays } from "../domain/sums/summary.ts";
import { limits } from "../limits.ts";
import { nowIso, pause } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { daysSince } from "../table/book-days.ts";
import { daySumsOf, type StoredSums, type SumCursor, sumCursors, sums } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { eventCounter } from "../table/sequences.ts";
import { findAll } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { backoffMs } from "../table/transact.ts";
import { changesAfter } from "./transaction-changes.ts";

/** Sums of days, and which events are in them: all up to a number, and none after it. */
export interface SumsAsOf {
  readonly days: readonly DaySums[];
  readonly as_of_sequence: string;
  /** When the last of them was published; the moment of the reading where there is none after it. RFC 3339. */
  readonly as_of: string;
}

/** How far the sums of a tenant are, strongly consistent; at the beginning where nothing was summed yet. */
export async function sumCursor(tenant: string): Promise<SumCursor> {
  const [found] = await findAll<SumCursor>(sumCursors, [sumCursors.key(tenant)]);
  return found ?? { tenant_id: tenant, summed: 0 };
}

/**
 * The sums of days: those that are stored, with the events after their cursor, as many as one read takes. A cursor that
 * is further behind gives older sums.
 */
export async function sumsOfDays(tenant: string, list: SumList, days: SummaryDays): Promise<SumsAsOf> {
  const { cursor, stored } = await storedSums(tenant, list, days);
  const read_at = nowIso();
  const counter = await eventCounter(tenant);
  const { changes, reached, published_at } = await changesAfter(tenant, cursor, counter);
  const moments = list === "settled" ? changes.map(({ change }) => change.created_at) : [];
  const total = new EventSums(await dayLabels(tenant, moments));
  for (const one of stored) total.addDay(daySumsOf(one));
  for (const { change } of changes) total.addChange(change);
  const within = total.days.filter((one) => one.list === list && one.day >= days.from && one.day <= days.to);
  const as_of = reached >= counter.last ? read_at : (published_at ?? read_at);
  return { days: within, as_of_sequence: String(reached), as_of };
}

/** A reader of the labels of the days that moments are in. It knows those of these; without any it is not asked. */
export async function dayLabels(tenant: string, moments: readonly string[]): Promise<(moment: string) => string> {
  const [first] = moments.toSorted();
  if (first === undefined) return (moment) => moment.slice(0, 10);
  const { days } = await daysSince(tenant, first);
  return (moment) => days.at(moment).day;
}

/**
 * The cursor with the sums that were stored with it. A run may write between two reads, and DynamoDB may show its
 * transaction on one item before it shows it on another: sums are those of a cursor when none is newer, and when each
 * that its last run wrote is there. Afterwards no reset may have begun others, whose predecessors it removes.
 * @throws Unavailable when runs followed each other all the time
 */
async function storedSums(tenant: string, list: SumList, { from, to }: SummaryDays) {
  for (let attempt = 0; attempt < limits.sums.read_attempts; attempt += 1) {
    if (attempt > 0) await pause(backoffMs(attempt));
    const cursor = await sumCursor(tenant);
    const bounds = sums.bounds(list, cursor.since, from, to);
    const found = await readPartition(sums.partition(tenant), bounds);
    const stored = found.map((item) => readItem<StoredSums>(item));
    const wrote = (cursor.wrote ?? []).filter((sort) => sort >= bounds.from && sort <= bounds.to);
    const summedAt = new Map(found.map((item, at) => [String(item["sk"]), stored[at]?.summed ?? 0]));
    const isNewer = stored.some(({ summed }) => summed > cursor.summed);
    const isWhole = !isNewer && wrote.every((sort) => summedAt.get(sort) === cursor.summed);
    if (isWhole && (await sumCursor(tenant)).since === cursor.since) return { cursor, stored };
  }
  throw new Unavailable("The sums change all the time.");
}
