import type { tradingFloor } from "../builders/trading-floor.ts";
import { tableNameOf } from "./cloud-tables.ts";
import type { Stack } from "./stack.ts";

/**
 * Acts of a running stack's first tenant on its market, past the API: decisions are made in the test process and
 * committed to the tables of the stack. The clients of the AWS SDK read the environment once, so a process can have the
 * floor of one stack.
 */
export async function floorOf({ cloud, tenant_id }: Stack): Promise<ReturnType<typeof tradingFloor>> {
  Object.assign(process.env, {
    TABLE_NAME: tableNameOf(cloud, "main"),
    VOLATILE_TABLE_NAME: tableNameOf(cloud, "volatile"),
    KEY_TABLE_NAME: tableNameOf(cloud, "keys"),
    STAGE: "sandbox",
    AWS_ENDPOINT_URL_DYNAMODB: cloud.dynamodbEndpoint,
    AWS_REGION: cloud.region,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  });
  const module = await import("../builders/trading-floor.ts");
  return module.tradingFloor(tenant_id);
}
