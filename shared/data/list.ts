import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { env } from "../runtime/env.ts";
import type { Cursor } from "./cursor.ts";
import { events, type Key, sequences } from "./entities.ts";
import { readKeys } from "./store.ts";
import { readItem, table } from "./table.ts";
import { indexes } from "./table-shape.ts";

/** What a page is cut from: one partition of an index or of the table itself, in one order. */
export interface PageRequest {
  readonly limit: number;
  /** Order of the list, whichever way the cursor goes. */
  readonly descending: boolean;
  readonly cursor: Cursor | undefined;
}

/** One page: its items in the order of the list, and the positions to go on from; undefined at an end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  readonly prev: string | undefined;
}

interface Entry {
  readonly key: Key;
  readonly sort: string;
  readonly item: Record<string, unknown>;
}

/**
 * A page of an index partition. The index tells which items, the items themselves are read from the table, all at once;
 * an item that is gone by then is left out. Lists follow their index, so they may lag behind a write for a moment.
 */
export async function pageOfIndex<T>(
  index: "list" | "state" | "owner",
  partition: string,
  request: PageRequest,
): Promise<Page<T>> {
  const page = await entriesOfIndex(index, partition, request);
  const items = await readKeys(
    page.entries.map(({ key }) => key),
    false,
  );
  return { items: items.filter((item) => item !== undefined) as T[], next: page.next, prev: page.prev };
}

/**
 * As {@link pageOfIndex}, each item with the companion that lives beside it in its partition under the sort key
 * `beside`.
 */
export async function pageOfPairs<T, C>(
  index: "list" | "state" | "owner",
  partition: string,
  beside: string,
  request: PageRequest,
): Promise<Page<readonly [T, C]>> {
  const page = await entriesOfIndex(index, partition, request);
  const keys = page.entries.map(({ key }) => key);
  const found = await readKeys([...keys, ...keys.map(({ pk }) => ({ pk, sk: beside }))], false);
  const pairs = keys.map((_, place) => [found[place], found[place + keys.length]] as const);
  const items = pairs.filter(([item, companion]) => item !== undefined && companion !== undefined);
  return { items: items as unknown as (readonly [T, C])[], next: page.next, prev: page.prev };
}

async function entriesOfIndex(index: "list" | "state" | "owner", partition: string, request: PageRequest) {
  const { name, partition: pk, sort: sk } = indexes[index];
  return cut(await query({ index: name, pk, sk, partition, request, consistent: false }), request);
}

/**
 * A page of a partition of the table itself, strongly consistent. `floor` and `ceiling` bound the sort key, both
 * inclusive.
 */
export async function pageOfPartition<T>(
  partition: string,
  request: PageRequest,
  bounds: { readonly floor?: string } = {},
): Promise<Page<T>> {
  const entries = await query({ pk: "pk", sk: "sk", partition, request, consistent: true, ...bounds });
  const page = cut(entries, request);
  return { items: page.entries.map(({ item }) => readItem<T>(item)), next: page.next, prev: page.prev };
}

interface QueryPlan {
  readonly index?: string;
  readonly pk: string;
  readonly sk: string;
  readonly partition: string;
  readonly request: PageRequest;
  readonly consistent: boolean;
  readonly floor?: string;
  readonly limit?: number;
}

/** Reads one entry more than the page holds: it tells whether there is another page that way. */
async function query(plan: QueryPlan): Promise<Entry[]> {
  const { cursor, descending, limit } = plan.request;
  const forward = cursor?.direction !== "prev";
  const down = descending === forward;
  // A cursor's position is exclusive; `floor` (a filter) is inclusive. Of two lower bounds the higher one counts.
  const position = cursor?.position;
  const values: Record<string, string> = { ":partition": plan.partition };
  const conditions = [`${plan.pk} = :partition`];
  if (position !== undefined && down && plan.floor !== undefined) {
    conditions.push(`${plan.sk} BETWEEN :floor AND :position`);
    Object.assign(values, { ":floor": plan.floor, ":position": position });
  } else if (position !== undefined) {
    conditions.push(`${plan.sk} ${down ? "<" : ">"} :position`);
    values[":position"] = position;
  } else if (plan.floor !== undefined) {
    conditions.push(`${plan.sk} >= :floor`);
    values[":floor"] = plan.floor;
  }
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      ...(plan.index === undefined ? { ConsistentRead: plan.consistent } : { IndexName: plan.index }),
      KeyConditionExpression: conditions.join(" AND "),
      ExpressionAttributeValues: values,
      ScanIndexForward: !down,
      Limit: (plan.limit ?? limit) + 2,
    }),
  );
  return (answer.Items ?? [])
    .map((item) => ({ key: { pk: String(item["pk"]), sk: String(item["sk"]) }, sort: String(item[plan.sk]), item }))
    .filter((entry) => entry.sort !== position);
}

function cut(entries: readonly Entry[], request: PageRequest) {
  const { limit, cursor } = request;
  const backward = cursor?.direction === "prev";
  const kept = entries.slice(0, limit);
  const more = entries.length > limit;
  const page = backward ? kept.toReversed() : kept;
  const first = page.at(0)?.sort;
  const last = page.at(-1)?.sort;
  // Whoever came here by a cursor can go back to where he came from, even when nothing is left on this side.
  const next = backward ? (last ?? cursor.position) : more ? last : undefined;
  const prev = backward ? (more ? first : undefined) : cursor === undefined ? undefined : (first ?? cursor.position);
  return { entries: page, next, prev };
}

/**
 * A page of a tenant's events by sequence, strongly consistent, over the partitions of a million each. The last number
 * is read first: it says where the list ends, so no empty partition is asked.
 */
export async function pageOfEvents<T>(tenant: string, afterSequence: number, request: PageRequest): Promise<Page<T>> {
  const [counter] = await readKeys([sequences.key(tenant)]);
  const last = (counter as { n?: number } | undefined)?.n ?? 0;
  const start = afterSequence + 1;
  const { cursor, descending, limit } = request;
  const forward = cursor?.direction !== "prev";
  const down = descending === forward;
  const from = cursor === undefined ? (down ? last : start) : Math.min(Number(cursor.position), last);
  const entries: Entry[] = [];
  let partition = Math.floor(from / events.per_partition);
  const end = Math.floor((down ? start : last) / events.per_partition);
  while ((down ? partition >= end : partition <= end) && entries.length <= limit) {
    const plan = {
      pk: "pk",
      sk: "sk",
      partition: events.partition(tenant, partition * events.per_partition),
      request,
      consistent: true,
      floor: events.sortOf(start),
      limit: limit - entries.length,
    };
    entries.push(...(await query(plan)));
    partition += down ? -1 : 1;
  }
  const page = cut(entries, request);
  return { items: page.entries.map(({ item }) => readItem<T>(item)), next: page.next, prev: page.prev };
}
