import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, DynamoDBDocumentClient, QueryCommand } from "@aws-sdk/lib-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { limits } from "../limits.ts";
import { bounded, callHandler } from "../runtime/budget.ts";
import { env } from "../runtime/env.ts";
import { judged } from "../runtime/verdict.ts";
import type { Key } from "./entities.ts";
import { metered } from "./metered.ts";
import { facetsAttribute, schemaVersion, versionAttribute } from "./table-shape.ts";

/** Commands that only read: they wait for no verdict, and take read units. */
const reads = [BatchGetCommand, QueryCommand];

/**
 * The one connection of a function to its tables. A number that a double cannot hold exactly becomes a bigint; money is
 * made a bigint always, see {@link readItem}. Its tries are the only ones of a call: what it gives up is not sent again
 * within the same request (ADR 0032). Everything but reads waits until the rate counter allows the request (0044).
 */
export const table = judged(
  metered(
    bounded(
      DynamoDBDocumentClient.from(
        new DynamoDBClient({ maxAttempts: limits.calls.attempts, requestHandler: callHandler() }),
        {
          marshallOptions: { removeUndefinedValues: true },
          unmarshallOptions: { wrapNumbers: exactNumber },
        },
      ),
    ),
    reads,
  ),
  reads,
);

/** The name of the table that a key is of. */
export function tableOf({ volatile, keys }: Pick<Key, "volatile" | "keys">): string {
  if (keys) return env.keyTableName;
  return volatile ? env.volatileTableName : env.tableName;
}

function exactNumber(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(text) ? value : BigInt(text);
}

const keyNames = new Set([
  "pk",
  "sk",
  "et",
  versionAttribute,
  facetsAttribute,
  ...["list", "state", "owner", "client", "due"].flatMap((index) => [`${index}_pk`, `${index}_sk`]),
]);

/**
 * An item as its kind knows it: no key attributes, and every `_minor` amount a bigint, however small it is.
 * @throws Error when the item has a newer schema version than this code knows: a wrong reading must not be answered
 */
export function readItem<T>(item: Record<string, unknown>): T {
  const { et: type, [versionAttribute]: version } = item;
  if (typeof version === "number" && version > schemaVersion(String(type))) {
    throw new Error(`An item of type ${String(type)} has schema version ${version}, which this code does not know.`);
  }
  const fields: Record<string, unknown> = {};
  // The first list of an environment reads hundreds of members before anything is compiled: no list of pairs is made.
  for (const name of Object.keys(item)) {
    if (keyNames.has(name)) continue;
    const value = item[name];
    fields[name] = typeof value === "number" && name.endsWith("_minor") ? BigInt(value) : value;
  }
  return fields as T;
}

/** An item in DynamoDB's own notation, as errors and streams bring it. */
export function readRawItem<T>(item: Record<string, unknown>): T {
  return readItem<T>(unmarshall(item as Parameters<typeof unmarshall>[0], { wrapNumbers: exactNumber }));
}
