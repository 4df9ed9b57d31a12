import type { Access } from "../iam/permissions.ts";
import { isRecord } from "../template/intrinsics.ts";

/** Key attributes of a table and its indexes. */
export interface TableKeys {
  readonly name: string;
  readonly arn: string;
  readonly partition: string;
  readonly sort: string | undefined;
  /** Partition key attribute by index name. */
  readonly indexes: Readonly<Record<string, string>>;
}

/** Effect of a DynamoDB request: the grants that it needs, and the items that it writes or reads in a transaction. */
export interface TableRequest {
  readonly access: readonly Access[];
  /** Items in the order of the request, as texts that are equal when the items are the same. */
  readonly items: readonly string[];
  /** Tables that it writes. */
  readonly writes: readonly string[];
}

/** A request that this runner cannot check; DynamoDB would refuse most of them as well. */
export class RequestError extends Error {}

type Body = Readonly<Record<string, unknown>>;
type Tables = ReadonlyMap<string, TableKeys>;

/** Member of a transaction to the IAM action that allows it (AWS docs: using IAM with DynamoDB transactions). */
const memberActions: Readonly<Record<string, string>> = {
  Put: "PutItem",
  Update: "UpdateItem",
  Delete: "DeleteItem",
  ConditionCheck: "ConditionCheckItem",
  Get: "GetItem",
};

const single = new Set(["GetItem", "PutItem", "UpdateItem", "DeleteItem"]);
const writing = new Set(["PutItem", "UpdateItem", "DeleteItem"]);
/** Operations on a table as a whole. */
const whole = new Set(["DescribeTable", "DescribeTimeToLive", "Scan"]);

/** The grants and items of a request, by its operation. Throws a RequestError for unknown ones. */
export function tableRequest(operation: string, body: Body, tables: Tables): TableRequest {
  if (single.has(operation)) return singleRequest(operation, body, tables);
  if (operation === "Query") return queryRequest(body, tables);
  if (operation === "TransactWriteItems" || operation === "TransactGetItems") {
    return transaction(operation, body, tables);
  }
  if (operation === "BatchGetItem" || operation === "BatchWriteItem") return batch(operation, body, tables);
  if (whole.has(operation)) {
    const table = tableOf(body["TableName"], tables);
    const index = typeof body["IndexName"] === "string" ? `/index/${body["IndexName"]}` : "";
    return { access: [{ action: `dynamodb:${operation}`, resource: `${table.arn}${index}` }], items: [], writes: [] };
  }
  throw new RequestError(`The local runner does not know the DynamoDB operation ${operation}.`);
}

function singleRequest(operation: string, body: Body, tables: Tables): TableRequest {
  const table = tableOf(body["TableName"], tables);
  const key = record(operation === "PutItem" ? body["Item"] : body["Key"], "Key");
  const access = { action: `dynamodb:${operation}`, resource: table.arn, leading_keys: [leadingKey(table, key)] };
  const write = writing.has(operation);
  return { access: [access], items: write ? [itemId(table, key)] : [], writes: write ? [table.name] : [] };
}

function queryRequest(body: Body, tables: Tables): TableRequest {
  const table = tableOf(body["TableName"], tables);
  const { IndexName: index } = body;
  const attribute = typeof index === "string" ? table.indexes[index] : table.partition;
  if (attribute === undefined) throw new RequestError(`The table does not have the specified index: ${String(index)}`);
  const resource = typeof index === "string" ? `${table.arn}/index/${index}` : table.arn;
  const access = { action: "dynamodb:Query", resource, leading_keys: [queriedKey(body, attribute)] };
  return { access: [access], items: [], writes: [] };
}

