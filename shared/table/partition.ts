import { QueryCommand } from "@aws-sdk/lib-dynamodb";
import { env } from "../runtime/env.ts";
import { table } from "./table.ts";

/** Which items of a partition are read, and how. */
interface PartitionOptions {
  /** What their sort keys begin with; all of them without it. */
  readonly prefix?: string;
  /** The sort key that they come after; not together with a prefix, since DynamoDB takes one condition. */
  readonly after?: string;
  /** Strongly consistent unless told otherwise. */
  readonly consistent?: boolean;
  /** The attributes that are read; all of them without it. */
  readonly attributes?: readonly string[];
}

/** What asks for these attributes alone, by names that are no words of DynamoDB's own. */
export function projection(attributes: readonly string[]) {
  return {
    ProjectionExpression: attributes.map((name) => `#${name}`).join(", "),
    ExpressionAttributeNames: Object.fromEntries(attributes.map((name) => [`#${name}`, name])),
  };
}

/** All items of a partition of the main table in the order of their sort keys, as they are stored. */
export async function readPartition(
  partition: string,
  { prefix, after, consistent = true, attributes }: PartitionOptions = {},
): Promise<Record<string, unknown>[]> {
  const begin = prefix === undefined ? "" : " AND begins_with(sk, :prefix)";
  const bound = after === undefined ? begin : " AND sk > :after";
  const found: Record<string, unknown>[] = [];
  let start: Record<string, unknown> | undefined;
  do {
    const answer = await table.send(
      new QueryCommand({
        TableName: env.tableName,
        ConsistentRead: consistent,
        KeyConditionExpression: `pk = :partition${bound}`,
        ExpressionAttributeValues: {
          ":partition": partition,
          ...(prefix !== undefined && { ":prefix": prefix }),
          ...(after !== undefined && { ":after": after }),
        },
        ExclusiveStartKey: start,
        ...(attributes && projection(attributes)),
      }),
    );
    found.push(...(answer.Items ?? []));
    start = answer.LastEvaluatedKey;
  } while (start !== undefined);
  return found;
}
