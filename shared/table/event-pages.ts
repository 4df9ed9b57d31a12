import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import type { UnreadableItem } from "../runtime/unreadable.ts";
import { events } from "./entities.ts";
import { cutPage, type Entry, type Page, type PageRequest, pageWith } from "./list.ts";
import { keyIn, readPage, type StoredAttributes } from "./partition.ts";
import { type EventCounter, eventCounter } from "./sequences.ts";
import { tryRead } from "./table.ts";

/** Numbers of events that are read one after the other, both ends inclusive; downward where the end is below. */
interface NumberRange {
  readonly from: number;
  readonly to: number;
  readonly down: boolean;
}

/**
 * Result of one round of reads, in the order of the walk, and the first number that was not looked at. It is held when
 * that number is of an event that may not be seen yet.
 */
interface Round {
  readonly items: readonly StoredAttributes[];
  readonly next: number;
  readonly held?: true;
}

/**
 * A page of a tenant's events by sequence, strongly consistent. The counter is read first: it says where the list ends.
 * Numbers have no gaps, so a page reads of each lane just those that belong to it; old
 * events are gone after their time, so a page may be short while there is a next one, as it may be with a filter. In
 * rising order a page ends before a number that may not be seen yet, see {@link untilUnseen}.
 */
export async function pageOfEvents<T>(tenant: string, afterSequence: number, request: PageRequest): Promise<Page<T>> {
  const counter = await eventCounter(tenant);
  const { limit, keep } = request;
  const range = rangeOf(request, afterSequence + 1, counter.last);
  const shown: Entry[] = [];
  let [next, expected, held] = [range.from, range.from, false];
  for (let round = 0; round < limits.page.max_reads && isWithin(next, range) && shown.length <= limit; round += 1) {
    const window = keep === undefined ? limit + 1 - shown.length : limits.page.entries_per_read;
    const found = await readRound(tenant, stretchAt(next, range), { window, everyLane: round > 0, expected });
    shown.push(...found.items.map(entryOf).filter(({ item }) => keep?.(item) ?? true));
    next = found.next;
    expected = numberAfter(found.items) ?? expected;
    held = found.held ?? false;
    if (held) break;
  }
  // A page that is held before its first event has no next one: a caller that follows links would only ask again.
  const goesOn = isWithin(next, range) && !(held && shown.length === 0);
  const frontier = goesOn ? events.sortOf(range.down ? next + 1 : next - 1) : undefined;
  const page = cutPage(shown, frontier, request);
  return pageWith(
    page,
    page.items.map(({ item }) => tryRead<T>(item)),
  );
}

/**
 * The events of a tenant after a number, so many at the most, by their numbers; strongly consistent. With `attributes`
 * those alone are read, and with `untilUnseen` those before one that may not be seen yet.
 * @throws Unavailable when an event among them may not be seen yet
 */
export async function eventsAfter<T>(
  tenant: string,
  after: number,
  counter: EventCounter,
  { most, attributes, untilUnseen: isPartial = false }: EventRead,
): Promise<EventsAfter<T>> {
  const range = { from: after + 1, to: counter.last, down: false };
  const found: StoredAttributes[] = [];
  let next = range.from;
  let expected = next;
  while (isWithin(next, range) && found.length < most) {
    const window = most - found.length;
    const everyLane = next > range.from;
    const round = await readRound(tenant, stretchAt(next, range), { window, everyLane, attributes, expected });
    found.push(...round.items);
    next = round.next;
    expected = numberAfter(round.items) ?? expected;
    if (!round.held || found.length >= most) continue;
    if (isPartial) return { found: found.map((item) => tryRead<T>(item)), reached: next - 1 };
    throw new Unavailable("An event is not seen yet.");
  }
  const last = found.at(-1);
  const reached = last === undefined || found.length < most ? range.to : numberOf(last);
  return { found: found.map((item) => tryRead<T>(item)), reached };
}

/** Options of {@link eventsAfter}. */
interface EventRead {
  readonly most: number;
  readonly attributes?: readonly string[];
  readonly untilUnseen?: boolean;
}

/** Result of {@link eventsAfter}, and the last number that it looked at. */
interface EventsAfter<T> {
  readonly found: readonly (T | UnreadableItem)[];
  readonly reached: number;
}

