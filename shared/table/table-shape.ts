/**
 * The shape of the tables: attribute and index names, and what the indexes carry in addition to their keys.
 * The stacks build the tables from it and the data layer reads them by it, so the two cannot drift.
 */
export const keyAttributes = { partition: "pk", sort: "sk" } as const;

/**
 * Time to live in the main and the volatile table: epoch seconds, as a number. DynamoDB deletes late, so readers
 * compare it as well. A text of this name, a transaction's own `expires_at`, is none: DynamoDB leaves it alone.
 */
export const ttlAttribute = "expires_at";

/** The five indexes of the main table, each with its two key attributes. */
export const indexes = {
  /** Everything of one kind in a tenant, in its own order. */
  list: { name: "list", partition: "list_pk", sort: "list_sk" },
  /** One selective facet: status and kind of a transaction, status and type of an account. */
  state: { name: "state", partition: "state_pk", sort: "state_sk" },
  /** Children of a parent: accounts of a client, transactions of an account. */
  owner: { name: "owner", partition: "owner_pk", sort: "owner_sk" },
  /** A second order under a parent: transactions of a client (ADR 0003), trades of an account by their close. */
  client: { name: "client", partition: "client_pk", sort: "client_sk" },
  /** Items to wake at a time; global and sharded, read by the sweep alone. */
  due: { name: "due", partition: "due_pk", sort: "due_sk" },
} as const;

/** Name of an index of the main table. */
export type IndexName = keyof typeof indexes;

/**
 * Attributes of `list`, `state`, `owner` and `client` for filters, so that a filter costs no read of the item itself. A
 * page shows base items; these attributes only choose them. DynamoDB takes 20 to an index and 100 to a table.
 */
export const slimAttributes = [
  "id",
  "status",
  "verification_status",
  "type",
  "kind",
  "country",
  "currency",
  "group_id",
  "client_id",
  "account_id",
  "method",
  "created_at",
  "resource_id",
  "number",
  "platform_login",
  "external_id",
  "provider_reference",
  "email",
  "tags",
  "facets",
] as const;

/** An attribute that the indexes carry. */
export type SlimAttribute = (typeof slimAttributes)[number];

/** Attribute for what only one kind is filtered by, as a map: an index takes no more attributes than it has. */
export const facetsAttribute = "facets";

/** Attribute of the schema version of an item. The rate counters alone, which are gone within hours, have none. */
export const versionAttribute = "v";

/** Item type of a published event. */
export const eventType = "EVENT";

/** Item type of an outbox item, which the router's stream filter matches when it is inserted. */
export const outboxType = "OUTBOX";

/** Item type of what does not fit an outbox item; it is found by that item alone. */
export const outboxPartType = "OUTBOXPART";

/** Schema version of the items that this code writes, and the newest that it reads. */
export const schemaVersion: number = 1;

/** Item type of entries of the audit. */
export const auditPageType = "AUDIT";

/** Item type of what finds an entry of the audit whose commit has no event. */
export const auditRefType = "AUDITREF";

/** Item type of how many refusals of an actor were recorded in a minute. */
export const refusalTallyType = "REFUSALS";

/** Item type of a refusal that was recorded. */
export const recordedRefusalType = "REFUSED";

/** Item type of the risk of an account; the same filter matches those that a commit left. */
export const riskType = "RISK";

/** Item type of an outbox item that could not be published and waits for an operator. */
export const parkedType = "PARKED";

/** Item type of the count of the tries to publish an outbox item. */
export const triesType = "PUBLISHTRIES";

/** Item type of an application; those that wait for the gateway carry `wake_at` as text. */
export const applicationType = "APP";

/** Item type of an operator; those that wait for their user of the pool carry `wake_at` as well. */
export const operatorType = "OPERATOR";

/** Item type of the API key of a brokerage's operators, likewise. */
export const operatorKeyType = "OPRKEY";

/** Item type of a quote in the volatile table: what the margin watch's stream filter matches. */
export const quoteType = "QUOTE";

/** Item type of a source's sign of life, in the same table and matched by the same filter. */
export const pulseType = "PULSE";
