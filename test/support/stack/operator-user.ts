import { randomUUID } from "node:crypto";
import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall, unmarshall } from "@aws-sdk/util-dynamodb";
import type { Role } from "../../../shared/roles.ts";
import { operatorKeys, operators } from "../../../shared/table/entities.ts";
import { eventually } from "../wait.ts";
import { tableClient, tableNameOf } from "./cloud-tables.ts";
import type { SignInUser } from "./sign-in.ts";
import type { Stack } from "./stack.ts";

/** An operator of a stack's brokerage who can sign in at once. */
export interface OperatorUser extends SignInUser {
  readonly id: string;
}

/**
 * Invites an operator whose user the pool has already, and waits until provisioning has bound the one to the other.
 * @param brokerage that of the stack if omitted
 * @param known a person who works for another brokerage
 */
export async function newOperator(
  stack: Stack,
  role: Role,
  brokerage: Pick<Stack, "api" | "tenant_id"> = stack,
  known?: SignInUser,
): Promise<OperatorUser> {
  const user = known ?? stack.cloud.pool?.makeReady(`${role}.${randomUUID()}@example.com`);
  if (user === undefined) throw new Error("The stack has no user pool.");
  const body = { email: user.email, name: `A ${role}`, role };
  const { id } = (await brokerage.api.call<{ id: string }>("POST", "/operators", { body })).body;
  const client = tableClient(stack.cloud);
  const TableName = tableNameOf(stack.cloud, "main");
  for (const { pk, sk } of [operators.key(brokerage.tenant_id, id), operatorKeys.key(brokerage.tenant_id)]) {
    await eventually(async () => {
      const { Item: item = {} } = await client.send(new GetItemCommand({ TableName, Key: marshall({ pk, sk }) }));
      return unmarshall(item)["wake_at"] === null || undefined;
    });
  }
  client.destroy();
  return { ...user, id };
}
