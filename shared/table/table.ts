import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, DynamoDBDocumentClient, QueryCommand } from "@aws-sdk/lib-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import { limits } from "../limits.ts";
import { bounded, callHandler } from "../runtime/budget.ts";
import { env } from "../runtime/env.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { sound, UnreadableItem } from "../runtime/unreadable.ts";
import { judged } from "../runtime/verdict.ts";
import type { Entity, Key } from "./entities.ts";
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

/** Where the members of a kind come from that are not stored as they are. */
type Former<T> = Pick<Entity<T>, "fromStored">;

/**
 * An item as its kind knows it: no key attributes, and every `_minor` amount a bigint, however small it is. One that
 * cannot be read, since it has a newer schema version than this code knows or is damaged, comes back as the error that
 * says so: the only reader of stored items, which logs the key of each and counts it for the alarm.
 */
export function tryRead<T>(item: Readonly<Record<string, unknown>>, kind?: Former<T>): T | UnreadableItem {
  try {
    const fields = fieldsOf(item);
    return (kind?.fromStored === undefined ? fields : { ...fields, ...kind.fromStored(item) }) as T;
  } catch (error) {
    return reported(item, error);
  }
}

/** An item that turns out to be unreadable, once its body is asked for: logged and counted like any other. */
export function reported({ pk, sk, et }: Readonly<Record<string, unknown>>, error: unknown): UnreadableItem {
  const unreadable = new UnreadableItem(`${pk} ${sk}`, causeOf(error).error_message.replace(/\.$/, ""));
  log.error("A stored item cannot be read.", { type: et, ...causeOf(unreadable) });
  countMetric("ItemUnreadable");
  return unreadable;
}

/**
 * As {@link tryRead}.
 * @throws UnreadableItem a wrong reading must not be answered
 */
export function readItem<T>(item: Readonly<Record<string, unknown>>, kind?: Former<T>): T {
  return sound(tryRead<T>(item, kind));
}

function fieldsOf(item: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { et: type, [versionAttribute]: version = 1 } = item;
  if (!(typeof version === "number" && version <= schemaVersion)) {
    throw new Error(`schema version ${version} of ${type} is not known`);
  }
  const fields: Record<string, unknown> = {};
  // The first list of an environment reads hundreds of members before anything is compiled: no list of pairs is made.
  for (const name of Object.keys(item)) {
    if (keyNames.has(name)) continue;
    const value = item[name];
    if (!isSound(name, value)) throw new Error(`its member ${name} is damaged`);
    fields[name] = typeof value === "number" && name.endsWith("_minor") ? BigInt(value) : value;
  }
  return fields;
}

/**
 * Whether a member is of the type that its name has in all kinds. Only what would be computed with is looked at, since
 * `"1" + 5n` is `"15"`, and what each reader of an item parses; any other damage fails where it is parsed.
 */
function isSound(name: string, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (name.endsWith("_minor")) return typeof value === "bigint" || Number.isSafeInteger(value);
  return !texts.has(name) || typeof value === "string";
}

const texts: ReadonlySet<string> = new Set(["id", "account_id", "client_id", "symbol", "currency"]);

/** An item in DynamoDB's own notation, as errors and streams bring it. */
export function readRawItem<T>(item: Record<string, unknown>): T {
  return readItem<T>(unmarshall(item as Parameters<typeof unmarshall>[0], { wrapNumbers: exactNumber }));
}

/** Results of `read` for records of a stream, without those of items that cannot be read: the others go on. */
export function readRecords<R, T>(records: readonly R[], read: (record: R) => T | undefined): T[] {
  return records.flatMap((record) => {
    try {
      return read(record) ?? [];
    } catch (error) {
      if (error instanceof UnreadableItem) return [];
      throw error;
    }
  });
}
