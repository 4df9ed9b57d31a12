import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  type AttributeValue,
  BatchGetItemCommand,
  type BatchGetItemCommandOutput,
  BatchWriteItemCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ListTagsOfResourceCommand,
  QueryCommand,
  RestoreTableToPointInTimeCommand,
  ScanCommand,
  type ScanCommandOutput,
  type TableDescription,
  TagResourceCommand,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import { ttlAttribute } from "../../../shared/table/table-shape.ts";
import type { Compared } from "./journal.ts";

/** An item as the wire has it. */
export type Item = Record<string, AttributeValue>;

/** Bounds of DynamoDB's calls (AWS docs: BatchGetItem, BatchWriteItem). */
const [readAtOnce, writtenAtOnce] = [100, 25];
/** How often a table is looked at that is being made, ms. */
const lookMs = 2000;
/** When what a batch left out for its rate is asked for again, ms. */
const againMs = 200;

/** The description of a table; undefined where there is none. */
async function describe(client: DynamoDBClient, name: string): Promise<TableDescription | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName: name }))).Table;
  } catch (error) {
    if (error instanceof Error && error.name === "ResourceNotFoundException") return undefined;
    throw error;
  }
}

/** Waits until a table and its indexes can be used. */
async function active(client: DynamoDBClient, name: string): Promise<TableDescription> {
  for (;;) {
    const table = await describe(client, name);
    const indexes = table?.GlobalSecondaryIndexes ?? [];
    const isReady = indexes.every(({ IndexStatus: status }) => status === "ACTIVE" || status === undefined);
    if (table?.TableStatus === "ACTIVE" && isReady) return table;
    await setTimeout(lookMs);
  }
}

/** Makes the table of the moment, unless an earlier run has asked for it. */
export async function restoreTable(
  client: DynamoDBClient,
  { source, target, at }: { readonly source: string; readonly target: string; readonly at: string },
): Promise<void> {
  if ((await describe(client, target)) === undefined) {
    const names = { SourceTableName: source, TargetTableName: target };
    await client.send(new RestoreTableToPointInTimeCommand({ ...names, RestoreDateTime: new Date(at) }));
  }
  await active(client, target);
}

/** The items of a table, page by page; of these types only, where they are given. Read strongly. */
export async function* scanned(client: DynamoDBClient, table: string, types: readonly string[] = []) {
  const values = Object.fromEntries(types.map((type, at) => [`:t${at}`, { S: type }]));
  const filter = types.length > 0 && {
    FilterExpression: `et IN (${Object.keys(values).join(", ")})`,
    ExpressionAttributeValues: values,
  };
  yield* pagesOf((ExclusiveStartKey) =>
    client.send(new ScanCommand({ TableName: table, ConsistentRead: true, ExclusiveStartKey, ...filter })),
  );
}

/** The items of a partition of a table, page by page. Read strongly. */
export async function* partitionOf(client: DynamoDBClient, table: string, partition: string) {
  const query = {
    ...{ TableName: table, ConsistentRead: true, KeyConditionExpression: "pk = :pk" },
    ExpressionAttributeValues: { ":pk": { S: partition } },
  };
  yield* pagesOf((ExclusiveStartKey) => client.send(new QueryCommand({ ...query, ExclusiveStartKey })));
}

type Page = Pick<ScanCommandOutput, "Items" | "LastEvaluatedKey">;

