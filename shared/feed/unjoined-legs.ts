import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { limits } from "../limits.ts";
import { env } from "../runtime/env.ts";
import { unjoinedLegs } from "../table/entities.ts";
import { table } from "../table/table.ts";

/**
 * Transactions of an account with an unjoined leg of this amount, the oldest first and at most as many as are named to
 * a person: one consistent query, since the indexes lag behind and money must not depend on that.
 */
export async function candidatesOf(tenant: string, accountId: string, amountMinor: bigint): Promise<string[]> {
  const answer = await table.send(
    new QueryCommand({
      TableName: env.tableName,
      ConsistentRead: true,
      KeyConditionExpression: "pk = :partition AND begins_with(sk, :prefix)",
      ExpressionAttributeValues: {
        ":partition": unjoinedLegs.partition(tenant, accountId),
        ":prefix": unjoinedLegs.prefixOf(amountMinor),
      },
      Limit: limits.feed.max_candidates,
    }),
  );
  return [...new Set((answer.Items ?? []).map((item) => String(item["transaction_id"])))];
}
