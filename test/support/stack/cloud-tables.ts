import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Cloud } from "../../../infra/local/cloud.ts";

/** A client for the tables of a running stack, past every role; its caller ends it. */
export function tableClient({ dynamodbEndpoint: endpoint, region }: Cloud): DynamoDBClient {
  return new DynamoDBClient({ endpoint, region, credentials: { accessKeyId: "test", secretAccessKey: "test" } });
}

/**
 * The name of one of its three tables.
 * @throws Error when the stack has none such
 */
export function tableNameOf({ tables }: Cloud, table: "main" | "volatile" | "keys"): string {
  const found = Object.entries(tables).find(([path]) => new RegExp(`tables\\W*${table}`, "i").test(path));
  if (found === undefined) throw new Error(`The stack has no ${table} table.`);
  return found[1];
}
