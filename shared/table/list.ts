import { limits } from "../limits.ts";
import { readable, UnreadableItem } from "../runtime/unreadable.ts";
import type { Cursor } from "./cursor.ts";
import type { Entity, Key } from "./entities.ts";
import { keyIn, type PartitionQuery, readPage } from "./partition.ts";
import { readEach } from "./store.ts";
import { tryRead } from "./table.ts";
import { facetsAttribute, type IndexName, indexes, keyAttributes, type SlimAttribute } from "./table-shape.ts";

/** Input to a page: one order over sort keys, bounds, and a filter. */
export interface PageRequest {
  readonly limit: number;
  /** Order of the list, whichever way the cursor goes. */
  readonly descending: boolean;
  readonly cursor: Cursor | undefined;
  /** Lowest sort key that belongs to the list, inclusive. */
  readonly floor?: string;
  /** Sort key that ends the list, exclusive. */
  readonly ceiling?: string;
  /** A filter over what the index carries; without it every entry belongs to the list. */
  readonly keep?: (entry: Readonly<Record<string, unknown>>) => boolean;
}

/** One page: its items in the order of the list, and where to go on from; undefined at an end. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Sort key of each item: where a page that ends with it goes on. */
  readonly sorts: readonly string[];
  /** Direction of its cursor. */
  readonly direction: Cursor["direction"];
  readonly next: Cursor | undefined;
  readonly prev: Cursor | undefined;
  /** How many items were left out since they cannot be read; none without it. */
  readonly unreadable?: number;
  /** Whether there are more although no cursor leads to them. */
  readonly more?: boolean;
}

/**
 * A page with what was found for each of its items. Items that are gone, or not wanted, are left out, and those that
 * cannot be read are left out and counted: the page goes on behind them.
 */
export function pageWith<U>(page: Page<unknown>, found: readonly (U | UnreadableItem | undefined)[]): Page<U> {
  const kept = found.flatMap((item, place) =>
    item === undefined || item instanceof UnreadableItem ? [] : [{ item, sort: page.sorts[place] ?? "" }],
  );
  const unreadable = found.filter((item) => item instanceof UnreadableItem).length + (page.unreadable ?? 0);
  return { ...page, items: kept.map(({ item }) => item), sorts: kept.map(({ sort }) => sort), unreadable };
}

/** The items of a page that come first on its way, so many of them; the page after it goes on where they end. */
export function shortened<T>(page: Page<T>, count: number): Page<T> {
  const { direction, items, sorts } = page;
  const part = direction === "next" ? ([0, count] as const) : ([items.length - count, items.length] as const);
  const left = sorts.slice(...part);
  const position = left.at(direction === "next" ? -1 : 0);
  if (count >= items.length || position === undefined) return page;
  return { ...page, items: items.slice(...part), sorts: left, [direction]: { direction, position, inclusive: false } };
}

/** An entry of an index: the item that it is of, its place, and what the index carries of it. */
export interface Entry {
  readonly key: Key;
  readonly sort: string;
  readonly item: Readonly<Record<string, unknown>>;
}

/** An index that lists follow. */
export type ListIndex = Exclude<IndexName, "due">;

/** One partition of an index, or of the table itself. */
interface Partition {
  readonly index?: (typeof indexes)[ListIndex];
  readonly partition: string;
  /** Attributes to read of an entry in addition to its keys; all without this. */
  readonly attributes?: readonly SlimAttribute[] | undefined;
}

/** Sources that a list is merged from: partitions, and entries that are read by their keys. */
type Source = Partition | { readonly found: Promise<readonly Entry[]> };

/**
 * A page over partitions of an index, merged into one order. The index tells which items; the items themselves are read
 * from the table, all at once, and one that is gone by then is left out. Lists follow their index, so they may lag
 * behind a write for a moment. With a filter a page may be short while there is a next one.
 */
export async function pageOfIndex<T>(
  index: ListIndex,
  partitions: readonly string[],
  request: PageRequest,
): Promise<Page<T>> {
  const page = await pageOfEntries(index, partitions, request, []);
  const keys = page.items.map(({ key }) => key);
  return pageWith(page, await readEach<T>(keys, { consistent: false }));
}

