import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import type { Requirement } from "../domain/kernel/decision.ts";
import { sameValue } from "../domain/kernel/equality.ts";
import type { Change, EntityName } from "../domain/records/change.ts";
import { env } from "../runtime/env.ts";
import {
  accounts,
  applicationRefs,
  applications,
  balances,
  bookDays,
  clients,
  commands,
  contras,
  deliveries,
  type Entity,
  findables,
  jobCounts,
  jobs,
  type Key,
  ledgers,
  linkProposals,
  operatorKeys,
  operators,
  personKeys,
  replays,
  reviews,
  type StoredReply,
  sampleEvents,
  storedReplies,
  tenants,
  transactions,
  transferQuotes,
  uniques,
  unjoinedLegs,
  webhookCounts,
  webhookHealths,
  webhooks,
} from "./entities.ts";
import { type Condition, expressionOf, type ItemChange, isNew, isStored } from "./expression.ts";
import { tableOf } from "./table.ts";
import { schemaVersion, versionAttribute } from "./table-shape.ts";

/** One member of a transaction. */
export type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];

const entities: Readonly<Record<EntityName, Entity<never>>> = {
  tenant: tenants,
  application: applications,
  application_ref: applicationRefs,
  operator: operators,
  operator_key: operatorKeys,
  person_key: personKeys,
  client: clients,
  review: reviews,
  account: accounts,
  balance: balances,
  link_proposal: linkProposals,
  transaction: transactions,
  transfer_quote: transferQuotes,
  command: commands,
  ledger: ledgers,
  contra: contras,
  day: bookDays,
  webhook: webhooks,
  webhook_health: webhookHealths,
  webhook_count: webhookCounts,
  delivery: deliveries,
  sample_event: sampleEvents,
  replay: replays,
  job: jobs,
  job_count: jobCounts,
};

/** The full item of a stored kind: its keys, its type tag, its index keys and its own fields. */
export function itemOf<T extends object>(entity: Entity<T>, item: T): Record<string, unknown> {
  const { pk, sk } = entity.keyOf(item);
  return { pk, sk, ...typeTag(entity.et), ...entity.indexesOf?.(item), ...(entity.toStored?.(item) ?? item) };
}

/** Tag of every item: its type, and the schema version that it is written in. */
export function typeTag(type: string): Readonly<Record<string, string | number>> {
  return { et: type, [versionAttribute]: schemaVersion };
}

function tableKey(key: Key) {
  return { TableName: tableOf(key), Key: { pk: key.pk, sk: key.sk } };
}

/** The key of the item that a member of a transaction is about. */
export function keyIn({ Put: put, Update: update, Delete: deleted, ConditionCheck: check }: TransactItem): Key {
  const { TableName: name, Key: key } = update ?? deleted ?? check ?? { TableName: put?.TableName, Key: put?.Item };
  return { pk: String(key?.["pk"]), sk: String(key?.["sk"]), volatile: name === env.volatileTableName };
}

/** Puts an item, in the place of one that is there unless a condition says otherwise. */
export function putMember<T extends object>(entity: Entity<T>, item: T, when?: ItemChange["when"]) {
  const TableName = tableOf(entity.keyOf(item));
  return { Put: { TableName, Item: itemOf(entity, item), ...expressionOf({ when }) } };
}

/** Changes an item; without a condition it is made where there is none. */
export function changeMember(key: Key, change: ItemChange) {
  const { UpdateExpression = "", ...condition } = expressionOf(change);
  return { Update: { ...tableKey(key), UpdateExpression, ...condition } };
}

/** Deletes an item if there is one. */
export function deleteMember(key: Key, when?: ItemChange["when"]) {
  return { Delete: { ...tableKey(key), ...expressionOf({ when }) } };
}

/** Changes nothing: the transaction holds only while these conditions do. */
export function checkMember(key: Key, when: NonNullable<ItemChange["when"]>) {
  const { ConditionExpression = "", ...condition } = expressionOf({ when });
  return { ConditionCheck: { ...tableKey(key), ConditionExpression, ...condition } };
}

/** Puts an item that must not exist yet. */
export function putNew<T extends object>(entity: Entity<T>, item: T) {
  return putMember(entity, item, [isNew]);
}

/**
 * Stores the answer of a request with an Idempotency-Key, unless an unexpired one is there; then the transaction fails
 * here and brings the stored one along. Expiry is compared, because DynamoDB deletes late.
 */
export function putReply(reply: StoredReply, nowSeconds: number) {
  const expired: Condition = { attribute: "expires_at", is: "below", value: nowSeconds };
  const { Put: put } = putMember(storedReplies, reply, [{ any: [isNew, expired] }]);
  return { Put: { ...put, ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const } };
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
      const { set, add, require } = change;
      const key = adjustedKey(change, tenant);
      const when = [isStored, ...require];
      return set === undefined && add === undefined ? checkMember(key, when) : changeMember(key, { set, add, when });
    }
    case "claim":
      return {
        Put: {
          TableName: env.tableName,
          Item: { ...uniques.key(tenant, change.kind, change.value), ...typeTag(uniques.et), owner_id: change.owner },
          ...expressionOf({ when: [change.instead_of === undefined ? isFree : ownedBy(change.instead_of)] }),
        },
      };
    case "list":
      return putMember(unjoinedLegs, change.leg);
    case "unlist":
      return deleteMember(unjoinedLegs.keyOf(change.leg));
    case "find":
      return putMember(findables, change.item);
    case "unfind":
      return deleteMember(findables.keyOf(change.item));
    case "release": {
      const { kind, value, owner } = change;
      const key = uniques.key(tenant, kind, value);
      if (change.ended !== true) return deleteMember(key, [ownedBy(owner)]);
      // The reference of a reported operation was never claimed.
      const set = { ...typeTag(uniques.et), owner_id: owner, is_free: true };
      return changeMember(key, { set, when: [{ any: [isNew, ownedBy(owner)] }] });
    }
  }
}

/** No resource has the name, or the one that had it has ended. */
const isFree: Condition = { any: [isNew, { attribute: "is_free", is: "equal", value: true }] };

function ownedBy(value: string): Condition {
  return { attribute: "owner_id", is: "equal", value };
}

function adjustedKey({ entity, id }: Extract<Change, { op: "adjust" }>, tenant: string): Key {
  if (entity === "tenant") return tenants.key(tenant);
  if (entity === "job_count") return jobCounts.key(tenant);
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
) {
  const stored: Record<string, unknown> = itemOf(entity, before);
  const wanted: Record<string, unknown> = itemOf(entity, after);
  const set: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(wanted)) if (!sameValue(stored[name], value)) set[name] = value;
  const remove = Object.keys(stored).filter((name) => !(name in wanted));
  const version: Requirement = { attribute: "version", is: "equal", value: before.version };
  return changeMember(entity.keyOf(before), { set, remove, when: [isStored, version, ...require] });
}
