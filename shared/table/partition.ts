import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { env } from "../runtime/env.ts";
import type { Key } from "./entities.ts";
import { table, tableOf } from "./table.ts";
import { type IndexName, type indexes, keyAttributes } from "./table-shape.ts";

/** An item as it is stored, or what an index carries of it. */
export type StoredAttributes = Readonly<Record<string, unknown>>;

/** An index whose partitions are read, by its names: `indexes.state`. */
type Index = (typeof indexes)[IndexName];

/** A read of a partition. */
export interface PartitionQuery {
  /** Index whose partition it is; the table's own without it. */
  readonly index?: Index | undefined;
  /** Whether the partition is in the volatile table. */
  readonly volatile?: boolean;
  /** Prefix of the sort keys; not together with a bound, since DynamoDB takes one condition. */
  readonly prefix?: string;
  /** Lowest sort key, inclusive. */
  readonly from?: string | undefined;
  /** Highest sort key, inclusive. */
  readonly to?: string | undefined;
  /** Reads of the table itself are strongly consistent by default; those of an index cannot be. */
  readonly consistent?: boolean;
  /** Attributes that are read; all of them without it. */
  readonly attributes?: readonly string[] | undefined;
  readonly descending?: boolean;
  /** Items that one call reads at the most. */
  readonly page_size?: number | undefined;
}

/** The place in a partition where a read goes on. */
export type PartitionPosition = Record<string, unknown>;

/** Result of one call on a partition. */
export interface PartitionPage {
  readonly items: readonly StoredAttributes[];
  /** Where the next call goes on; undefined when nothing is left. */
  readonly next: PartitionPosition | undefined;
}

/**
 * Reads one page of a partition in the order of its sort keys, from a position on: one call. Members of it that are
 * undefined are not sent.
 */
export async function readPage(
  partition: string,
  { index, volatile = false, prefix, from, to, consistent = true, attributes, descending, page_size }: PartitionQuery,
  start?: PartitionPosition,
): Promise<PartitionPage> {
  const { partition: pk, sort: sk } = index ?? keyAttributes;
  const low = from === undefined ? "" : to === undefined ? ` AND ${sk} >= :low` : ` AND ${sk} BETWEEN :low AND :high`;
  const bound = low === "" && to !== undefined ? ` AND ${sk} <= :high` : low;
  const answer = await table.send(
    new QueryCommand({
      TableName: tableOf({ volatile }),
      IndexName: index?.name,
      ConsistentRead: index ? undefined : consistent,
      KeyConditionExpression: `${pk} = :pk${prefix === undefined ? bound : ` AND begins_with(${sk}, :low)`}`,
      ExpressionAttributeValues: { ":pk": partition, ":low": prefix ?? from, ":high": to },
      ExclusiveStartKey: start,
      ScanIndexForward: !descending,
      Limit: page_size,
      // Placeholders, since some names are reserved words.
      ProjectionExpression: attributes?.map((name) => `#${name}`).join(),
      ExpressionAttributeNames: attributes && Object.fromEntries(attributes.map((name) => [`#${name}`, name])),
    }),
  );
  return { items: answer.Items ?? [], next: answer.LastEvaluatedKey };
}

/** The pages of a partition, one call each, to its end. */
export async function* pagesOf(partition: string, query: PartitionQuery): AsyncGenerator<PartitionPage> {
  let page: PartitionPage | undefined;
  do {
    page = await readPage(partition, query, page?.next);
    yield page;
  } while (page.next !== undefined);
}

/**
 * All items of a partition in the order of their sort keys, as they are stored; with `max_items` the first ones, and no
 * call asks for more than are missing.
 */
export async function readPartition(
  partition: string,
  query: PartitionQuery & { readonly max_items?: number } = {},
): Promise<StoredAttributes[]> {
  const found: StoredAttributes[] = [];
  let page: PartitionPage | undefined;
  let left = query.max_items;
  do {
    page = await readPage(partition, { ...query, page_size: left }, page?.next);
    found.push(...page.items);
    left &&= left - page.items.length;
  } while (page.next && left !== 0);
  return found;
}

/** How many entries a partition of an index has, counted up to `most`; none of them is sent. */
export async function countEntries(index: Index, partition: string, most: number): Promise<number> {
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      IndexName: index.name,
      KeyConditionExpression: `${index.partition} = :partition`,
      ExpressionAttributeValues: { ":partition": partition },
      Select: "COUNT",
      Limit: most,
    }),
  );
  return answer.Count ?? 0;
}

/** The primary key of an item, or of an entry of an index. */
export function keyIn(item: StoredAttributes): Key {
  return { pk: String(item["pk"]), sk: String(item["sk"]) };
}
