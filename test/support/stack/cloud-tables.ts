import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Cloud } from "../../../infra/local/cloud.ts";

/** A client for the tables of a running stack, past every role; its caller ends it. */
export function tableClient({ dynamodbEndpoint: endpoint, region }: Cloud): DynamoDBClient {
  return new DynamoDBClient({ endpoint, region, credentials: { accessKeyId: "test", secretAccessKey: "test" } });
}

/**
 * The name of one of its two tables.
 * @throws Error when the stack has none such
 */
export function tableNameOf({ tables }: Cloud, table: "main" | "volatile"): string {
  const found = Object.entries(tables).find(([path]) => /volatile/i.test(path) === (table === "volatile"));
  if (found === undefined) throw new Error(`The stack has no ${table} table.`);
  return found[1];
}
