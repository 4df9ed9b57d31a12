import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Role } from "../../../shared/roles.ts";
import { drawPersonKey } from "../../../shared/runtime/person-key.ts";
import { personKeys } from "../../../shared/table/entities.ts";
import { itemOf } from "../../../shared/table/write.ts";
import type { TestApi } from "../emulator/api.ts";
import { asOperator, type TestCaller } from "../emulator/request.ts";

/** An operator of the same brokerage whose key is in the table of keys, as one who was invited has it. */
export async function keyedOperator(
  { emulator }: Pick<TestApi, "emulator">,
  caller: TestCaller,
  name: string,
  role: Role,
): Promise<TestCaller & Required<Pick<TestCaller, "operator">>> {
  const { operator } = asOperator(caller, name, role);
  if (operator === undefined) throw new Error("The caller is no operator.");
  const { public_key: audit_key, private_key } = drawPersonKey();
  const key = { tenant_id: caller.tenant_id, person_id: operator.id, private_key };
  const Item = marshall(itemOf(personKeys, key));
  await emulator.client.send(new PutItemCommand({ TableName: emulator.keyTableName, Item }));
  return { ...asOperator(caller, name, role), operator: { ...operator, audit_key } };
}
