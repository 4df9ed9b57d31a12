import type { Difference } from "../domain/books/difference.ts";
import { type EventPlace, eventsBegin, missingEvent, type NumberedEvent, readEvents } from "../domain/books/events.ts";
import type { BookRun, BookStep } from "../domain/books/run.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { checkAudit } from "../table/audit-check.ts";
import { timeOfId } from "../table/entities/keys.ts";
import { events, type PublishedEvent } from "../table/entities.ts";
import { payloadOf } from "../table/event-payload.ts";
import { pagesOf, readPage } from "../table/partition.ts";
import { eventCounter } from "../table/sequences.ts";
import { readEach } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { seenEachTime } from "./looks.ts";

/** Some numbers of events: each up to the counter has its event, as long as that is kept. */
export async function lookAtEvents(run: BookRun): Promise<BookStep> {
  const { tenant_id: tenant } = run;
  // Read first: what it numbers was written with it.
  const counter = await eventCounter(tenant);
  const from = placeIn(run);
  const end = endOf(from.sequence + 1, counter.last);
  if (from.sequence >= counter.last) return { position: null };
  const found = await numbersOf(tenant, from.sequence + 1, end);
  const { place, missing } = readEvents(from, found, end, Math.floor(nowMs() / 1000));
  const leftOut = await leftOutUpTo(tenant, missing, counter.last);
  const wanted = missing.filter((number) => leftOut.every(([from, to]) => number < from || number > to));
  const last = Math.max(place.sequence, ...leftOut.map(([, to]) => to));
  return {
    position: last >= counter.last ? null : `${last}|${place.expires_at}`,
    checked: { events: found.length },
    differences: await stillMissing(tenant, wanted),
  };
}

function placeIn({ position, tenant_id }: BookRun): EventPlace {
  if (position === null) return eventsBegin(Date.parse(timeOfId(tenant_id)), limits.events.kept_seconds);
  const [sequence = 0, expires_at = 0] = position.split("|").map(Number);
  return { sequence, expires_at };
}

/** The last number of a step that begins with this one: numbers of one step are of one million. */
function endOf(first: number, last: number): number {
  const { per_partition } = limits.events;
  const million = Math.floor(first / per_partition) * per_partition + per_partition - 1;
  return Math.min(last, million, first + limits.books.events_per_step - 1);
}

async function numbersOf(tenant: string, first: number, end: number): Promise<NumberedEvent[]> {
  const lanes = Array.from({ length: limits.events.lanes }, (_, lane) => events.partition(tenant, first + lane));
  const found: NumberedEvent[] = [];
  // Half the units of a consistent read; what such a read may not show yet is looked for consistently.
  const bounds = { from: events.sortOf(first), to: events.sortOf(end), attributes: ["sk", "expires_at"] };
  const read = async (partition: string) => {
    for await (const { items } of pagesOf(partition, { ...bounds, consistent: false })) {
      found.push(...items.map(({ sk, expires_at }) => ({ sequence: Number(sk), expires_at: Number(expires_at) })));
    }
  };
  await Promise.all(lanes.map(read));
  return found.toSorted((a, b) => a.sequence - b.sequence);
}

/** The last number that a restore kept, and the one that numbers go on after. */
type VoidNumbers = readonly [last_valid: number, resumed_after: number];

/** The numbers that a restore says are void, where these begin one of its gaps. */
async function leftOutUpTo(tenant: string, missing: readonly number[], newest: number) {
  const gaps = missing.filter((number, at) => missing[at - 1] !== number - 1).slice(0, limits.books.looked_at_gaps);
  const ranges: VoidNumbers[] = [];
  for (const from of gaps) {
    const [valid, resumed] = await resumedAfter(tenant, from, newest);
    if (resumed >= from) ranges.push([valid + 1, resumed]);
  }
  return ranges;
}

/** The statement of a restore among the first events from a number on; zeros without one. */
async function resumedAfter(tenant: string, from: number, newest: number): Promise<VoidNumbers> {
  const { per_partition, lanes } = limits.events;
  for (let first = from; first <= newest; first = (Math.floor(first / per_partition) + 1) * per_partition) {
    const partitions = Array.from({ length: lanes }, (_, lane) => events.partition(tenant, first + lane));
    const query = { from: events.sortOf(first), page_size: limits.books.events_after_gap };
    const pages = await Promise.all(partitions.map((partition) => readPage(partition, query)));
    const found = pages.flatMap(({ items }) => items);
    const [restore] = found.filter(({ type }) => type === "brokerage.restored");
    if (restore !== undefined) return voidIn(readItem<PublishedEvent>(restore), tenant);
    if (found.length > 0) break;
  }
  return [0, 0];
}

function voidIn(event: PublishedEvent, tenant: string): VoidNumbers {
  const { data } = payloadOf(event, tenant).body as { data: { object: Readonly<Record<string, unknown>> } };
  return [Number(data.object["last_valid_sequence"]), Number(data.object["resumed_after_sequence"])];
}

async function stillMissing(tenant: string, numbers: readonly number[]) {
  const keys = numbers.map((number) => events.key(tenant, number));
  let found: readonly unknown[] = [];
  return seenEachTime(
    () => numbers.flatMap((number, at): Difference[] => (found[at] === undefined ? [missingEvent(number)] : [])),
    async () => {
      // One that cannot be read is there.
      found = await readEach(keys);
    },
  );
}

/** Some entries of the audit: computes their hashes again. The first broken link ends the phase. */
export async function lookAtAudit(run: BookRun): Promise<BookStep> {
  const from = Number(run.position ?? 1);
  const { broken, checked, to, more } = await checkAudit(run.tenant_id, {
    from,
    most: limits.books.audit_entries_per_step,
  });
  const step = { checked: { audit_entries: checked } };
  if (broken === null) return { ...step, position: more && to !== undefined ? String(to + 1) : null };
  const number = String(broken.sequence);
  const about = { object_type: "audit_log", object_id: number, account_id: null } as const;
  const difference: Difference =
    broken.kind === "removed"
      ? { ...about, field: "sequence", expected: number, found: null }
      : broken.kind === "inserted"
        ? { ...about, field: "sequence", expected: null, found: number }
        : { ...about, field: "hash", expected: null, found: broken.kind };
  return { ...step, position: null, differences: [difference] };
}