/**
 * A page of items that are read by their keys, merged with partitions of an index. Bounds, filter and cursor apply to
 * both, so it equals a page of an index that holds all of them. The items are not read again: they are as recent as
 * `found`, and only those of the index may lag behind a write.
 */
export async function pageOfFound<T extends object>(
  kind: Entity<T>,
  found: Promise<readonly (T | UnreadableItem)[]>,
  request: PageRequest,
  more: { readonly index: ListIndex; readonly partitions: readonly string[] } = { index: "list", partitions: [] },
): Promise<Page<T>> {
  const entries = found.then((items) =>
    readable(items).map((item): Entry => {
      const sort = kind.indexesOf?.(item).list_sk ?? "";
      return { key: kind.keyOf(item), sort, item: item as Entry["item"] };
    }),
  );
  const page = await walk([{ found: entries }, ...indexSources(more.index, more.partitions, undefined)], request);
  const known = new Set(await entries);
  const unread = page.items.filter((entry) => !known.has(entry));
  const read = await readEach<T>(
    unread.map(({ key }) => key),
    { consistent: false },
  );
  const items = page.items.map((entry) => (known.has(entry) ? (entry.item as T) : read[unread.indexOf(entry)]));
  const unreadable = (await found).filter((item) => item instanceof UnreadableItem).length;
  return pageWith({ ...page, unreadable }, items);
}

/**
 * As {@link pageOfIndex}, the entries alone: for who reads more than their items. Of what the index carries an entry
 * has these attributes, and all where a filter looks at them.
 */
export function pageOfEntries(
  index: ListIndex,
  partitions: readonly string[],
  request: PageRequest,
  attributes: readonly SlimAttribute[],
): Promise<Page<Entry>> {
  return walk(indexSources(index, partitions, request.keep === undefined ? attributes : undefined), request);
}

/** A page of a partition of the table itself, strongly consistent. */
export async function pageOfPartition<T>(partition: string, request: PageRequest, kind?: Entity<T>): Promise<Page<T>> {
  const page = await walk([{ partition }], request);
  return pageWith(
    page,
    page.items.map(({ item }) => tryRead<T>(item, kind)),
  );
}

function indexSources(
  index: ListIndex,
  partitions: readonly string[],
  attributes: Partition["attributes"],
): readonly Partition[] {
  return partitions.map((partition) => ({ index: indexes[index], partition, attributes }));
}

type SortBounds = Pick<PartitionQuery, "from" | "to">;

/** How far one source has been read: to its end, or up to and including the last sort key. */
interface Progress {
  readonly source: Source;
  last: string | undefined;
  ended: boolean;
}

/**
 * Reads the sources concurrently, in rounds, until the page is full, all have ended or the rounds are spent. An entry
 * is shown only when every source has been read past its place, so the merged order is total and nothing is skipped.
 */
async function walk(sources: readonly Source[], request: PageRequest): Promise<Page<Entry>> {
  const { cursor, limit, keep } = request;
  const down = request.descending === (cursor?.direction !== "prev");
  const before = (a: string, b: string) => (down ? a > b : a < b);
  const states: Progress[] = sources.map((source) => ({ source, last: undefined, ended: false }));
  const read: Entry[] = [];
  let frontier: string | undefined;
  for (let round = 0; round < limits.page.max_reads; round += 1) {
    const lagging = states.filter(({ ended, last }) => !ended && (last === undefined || last === frontier));
    // One entry more than the page tells whether there is another; the two ends of the bounds may be dropped.
    const size = keep === undefined ? limit + 3 : limits.page.entries_per_read;
    read.push(...(await Promise.all(lagging.map((state) => advance(state, request, down, size)))).flat());
    const open = states.flatMap(({ ended, last }) => (ended || last === undefined ? [] : [last]));
    frontier = open.toSorted((a, b) => (before(a, b) ? -1 : 1))[0];
    if (frontier === undefined || shownOf(read, frontier, before, keep).length > limit) break;
  }
  return cutPage(shownOf(read, frontier, before, keep), frontier, request);
}

