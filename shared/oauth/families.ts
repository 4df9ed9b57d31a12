import { PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { Family, RevocationReason } from "../domain/family.ts";
import { nowIso } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { families } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { readRawItem, table } from "../table/table.ts";
import { itemOf } from "../table/write.ts";

/** Stores a new family. Its id was just drawn, so there is nothing to compare, and a repeat by the SDK does no harm. */
export async function putFamily(family: Family): Promise<void> {
  await table.send(new PutCommand({ TableName: env.tableName, Item: itemOf(families, family) }));
}

/** A family, strongly consistent; undefined when there is none. */
export async function readFamily(tenant: string, id: string): Promise<Family | undefined> {
  const [found] = await readKeys([families.key(tenant, id)]);
  return found as Family | undefined;
}

/**
 * Moves a family on to its next refresh token, in one conditional write: of any number of requests at once one does it.
 * Returns the family as it is stored then: `after`, or what another request made of it; undefined when it is gone.
 */
export async function rotateFamily(before: Family, after: Family): Promise<Family | undefined> {
  try {
    await table.send(
      new UpdateCommand({
        TableName: env.tableName,
        Key: families.keyOf(before),
        UpdateExpression:
          "SET generation = :next, rotated_at = :now, refresh_until = :until, expires_at = :end, secret_number = :sn",
        ConditionExpression: "generation = :current AND attribute_not_exists(revoked_at)",
        ExpressionAttributeValues: {
          ":current": before.generation,
          ":next": after.generation,
          ":now": after.rotated_at,
          ":until": after.refresh_until,
          ":end": after.expires_at,
          ":sn": after.secret_number,
        },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
    return after;
  } catch (error) {
    const { name, Item: item } = error as { name?: string; Item?: Record<string, unknown> };
    if (name !== "ConditionalCheckFailedException") throw error;
    return item === undefined ? undefined : readRawItem<Family>(item);
  }
}

/** Ends a family for good, with all its tokens. Returns whether it lived until now. */
export async function revokeFamily(tenant: string, id: string, reason: RevocationReason): Promise<boolean> {
  try {
    await table.send(
      new UpdateCommand({
        TableName: env.tableName,
        Key: families.key(tenant, id),
        UpdateExpression: "SET revoked_at = :now, revoked_for = :reason",
        ConditionExpression: "attribute_exists(pk) AND attribute_not_exists(revoked_at)",
        ExpressionAttributeValues: { ":now": nowIso(), ":reason": reason },
      }),
    );
    return true;
  } catch (error) {
    if ((error as Error).name === "ConditionalCheckFailedException") return false;
    throw error;
  }
}
