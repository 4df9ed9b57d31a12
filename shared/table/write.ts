import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Change, EntityName, Requirement } from "../domain/decision.ts";
import { sameValue } from "../domain/equality.ts";
import { env } from "../runtime/env.ts";
import {
  accounts,
  applicationRefs,
  applications,
  balances,
  clients,
  contras,
  deliveries,
  type Entity,
  type Key,
  ledgers,
  replays,
  type StoredReply,
  sampleEvents,
  storedReplies,
  tenants,
  transactions,
  uniques,
  unjoinedLegs,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "./entities.ts";

/** One member of a transaction. */
export type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

const entities: Readonly<Record<EntityName, Entity<never>>> = {
  tenant: tenants,
  application: applications,
  application_ref: applicationRefs,
  client: clients,
  account: accounts,
  balance: balances,
  transaction: transactions,
  ledger: ledgers,
  contra: contras,
  webhook: webhooks,
  webhook_health: webhookHealths,
  webhook_count: webhookCounts,
  delivery: deliveries,
  sample_event: sampleEvents,
  replay: replays,
};

/** The full item of a stored kind: its keys, its type tag, its index keys and its own fields. */
export function itemOf<T extends object>(entity: Entity<T>, item: T): Record<string, unknown> {
  return { ...entity.keyOf(item), et: entity.et, ...entity.indexesOf?.(item), ...item };
}

/** Puts an item that must not exist yet. */
export function putNew<T extends object>(entity: Entity<T>, item: T): TransactItem {
  return {
    Put: { TableName: env.tableName, Item: itemOf(entity, item), ConditionExpression: "attribute_not_exists(pk)" },
  };
}

/**
 * Stores the answer of a request with an Idempotency-Key, unless an unexpired one is there; then the transaction fails
 * here and brings the stored one along. Expiry is compared, because DynamoDB deletes late.
 */
export function putReply(reply: StoredReply, nowSeconds: number): TransactItem {
  return {
    Put: {
      TableName: env.tableName,
      Item: itemOf(storedReplies, reply),
      ConditionExpression: "attribute_not_exists(pk) OR expires_at < :now",
      ExpressionAttributeValues: { ":now": nowSeconds },
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    },
  };
}

/** The table's form of one change of a decision. */
export function writeOf(change: Change, tenant: string): TransactItem {
  switch (change.op) {
    case "create":
      return putNew(entities[change.entity] as Entity<object>, change.item);
    case "update":
      return updateItem(
        entities[change.entity] as Entity<typeof change.before>,
        change.before,
        change.after,
        change.require,
      );
    case "adjust": {
      return {
        Update: expression(adjustedKey(change, tenant), change.set ?? {}, change.add ?? {}, [], change.require),
      };
    }
    case "claim":
      return {
        Put: {
          TableName: env.tableName,
          Item: { ...uniques.key(tenant, change.kind, change.value), et: uniques.et, owner_id: change.owner },
          ...(change.instead_of === undefined
            ? { ConditionExpression: "attribute_not_exists(pk)" }
            : {
                ConditionExpression: "owner_id = :owner",
                ExpressionAttributeValues: { ":owner": change.instead_of },
              }),
        },
      };
    case "list":
      return { Put: { TableName: env.tableName, Item: itemOf(unjoinedLegs, change.leg) } };
    case "unlist":
      return { Delete: { TableName: env.tableName, Key: unjoinedLegs.keyOf(change.leg) } };
    case "release":
      return {
        Delete: {
          TableName: env.tableName,
          Key: uniques.key(tenant, change.kind, change.value),
          ConditionExpression: "owner_id = :owner",
          ExpressionAttributeValues: { ":owner": change.owner },
        },
      };
  }
}

function adjustedKey({ entity, id }: Extract<Change, { op: "adjust" }>, tenant: string): Key {
  if (entity === "tenant") return tenants.key(tenant);
  if (entity === "webhook_count") return webhookCounts.key(tenant);
  if (entity === "webhook_health") return webhookHealths.key(tenant, id);
  return entity === "balance" ? balances.key(tenant, id) : clients.key(tenant, id);
}

/**
 * Writes what differs between two versions of an item, on the condition that the stored one is still `before`. An
 * attribute that `after` no longer has, an index key for one, is removed.
 */
export function updateItem<T extends object & { readonly version: number }>(
  entity: Entity<T>,
  before: T,
  after: T,
  require: readonly Requirement[] = [],
): TransactItem {
  const stored: Record<string, unknown> = itemOf(entity, before);
  const wanted: Record<string, unknown> = itemOf(entity, after);
  const set: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(wanted)) if (!sameValue(stored[name], value)) set[name] = value;
  const remove = Object.keys(stored).filter((name) => !(name in wanted));
  const version: Requirement = { attribute: "version", is: "equal", value: before.version };
  return { Update: expression(entity.keyOf(before), set, {}, remove, [version, ...require]) };
}

const comparators = { equal: "=", not: "<>", at_least: ">=", below: "<" } as const;

/**
 * Update of one item from what it sets, adds and removes, on the condition that it exists and meets every requirement.
 */
function expression(
  key: Key,
  set: Readonly<Record<string, unknown>>,
  add: Readonly<Record<string, number | bigint>>,
  remove: readonly string[],
  require: readonly Requirement[],
) {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const name = (attribute: string) => {
    names[`#${attribute}`] = attribute;
    return `#${attribute}`;
  };
  const value = (given: unknown) => {
    const placeholder = `:v${Object.keys(values).length}`;
    values[placeholder] = given;
    return placeholder;
  };
  const clauses = [
    clause("SET", Object.entries(set), ([attribute, given]) => `${name(attribute)} = ${value(given)}`),
    clause("ADD", Object.entries(add), ([attribute, given]) => `${name(attribute)} ${value(given)}`),
    clause("REMOVE", remove, (attribute) => name(attribute)),
  ];
  const conditions = require.map(
    ({ attribute, is, value: wanted }) => `${name(attribute)} ${comparators[is]} ${value(wanted)}`,
  );
  return {
    TableName: env.tableName,
    Key: key,
    UpdateExpression: clauses.filter((text) => text !== "").join(" "),
    ConditionExpression: ["attribute_exists(pk)", ...conditions].join(" AND "),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  };
}

function clause<T>(word: string, members: readonly T[], text: (member: T) => string): string {
  return members.length === 0 ? "" : `${word} ${members.map(text).join(", ")}`;
}
