import { PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { env } from "../runtime/env.ts";
import { type PublicKey, publicKeys } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { readItem, table } from "../table/table.ts";
import { itemOf } from "../table/write.ts";

/** Every published key, expired ones that DynamoDB has not deleted yet included; strongly consistent. */
export async function publishedKeys(): Promise<readonly PublicKey[]> {
  return (await readPartition(publicKeys.partition)).map((item) => readItem<PublicKey>(item));
}

/** Publishes a key, or publishes it again as it is now. */
export async function publishKey(key: PublicKey): Promise<void> {
  await table.send(new PutCommand({ TableName: env.tableName, Item: itemOf(publicKeys, key) }));
}

/** Lets a published key expire at this time, in seconds since 1970. */
export async function expireKey(kid: string, expires_at: number): Promise<void> {
  await table.send(
    new UpdateCommand({
      TableName: env.tableName,
      Key: publicKeys.key(kid),
      UpdateExpression: "SET expires_at = :at",
      ExpressionAttributeValues: { ":at": expires_at },
    }),
  );
}