/** Value that the partition key is compared with: `name = :value` somewhere in the key condition. */
function queriedKey(body: Body, attribute: string): string {
  const expression = body["KeyConditionExpression"];
  if (typeof expression !== "string") throw new RequestError("The local runner wants a KeyConditionExpression.");
  const names = isRecord(body["ExpressionAttributeNames"]) ? body["ExpressionAttributeNames"] : {};
  const values = isRecord(body["ExpressionAttributeValues"]) ? body["ExpressionAttributeValues"] : {};
  for (const [, name = "", value = ""] of expression.matchAll(/(#?[\w.-]+)\s*=\s*(:\w+)/g)) {
    if ((name.startsWith("#") ? names[name] : name) === attribute) return scalar(values[value]);
  }
  throw new RequestError(`Query condition missed key schema element: ${attribute}`);
}

function transaction(operation: string, body: Body, tables: Tables): TableRequest {
  const members = (Array.isArray(body["TransactItems"]) ? body["TransactItems"] : []).map((entry: unknown) => {
    const [[kind, member] = ["", undefined]] = Object.entries(record(entry, "TransactItems"));
    const action = memberActions[kind];
    if (action === undefined) throw new RequestError(`A transaction has no member ${kind}.`);
    const values = record(member, kind);
    const table = tableOf(values["TableName"], tables);
    const key = record(kind === "Put" ? values["Item"] : values["Key"], "Key");
    return { action, table, leading: leadingKey(table, key), item: itemId(table, key) };
  });
  const groups = new Map<string, { action: string; resource: string; leading_keys: string[] }>();
  for (const { action, table, leading } of members) {
    const id = `${action} ${table.arn}`;
    const group = groups.get(id) ?? { action: `dynamodb:${action}`, resource: table.arn, leading_keys: [] };
    group.leading_keys.push(leading);
    groups.set(id, group);
  }
  const writes = operation === "TransactWriteItems" ? [...new Set(members.map(({ table }) => table.name))] : [];
  return {
    access: [...groups.values()].map((group) => ({ ...group, enclosing_operation: operation })),
    items: members.map(({ item }) => item),
    writes,
  };
}

function batch(operation: string, body: Body, tables: Tables): TableRequest {
  const requested = Object.entries(record(body["RequestItems"], "RequestItems"));
  const write = operation === "BatchWriteItem";
  const parts = requested.map(([name, asked]) => {
    const table = tableOf(name, tables);
    const keys = write ? batchWriteKeys(asked) : list(record(asked, "RequestItems")["Keys"]);
    return { table, keys: keys.map((key) => record(key, "Keys")) };
  });
  return {
    access: parts.map(({ table, keys }) => ({
      action: `dynamodb:${operation}`,
      resource: table.arn,
      leading_keys: keys.map((key) => leadingKey(table, key)),
    })),
    items: write ? parts.flatMap(({ table, keys }) => keys.map((key) => itemId(table, key))) : [],
    writes: write ? parts.map(({ table }) => table.name) : [],
  };
}

function batchWriteKeys(asked: unknown): unknown[] {
  return list(asked).map((entry) => {
    const { PutRequest: put, DeleteRequest: remove } = record(entry, "RequestItems");
    return put === undefined ? record(remove, "DeleteRequest")["Key"] : record(put, "PutRequest")["Item"];
  });
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function record(value: unknown, name: string): Body {
  if (!isRecord(value)) throw new RequestError(`${name} is missing or of a wrong type.`);
  return value;
}

/** A table by its name or ARN. */
function tableOf(name: unknown, tables: Tables): TableKeys {
  const table = tables.get(String(name).split("/").at(-1) ?? "");
  if (table === undefined) throw new RequestError("Requested resource not found");
  return table;
}

/** A key value as the text that policies are compared with. */
function scalar(value: unknown): string {
  const [[, text] = ["", undefined]] = isRecord(value) ? Object.entries(value) : [];
  if (typeof text !== "string") throw new RequestError("A key value is missing or of a wrong type.");
  return text;
}

function leadingKey(table: TableKeys, key: Body): string {
  return scalar(key[table.partition]);
}

function itemId(table: TableKeys, key: Body): string {
  const sort = table.sort === undefined ? "" : scalar(key[table.sort]);
  return JSON.stringify([table.name, scalar(key[table.partition]), sort]);
}