/** The numbers that a page may show, from where its cursor stands; a position that is none of them is the nearest. */
function rangeOf({ cursor, descending }: PageRequest, start: number, last: number): NumberRange {
  const down = descending === (cursor?.direction !== "prev");
  const position = Number(cursor?.position ?? Number.NaN);
  const [from, to] = down ? [last, start] : [start, last];
  if (cursor === undefined) return { from, to, down };
  const at = Number.isSafeInteger(position) ? position : last;
  const first = cursor.inclusive ? at : at + (down ? -1 : 1);
  return { from: down ? Math.min(first, last) : Math.max(first, start), to, down };
}

function isWithin(number: number, { to, down }: NumberRange): boolean {
  return down ? number >= to : number <= to;
}

/** The numbers from this one on that are in the same partitions, as far as the range goes. */
function stretchAt(from: number, { to, down }: NumberRange): NumberRange {
  const { per_partition } = limits.events;
  const lowest = Math.floor(from / per_partition) * per_partition;
  return { from, to: down ? Math.max(to, lowest) : Math.min(to, lowest + per_partition - 1), down };
}

/** How much one round reads. */
interface RoundSize {
  /** So many numbers on from the beginning of the stretch. */
  readonly window: number;
  /** Whether lanes without a number in the window are read too, to find what lies behind numbers that have ended. */
  readonly everyLane: boolean;
  /** The number after the last event that a round before found, or the first of the walk. */
  readonly expected: number;
  readonly attributes?: readonly string[] | undefined;
}

/**
 * Reads the next events of a stretch, one query for each lane. Returned are those up to which every lane is read.
 */
async function readRound(
  tenant: string,
  stretch: NumberRange,
  { window, everyLane, attributes, expected }: RoundSize,
): Promise<Round> {
  const { down, from, to } = stretch;
  const { lanes } = limits.events;
  const step = down ? -1 : 1;
  const distance = (number: number) => (number - from) * step;
  const reads = Array.from({ length: Math.min(lanes, distance(to) + 1) }, async (_, lane) => {
    const first = from + lane * step;
    const wanted = Math.max(Math.ceil((window - lane) / lanes), everyLane ? 1 : 0);
    if (wanted < 1) return { items: [], next: first };
    const key = events.key(tenant, first);
    const [low, high] = [events.sortOf(to), key.sk].toSorted();
    const query = { from: low, to: high, descending: down, page_size: wanted };
    const page = await readPage(
      key.pk,
      attributes === undefined ? query : { ...query, attributes: projectionOf(attributes) },
    );
    const last = page.items.at(-1);
    if (page.next === undefined || last === undefined) return { items: page.items, next: to + step };
    return { items: page.items, next: numberOf(last) + lanes * step };
  });
  const found = await Promise.all(reads);
  const next = from + step * Math.min(distance(to) + 1, ...found.map((lane) => distance(lane.next)));
  const items = found
    .flatMap((lane) => lane.items)
    .filter((item) => distance(numberOf(item)) < distance(next))
    .toSorted((a, b) => distance(numberOf(a)) - distance(numberOf(b)));
  return down ? { items, next } : untilUnseen(expected, { items, next });
}

/**
 * A round as far as it has every event that it must have. DynamoDB may show a transaction on one lane before it shows
 * it on another: a number that is missing right before an event of the last moments may be seen in a moment, and a
 * caller that goes on behind it would never get it. Before an older event it has ended.
 */
function untilUnseen(from: number, { items, next }: Round): Round {
  const settled = nowMs() - limits.events.unseen_seconds * 1000;
  let expected = from;
  for (const [place, item] of items.entries()) {
    const isFresh = Date.parse(String(item["published_at"])) > settled;
    if (numberOf(item) > expected && isFresh) return { items: items.slice(0, place), next: expected, held: true };
    expected = numberOf(item) + 1;
  }
  return { items, next };
}

/** With the attributes that tell the number of an event, its age, and whether this code can read it. */
function projectionOf(attributes: readonly string[]): readonly string[] {
  return [...new Set(["pk", "sk", "et", "v", "published_at", ...attributes])];
}

function numberOf(item: StoredAttributes): number {
  return Number(item["sk"]);
}

function entryOf(item: StoredAttributes): Entry {
  return { key: keyIn(item), sort: String(item["sk"]), item };
}

function numberAfter(items: readonly StoredAttributes[]): number | undefined {
  const last = items.at(-1);
  return last === undefined ? undefined : numberOf(last) + 1;
}
