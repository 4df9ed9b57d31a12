import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import type { Attempt, Delivery } from "../domain/delivery.ts";
import { env } from "../runtime/env.ts";
import { attempts, deliveries } from "./entities.ts";
import { type Load, ref } from "./store.ts";
import { readItem, table } from "./table.ts";

/** Places in a list of accounts of those that the tenant has not got. */
export async function unknownPlaces(load: Load, ids: readonly string[] | null | undefined): Promise<readonly number[]> {
  if (!ids || ids.length === 0) return [];
  const found = await load(Object.fromEntries(ids.map((id) => [id, ref.account(id)])));
  return ids.flatMap((id, place) => (found[id] === undefined ? [place] : []));
}

/** A delivery with every attempt of it, strongly consistent: all of its partition. */
export async function deliveryPartition(
  tenant: string,
  id: string,
): Promise<{ readonly delivery: Delivery | undefined; readonly attempts: readonly Attempt[] }> {
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      ConsistentRead: true,
      KeyConditionExpression: "pk = :partition",
      ExpressionAttributeValues: { ":partition": deliveries.key(tenant, id).pk },
    }),
  );
  const items = answer.Items ?? [];
  const own = <T>(type: string) => items.filter((item) => item["et"] === type).map((item) => readItem<T>(item));
  return { delivery: own<Delivery>(deliveries.et)[0], attempts: own<Attempt>(attempts.et) };
}