function shownOf(
  read: readonly Entry[],
  frontier: string | undefined,
  before: (a: string, b: string) => boolean,
  keep: PageRequest["keep"],
): readonly Entry[] {
  return (
    read
      .filter(({ sort, item }) => (frontier === undefined || !before(frontier, sort)) && (keep?.(item) ?? true))
      .toSorted((a, b) => (before(a.sort, b.sort) ? -1 : 1))
      // An item that changes between two reads may be found by its key and in an index.
      .filter(({ sort }, place, all) => sort !== all[place - 1]?.sort)
  );
}

/** Cuts the page out of what may be shown, and tells where its neighbours begin. */
export function cutPage(
  shown: readonly Entry[],
  frontier: string | undefined,
  { limit, cursor }: PageRequest,
): Page<Entry> {
  const direction = cursor?.direction ?? "next";
  const backward = direction === "prev";
  const kept = shown.slice(0, limit);
  const end = shown.length > limit ? kept.at(-1)?.sort : frontier;
  const items = backward ? kept.toReversed() : kept;
  const back = backward ? "next" : "prev";
  const onward: Cursor | undefined = end === undefined ? undefined : { direction, position: end, inclusive: false };
  const nearest = kept[0]?.sort;
  // An empty page turns round at its own starting point and takes it along: the item there was on the page before.
  const returning: Cursor | undefined =
    cursor === undefined
      ? undefined
      : nearest === undefined
        ? { direction: back, position: cursor.position, inclusive: !cursor.inclusive }
        : { direction: back, position: nearest, inclusive: false };
  const page = { items, sorts: items.map(({ sort }) => sort), direction };
  return backward ? { ...page, next: returning, prev: onward } : { ...page, next: onward, prev: returning };
}

async function advance(state: Progress, request: PageRequest, down: boolean, size: number): Promise<Entry[]> {
  const start = state.last ?? request.cursor?.position;
  const inclusive = state.last === undefined && (request.cursor?.inclusive ?? false);
  const bounds = boundsOf(request, down, start);
  const isWanted = ({ sort }: Entry) =>
    (inclusive || sort !== start) && (request.ceiling === undefined || sort < request.ceiling);
  if (bounds === undefined || "found" in state.source) {
    state.ended = true;
    const entries = "found" in state.source ? await state.source.found : [];
    return entries.filter((entry) => isWithin(bounds, entry.sort) && isWanted(entry));
  }
  const { index, partition, attributes } = state.source;
  const sk = (index ?? keyAttributes).sort;
  const { items, next } = await readPage(partition, {
    index,
    ...bounds,
    descending: down,
    page_size: size,
    // It costs the same units, but what is not sent need not be parsed, which is a part of every first list.
    attributes: attributes && ["pk", "sk", sk, ...attributes],
  });
  const found = items.map((item) => ({
    key: keyIn(item),
    sort: String(item[sk]),
    item: { ...item, ...(item[facetsAttribute] as Record<string, unknown> | undefined) },
  }));
  state.ended = next === undefined;
  state.last = found.at(-1)?.sort ?? state.last;
  return found.filter(isWanted);
}

function isWithin(bounds: SortBounds | undefined, sort: string): boolean {
  if (bounds === undefined) return false;
  const { from, to } = bounds;
  return (from === undefined || sort >= from) && (to === undefined || sort <= to);
}

/**
 * The sort keys between the bounds of the list and the place to go on from. DynamoDB takes one condition on the sort
 * key, so both ends are inclusive there, and what is exclusive is dropped after the read. Undefined when nothing can
 * lie between.
 */
function boundsOf(request: PageRequest, down: boolean, start: string | undefined): SortBounds | undefined {
  const from = [request.floor, down ? undefined : start]
    .filter((each) => each !== undefined)
    .toSorted()
    .at(-1);
  const to = [request.ceiling, down ? start : undefined].filter((each) => each !== undefined).toSorted()[0];
  return from !== undefined && to !== undefined && from > to ? undefined : { from, to };
}
