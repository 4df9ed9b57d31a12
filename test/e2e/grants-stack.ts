import { PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import { limits } from "../../shared/limits.ts";
import { risks } from "../../shared/table/entities.ts";
import { tableClient, tableNameOf } from "../support/stack/cloud-tables.ts";
import type { Stack } from "../support/stack/stack.ts";
import { eventually } from "../support/wait.ts";

/**
 * Statements that nothing has needed yet. What a role allows to the logs and traces of its function is used by the
 * service itself, not by a call of ours.
 */
export function unused({ cloud }: Stack): string[] {
  const found = cloud.unusedGrants().filter(({ reason }) => reason === undefined);
  return found.map(({ function: name, statement }) => `${name} ${statement}`);
}

/** Writes items past every role, in the place of what is not told here. */
export async function put(
  stack: Stack,
  table: "main" | "volatile",
  ...items: Record<string, unknown>[]
): Promise<void> {
  const client = tableClient(stack.cloud);
  const TableName = tableNameOf(stack.cloud, table);
  for (const item of items) await client.send(new PutItemCommand({ TableName, Item: marshall(item) }));
  client.destroy();
}

/** Moves the trigger that is stored of an account's EURUSD so far away that the next decision places it again. */
async function misplaceTrigger(stack: Stack, account_id: string): Promise<void> {
  const { pk, sk } = risks.key(stack.tenant_id, account_id);
  const triggers = [{ symbol: "EURUSD", down: "1", up: null, shards: limits.trading.exposure_shards }];
  const client = tableClient(stack.cloud);
  await client.send(
    new UpdateItemCommand({
      TableName: tableNameOf(stack.cloud, "main"),
      Key: marshall({ pk, sk }),
      UpdateExpression: "SET triggers = :triggers",
      ExpressionAttributeValues: marshall({ ":triggers": triggers }),
    }),
  );
  client.destroy();
}

/**
 * Repeats a change of the money of an account until its function has deleted the entry of a trigger: an evaluation of
 * the change before may place the trigger sooner.
 */
export async function withPlacing(
  { stack, account_id }: { readonly stack: Stack; readonly account_id: string },
  functionName: string,
  { prepare, change }: { readonly prepare: () => Promise<string>; readonly change: (made: string) => Promise<unknown> },
): Promise<void> {
  await eventually(async () => {
    const made = await prepare();
    await misplaceTrigger(stack, account_id);
    await change(made);
    return !unused(stack).includes(`brokerage-sandbox-${functionName} Delete`) || undefined;
  }, 60_000);
}