async function* pagesOf(read: (start: Item | undefined) => Promise<Page>): AsyncGenerator<Item[]> {
  let start: Item | undefined;
  do {
    const page: Page = await read(start);
    yield page.Items ?? [];
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
}

/** The key of an item. */
export const keyOf = ({ pk = { S: "" }, sk = { S: "" } }: Item) => ({ pk, sk });
const textOf = (item: Item) => JSON.stringify(keyOf(item));

/** The items of these keys that a table has, by their keys. */
export async function itemsOf(
  client: DynamoDBClient,
  table: string,
  keys: readonly Item[],
): Promise<Map<string, Item>> {
  const parts = Array.from({ length: Math.ceil(keys.length / readAtOnce) }, (_, part) =>
    keys.slice(part * readAtOnce, (part + 1) * readAtOnce).map(keyOf),
  );
  const found = await Promise.all(parts.map((part) => readItems(client, table, part)));
  return new Map(found.flat().map((item) => [textOf(item), item]));
}

async function readItems(client: DynamoDBClient, table: string, keys: Item[]): Promise<Item[]> {
  const found: Item[] = [];
  let asked: Item[] | undefined = keys;
  for (;;) {
    const requests = { [table]: { Keys: asked, ConsistentRead: true } };
    const answer: BatchGetItemCommandOutput = await client.send(new BatchGetItemCommand({ RequestItems: requests }));
    found.push(...(answer.Responses?.[table] ?? []));
    asked = answer.UnprocessedKeys?.[table]?.Keys;
    if (asked === undefined || asked.length === 0) return found;
    await setTimeout(againMs);
  }
}

/** Counts what differs: the restored table is read and looked up in the other one, which is counted. */
export async function compareTables(client: DynamoDBClient, source: string, target: string): Promise<Compared> {
  const counts = { same: 0, changed: 0, deleted: 0 };
  for await (const page of scanned(client, target)) {
    const others = await itemsOf(client, source, page);
    for (const item of page) {
      const other = others.get(textOf(item));
      if (other === undefined) counts.deleted += 1;
      else if (isDeepStrictEqual(other, item)) counts.same += 1;
      else counts.changed += 1;
    }
  }
  let all = 0;
  for await (const page of scanned(client, source)) all += page.length;
  return { ...counts, made: all - counts.same - counts.changed };
}

/** Those of the items that a table does not have, or has otherwise. */
export async function missingItems(client: DynamoDBClient, table: string, items: readonly Item[]): Promise<Item[]> {
  const there = await itemsOf(client, table, items);
  return items.filter((item) => !isDeepStrictEqual(there.get(textOf(item)), item));
}

/** Writes items, each over the one that is there. */
export async function putItems(client: DynamoDBClient, table: string, items: readonly Item[]): Promise<void> {
  for (let at = 0; at < items.length; at += writtenAtOnce) {
    let left = items.slice(at, at + writtenAtOnce).map((Item) => ({ PutRequest: { Item } }));
    for (;;) {
      const answer = await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: left } }));
      left = (answer.UnprocessedItems?.[table] ?? []) as typeof left;
      if (left.length === 0) break;
      await setTimeout(againMs);
    }
  }
}

/**
 * Gives the restored table what a restore leaves out: stream, time to live, recovery, deletion protection and tags, the
 * last three as the other table has them. Returns the ARN of its stream.
 */
export async function setUp(client: DynamoDBClient, source: string, target: string): Promise<string> {
  const [from, to] = [await describe(client, source), await active(client, target)];
  if (to.StreamSpecification?.StreamEnabled !== true) {
    const StreamSpecification = { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } as const;
    await client.send(new UpdateTableCommand({ TableName: target, StreamSpecification }));
    await active(client, target);
  }
  const { TimeToLiveDescription: ttl } = await client.send(new DescribeTimeToLiveCommand({ TableName: target }));
  if (ttl?.TimeToLiveStatus !== "ENABLED" && ttl?.TimeToLiveStatus !== "ENABLING") {
    const TimeToLiveSpecification = { Enabled: true, AttributeName: ttlAttribute };
    await client.send(new UpdateTimeToLiveCommand({ TableName: target, TimeToLiveSpecification }));
  }
  const backups = await client.send(new DescribeContinuousBackupsCommand({ TableName: source }));
  const { PointInTimeRecoveryDescription: recovery } = backups.ContinuousBackupsDescription ?? {};
  if (recovery?.PointInTimeRecoveryStatus === "ENABLED") {
    const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
    await client.send(new UpdateContinuousBackupsCommand({ TableName: target, PointInTimeRecoverySpecification }));
  }
  if (from?.DeletionProtectionEnabled === true && to.DeletionProtectionEnabled !== true) {
    await client.send(new UpdateTableCommand({ TableName: target, DeletionProtectionEnabled: true }));
    await active(client, target);
  }
  const { Tags: tags = [] } = await client.send(new ListTagsOfResourceCommand({ ResourceArn: from?.TableArn }));
  // The tags of CloudFormation's own are set by it alone.
  const own = tags.filter(({ Key: name = "" }) => !name.startsWith("aws:"));
  if (own.length > 0) await client.send(new TagResourceCommand({ ResourceArn: to.TableArn, Tags: own }));
  const stream = (await active(client, target)).LatestStreamArn;
  if (stream === undefined) throw new UsageError(`The table ${target} has no stream yet: repeat the command.`);
  return stream;
}
