import { UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { Application } from "../domain/application.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { log } from "../runtime/log.ts";
import { applications } from "../table/entities.ts";
import { table } from "../table/table.ts";

/**
 * Notes that an application got a token. It asks for one at least every hour while it is in use, so the authorizer,
 * which sees every request, need not write at all; and at most one of its requests in five minutes writes, so no item
 * gets hot. Nobody waits for a write that fails: the next request does it.
 */
export async function noteUse(application: Application): Promise<void> {
  const { last_used_at: seen, tenant_id, id } = application;
  const now = nowMs();
  if (seen !== null && now - Date.parse(seen) < limits.applications.last_used_seconds * 1000) return;
  try {
    await table.send(
      new UpdateCommand({
        TableName: env.tableName,
        Key: applications.key(tenant_id, id),
        UpdateExpression: "SET last_used_at = :now",
        ConditionExpression: "attribute_exists(pk) AND last_used_at = :seen",
        ExpressionAttributeValues: { ":now": new Date(now).toISOString(), ":seen": seen },
      }),
    );
  } catch (error) {
    const { name } = error as Error;
    if (name !== "ConditionalCheckFailedException")
      log.warn("A use was not noted.", { application_id: id, error: name });
  }
}
