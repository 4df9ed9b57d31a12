import { Effect, PolicyStatement, type PolicyStatementProps } from "aws-cdk-lib/aws-iam";
import type { Governed, Grant, ObjectGrant, Route, SecretName } from "../../shared/routes/route.ts";
import { type IndexName, indexes } from "../../shared/table/table-shape.ts";
import {
  erasableKeys,
  failureKeys,
  globalKeys,
  ledgerKeys,
  openInterestKeys,
  personKeyKeys,
  quoteKeys,
  rateKeys,
  resetKeys,
  reviewKeys,
  streamDirectoryKeys,
  streamKeys,
  symbolKeys,
  tenantKeys,
  withinTenants,
} from "./key-patterns.ts";

const leadingKeys = "dynamodb:LeadingKeys";

/** Input to a statement about a table. */
export interface TableAccess {
  readonly tableArn: string;
  /** Patterns of the partition keys that may be touched. */
  readonly keys: readonly string[];
}

/** A statement with an id, so that tests and readers can name it. */
export function allow(sid: string, actions: string[], resources: string[], more: PolicyStatementProps = {}) {
  return new PolicyStatement({ sid, effect: Effect.ALLOW, actions, resources, ...more });
}

function onTable(sid: string, action: string, resource: string, keys: readonly string[]): PolicyStatement {
  return allow(sid, [`dynamodb:${action}`], [resource], {
    conditions: { "ForAllValues:StringLike": { [leadingKeys]: [...keys] } },
  });
}

/**
 * The same rights on whole tables: without the conditions on leading keys, and without the denial that rests on them
 * (ADR 0013).
 */
export function withoutLeadingKeys(statements: readonly PolicyStatement[]): PolicyStatement[] {
  return statements
    .map((statement) => {
      const conditions = Object.entries<object>(statement.conditions ?? {});
      const others = conditions.filter(([, keys]) => !(leadingKeys in keys));
      return { statement, bound: others.length < conditions.length, others };
    })
    .filter(({ statement, bound }) => !(bound && statement.effect === Effect.DENY))
    .map(({ statement, bound, others }) =>
      bound ? statement.copy({ conditions: Object.fromEntries(others) }) : statement,
    );
}

/** Grants on the main table. */
type TableGrant = Exclude<Grant, VolatileGrant | KeyGrant> | "query:due";

/** One statement per grant, so that each can be taken away alone. */
function tableStatement(grant: TableGrant, access: TableAccess): PolicyStatement {
  const { tableArn, keys } = access;
  switch (grant) {
    case "read":
      return onTable("Read", "BatchGetItem", tableArn, keys);
    case "query":
      return onTable("Query", "Query", tableArn, keys);
    case "put":
      return onTable("Put", "PutItem", tableArn, keys);
    case "update":
      return onTable("Update", "UpdateItem", tableArn, keys);
    case "delete":
      return onTable("Delete", "DeleteItem", tableArn, keys);
    case "check":
      return onTable("Check", "ConditionCheckItem", tableArn, keys);
    case "query:list":
      return onIndex("QueryList", "list", access);
    case "query:state":
      return onIndex("QueryState", "state", access);
    case "query:owner":
      return onIndex("QueryOwner", "owner", access);
    case "query:client":
      return onIndex("QueryClient", "client", access);
    case "query:due":
      return onIndex("QueryDue", "due", access);
  }
}

function onIndex(sid: string, index: IndexName, { tableArn, keys }: TableAccess): PolicyStatement {
  return onTable(sid, "Query", `${tableArn}/index/${indexes[index].name}`, keys);
}

/**
 * No role rewrites money, and none but that of an erasure a review: an explicit denial holds whatever else a role is
 * given.
 */
function denyLedgerChanges(tableArn: string, erases: boolean): PolicyStatement {
  return new PolicyStatement({
    sid: "KeepLedger",
    effect: Effect.DENY,
    actions: ["dynamodb:UpdateItem", "dynamodb:DeleteItem"],
    resources: [tableArn],
    conditions: { "ForAnyValue:StringLike": { [leadingKeys]: [...ledgerKeys, ...(erases ? [] : reviewKeys)] } },
  });
}

/**
 * Rights in a brokerage are written by the functions that decide about them, and by no other that may write to any
 * partition of a tenant: one that was taken over makes itself no owner, no application and no rule.
 */
