import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { duePartition, type Key } from "./entities.ts";
import { table } from "./table.ts";
import { indexes } from "./table-shape.ts";

/** Keys of due items of one kind, at most a page from each shard. */
export async function overdueKeys(kind: string): Promise<Key[]> {
  const shards = Array.from({ length: limits.events.due_shards }, (_, shard) => duePartition(shard));
  const pages = await Promise.all(shards.map((shard) => overdueIn(shard)));
  return pages.flat().filter(({ due }) => due.split("|")[1] === kind);
}

async function overdueIn(shard: string): Promise<(Key & { readonly due: string })[]> {
  const { name, partition, sort } = indexes.due;
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      IndexName: name,
      KeyConditionExpression: `${partition} = :shard AND ${sort} <= :now`,
      ExpressionAttributeValues: { ":shard": shard, ":now": nowIso() },
      Limit: limits.events.due_page,
    }),
  );
  return (answer.Items ?? []).map((item) => ({
    pk: String(item["pk"]),
    sk: String(item["sk"]),
    due: String(item[sort]),
  }));
}