function denyGoverned(tableArn: string, governs: readonly Governed[]): PolicyStatement[] {
  const denials: readonly (readonly [sid: string, kinds: readonly Governed[]])[] = [
    ["KeepPeople", ["applications", "operators"]],
    ["KeepPolicies", ["brokerages"]],
  ];
  return denials.flatMap(([sid, kinds]) => {
    const kept = kinds.filter((kind) => !governs.includes(kind)).map((kind) => withinTenants[kind]);
    if (kept.length === 0) return [];
    return new PolicyStatement({
      sid,
      effect: Effect.DENY,
      actions: ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"],
      resources: [tableArn],
      conditions: { "ForAnyValue:StringLike": { [leadingKeys]: kept } },
    });
  });
}

/** Names the one right to remove what is never changed, the ledger among it; no stage but the sandbox knows it. */
export const eraseSid = "Erase";

/** The rights of a reset of the sandbox to remove; it alone is not denied the ledger (ADR 0023). */
export function eraseStatements(tableArn: string, volatileArn: string): PolicyStatement[] {
  return [
    onTable(eraseSid, "DeleteItem", tableArn, erasableKeys),
    onTable("EraseQuotes", "DeleteItem", volatileArn, quoteKeys),
    // Unlike those that change items, these two reach no ledger.
    onTable("Put", "PutItem", tableArn, symbolKeys),
    onTable("Update", "UpdateItem", tableArn, resetKeys),
  ];
}

/**
 * Statements for grants on the main table, and the denials that go with a role which may change items: of the ledger,
 * and where it may write to any partition of a tenant also of what it does not govern.
 */
export function tableStatements<G extends TableGrant>(
  grants: readonly G[],
  access: (TableAccess | { readonly tableArn: string; readonly keysOf: (grant: G) => readonly string[] }) & {
    readonly governs?: readonly Governed[] | undefined;
    /** It takes personal data out of what else nothing changes. */
    readonly erases?: true;
  },
): PolicyStatement[] {
  const keys = (grant: G) => ("keys" in access ? access.keys : access.keysOf(grant));
  const isWide = grants.some((grant) => isWrite(grant) && tenantKeys.some((key) => keys(grant).includes(key)));
  const statements = grants.map((grant) => tableStatement(grant, { tableArn: access.tableArn, keys: keys(grant) }));
  if (isWide) statements.push(...denyGoverned(access.tableArn, access.governs ?? []));
  const changes = grants.some((grant) => grant === "update" || grant === "delete");
  return changes ? [...statements, denyLedgerChanges(access.tableArn, access.erases === true)] : statements;
}

function isWrite(grant: TableGrant): boolean {
  return grant === "put" || grant === "update" || grant === "delete";
}

/** The request counter: one conditional update in the table of volatile items. */
function countStatement(volatileArn: string, { rate, globals }: Route): PolicyStatement {
  const more = (globals?.count ?? []).flatMap((partition) => globalKeys[partition]);
  const keys = rate === "token" ? [...rateKeys, ...failureKeys, ...more] : [...rateKeys, ...more];
  return onTable("Count", "UpdateItem", volatileArn, keys);
}

/** Partition keys that a grant of a row reaches. */
function keysOf(route: Route, grant: Grant): readonly string[] {
  const globals = Object.entries(route.globals ?? {}).flatMap(([name, partitions]) =>
    name === grant ? partitions.flatMap((partition) => globalKeys[partition]) : [],
  );
  if (route.tenantless === true) return globals;
  return [...(route.within?.map((kind) => withinTenants[kind]) ?? tenantKeys), ...globals];
}

const secretSids: Readonly<Record<SecretName, string>> = {
  signing_key: "ReadSigningKey",
  service_key: "ReadServiceKey",
};

/** May read the values of these secrets and nothing else of them: one statement each, to be taken away alone. */
export function readSecretStatements(
  names: readonly SecretName[],
  arns: Readonly<Record<SecretName, string>>,
): PolicyStatement[] {
  return names.map((name) => allow(secretSids[name], ["secretsmanager:GetSecretValue"], [arns[name]]));
}

/** A right on what is in the table of volatile items: quotes and pulses, and the sums of open positions. */
type VolatileGrant = Extract<Grant, `${string}:quotes`> | "read:open_interest";

function isVolatileGrant(grant: Grant): grant is VolatileGrant {
  return grant === "read:quotes" || grant === "put:quotes" || grant === "read:open_interest";
}

/** Statements for grants on quotes and on the sums of open positions, which are in the table of volatile items. */
export function quoteStatements(
  grants: readonly (VolatileGrant | "put:open_interest")[],
  volatileArn: string,
): PolicyStatement[] {
  return grants.map((grant) => {
    if (grant === "read:quotes") return onTable("ReadQuotes", "BatchGetItem", volatileArn, quoteKeys);
    if (grant === "put:quotes") return onTable("PutQuotes", "PutItem", volatileArn, quoteKeys);
    if (grant === "read:open_interest")
      return onTable("ReadOpenInterest", "BatchGetItem", volatileArn, openInterestKeys);
    return onTable("PutOpenInterest", "PutItem", volatileArn, openInterestKeys);
  });
}

/** The right to note on quotes how many shards of the exposure index their symbols use. */
export function noteQuotesStatement(volatileArn: string): PolicyStatement {
  return onTable("NoteQuotes", "UpdateItem", volatileArn, quoteKeys);
}

/** Rights on what is kept of the stream, which is in the table of volatile items. */
export type StreamGrant = "take:tickets" | "read" | "put" | "update" | "delete" | `${"query" | "put" | "delete"}:list`;

/** Statements for the stream: on its tickets, on the connections of brokerages, and on the list of these. */
export function streamStatements(grants: readonly StreamGrant[], volatileArn: string): PolicyStatement[] {
  return grants.map((grant) => {
    const { sid, action, keys } = streamRights[grant];
    return onTable(sid, action, volatileArn, keys);
  });
}

const streamRights: Readonly<Record<StreamGrant, { sid: string; action: string; keys: readonly string[] }>> = {
  "take:tickets": { sid: "TakeTickets", action: "DeleteItem", keys: globalKeys.stream_tickets },
  read: { sid: "ReadConnections", action: "BatchGetItem", keys: streamKeys },
  put: { sid: "PutStream", action: "PutItem", keys: streamKeys },
  update: { sid: "UpdateStream", action: "UpdateItem", keys: streamKeys },
  delete: { sid: "DeleteStream", action: "DeleteItem", keys: streamKeys },
  "query:list": { sid: "QueryStreams", action: "Query", keys: streamDirectoryKeys },
  "put:list": { sid: "PutStreams", action: "PutItem", keys: streamDirectoryKeys },
  "delete:list": { sid: "DeleteStreams", action: "DeleteItem", keys: streamDirectoryKeys },
};

/** A right on the keys of persons, which are in a table of their own. */
type KeyGrant = Extract<Grant, `${string}:keys`>;

/** Whether a right is on the keys of persons. */
export function isKeyGrant(grant: Grant): grant is KeyGrant {
  return grant === "read:keys" || grant === "put:keys";
}

/** Statements for grants on the keys of persons; to change one, which destroys it, is no right of a row. */
export function keyStatements(grants: readonly (KeyGrant | "update:keys")[], keysArn: string): PolicyStatement[] {
  return grants.map((grant) => {
    if (grant === "read:keys") return onTable("ReadKeys", "BatchGetItem", keysArn, personKeyKeys);
    if (grant === "put:keys") return onTable("PutKeys", "PutItem", keysArn, personKeyKeys);
    return onTable("DestroyKeys", "UpdateItem", keysArn, personKeyKeys);
  });
}

/** Statements for rights of a row on objects. */
export function objectStatements(grants: readonly ObjectGrant[], exported: string): PolicyStatement[] {
  return grants.map(() => allow("ReadExports", ["s3:GetObject"], [exported]));
}

/** Exactly what a row of the route table says its handler does. */
export function routeStatements(
  route: Route,
  arns: {
    readonly table: string;
    readonly volatile: string;
    readonly keys: string;
    readonly secrets: Readonly<Record<SecretName, string>>;
  },
): PolicyStatement[] {
  const onMain = route.grants.filter((grant) => !isVolatileGrant(grant) && !isKeyGrant(grant));
  const statements = [
    ...tableStatements(onMain, {
      ...{ tableArn: arns.table, governs: route.governs },
      keysOf: (grant) => keysOf(route, grant),
    }),
    ...quoteStatements(route.grants.filter(isVolatileGrant), arns.volatile),
    ...keyStatements(route.grants.filter(isKeyGrant), arns.keys),
  ];
  if (route.rate !== "none") statements.push(countStatement(arns.volatile, route));
  return [...statements, ...readSecretStatements(route.secrets ?? [], arns.secrets)];
}
