import * as z from "zod/mini";
import type { $ZodType } from "zod/v4/core";
import { limits } from "../limits.ts";
import * as account from "../schema/account.ts";
import * as application from "../schema/application.ts";
import * as auditEntry from "../schema/audit/entry.ts";
import * as auditSeal from "../schema/audit/seal.ts";
import * as client from "../schema/client.ts";
import { Email } from "../schema/client.ts";
import { descriptionOf } from "../schema/described.ts";
import * as event from "../schema/event.ts";
import * as exposure from "../schema/exposure.ts";
import * as command from "../schema/feed/command.ts";
import * as drift from "../schema/feed/drift.ts";
import * as snapshot from "../schema/feed/snapshot.ts";
import * as source from "../schema/feed/source.ts";
import * as feed from "../schema/feed.ts";
import * as fields from "../schema/fields.ts";
import * as brokerageMoney from "../schema/internal-money/brokerage-money.ts";
import * as closing from "../schema/internal-money/closing.ts";
import * as books from "../schema/internal-money/reconciliation.ts";
import * as report from "../schema/internal-money/report.ts";
import * as summary from "../schema/internal-money/summary.ts";
import * as transfer from "../schema/internal-money/transfer.ts";
import * as job from "../schema/jobs/job.ts";
import * as marginPreview from "../schema/margin-preview.ts";
import * as money from "../schema/money.ts";
import * as oauth from "../schema/oauth.ts";
import * as order from "../schema/order.ts";
import * as approvalQueue from "../schema/people/approval-queue.ts";
import * as handover from "../schema/people/handover.ts";
import * as operator from "../schema/people/operator.ts";
import * as position from "../schema/position.ts";
import * as quote from "../schema/quote.ts";
import * as usage from "../schema/reports/usage.ts";
import * as reset from "../schema/reset.ts";
import * as review from "../schema/review.ts";
import * as sandbox from "../schema/sandbox.ts";
import * as service from "../schema/service.ts";
import * as settings from "../schema/settings.ts";
import * as statement from "../schema/statement.ts";
import * as streamRequest from "../schema/stream/client-messages.ts";
import * as streamMessage from "../schema/stream/server-messages.ts";
import * as streamTicket from "../schema/stream/ticket.ts";
import * as symbol from "../schema/symbol.ts";
import * as trade from "../schema/trade.ts";
import * as transaction from "../schema/transaction.ts";
import * as webhook from "../schema/webhook.ts";
import { Url } from "../schema/webhook.ts";
import type { JsonObject } from "./document.ts";
import { isClosedChoice, withOpenEnum } from "./open-enums.ts";

/** Modules whose exported schemas become components under their exported names; add new modules here. */
const modules: readonly object[] = [
  account,
  application,
  approvalQueue,
  auditEntry,
  auditSeal,
  books,
  closing,
  brokerageMoney,
  client,
  command,
  event,
  exposure,
  feed,
  job,
  drift,
  snapshot,
  fields,
  handover,
  marginPreview,
  money,
  oauth,
  operator,
  order,
  position,
  quote,
  sandbox,
  report,
  reset,
  review,
  service,
  settings,
  statement,
  source,
  streamMessage,
  streamRequest,
  summary,
  transfer,
  streamTicket,
  symbol,
  trade,
  transaction,
  usage,
  webhook,
];

/** Schema types that become components. Strings stay inline: OpenAPI 3.0 allows no `nullable` next to a reference. */
const componentKinds = new Set(["object", "record", "enum"]);

const referencePrefix = "#/components/schemas/";

/** `CurrencyValue` is the open copy of `Currency`, and `NullableCurrency` may be null. */
const openSuffix = "Value";
const nullablePrefix = "Nullable";

/** Reference to a component: `#/components/schemas/<name>`. */
export function referenceTo(name: string): string {
  return `${referencePrefix}${name}`;
}

interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, $ZodType>>;
  readonly element?: $ZodType;
  readonly innerType?: $ZodType;
}

function definitionOf(schema: $ZodType): Definition {
  return schema._zod.def as unknown as Definition;
}

/** The schema inside `optional` and `nullable`. */
function innermost(schema: $ZodType | undefined): $ZodType | undefined {
  const inner = schema === undefined ? undefined : definitionOf(schema).innerType;
  return inner === undefined ? schema : innermost(inner);
}

/** Members of an object schema by name; empty for other schemas. */
export function membersOf(schema: $ZodType | undefined): Readonly<Record<string, $ZodType>> {
  return schema === undefined ? {} : (definitionOf(schema).shape ?? {});
}

/** Schema of the items of a page schema; undefined for other schemas. */
export function itemOf(schema: $ZodType): $ZodType | undefined {
  const { data, page, _links } = membersOf(schema);
  return data && page && _links ? definitionOf(data).element : undefined;
}

/** Exported schemas with the names of their components; the suffix of `EventTypeSchema` is removed. */
function exportedSchemas(): Map<$ZodType, string> {
  const names = new Map<$ZodType, string>();
  for (const module of modules) {
    for (const [name, value] of Object.entries(module)) {
      if (typeof value !== "object" || value === null || !("_zod" in value)) continue;
      const schema = value as $ZodType;
      if (componentKinds.has(definitionOf(schema).type)) names.set(schema, name.replace(/Schema$/, ""));
    }
  }
  return names;
}

const names = exportedSchemas();

/**
 * Name of the component of a body or a reply; a page is named after what it lists.
 * @throws Error if the schema is not exported from `shared/schema/`, since a component needs a stable name
 */
export function componentName(schema: $ZodType, where: string): string {
  const item = itemOf(schema);
  const name = names.get(item ?? schema);
  if (name === undefined) throw new Error(`${where}: its schema is no exported object of shared/schema/.`);
  return item === undefined ? name : `${name}List`;
}

/**
 * Component schemas for the given bodies and replies and all they refer to, sorted by name. Bodies stay closed where
 * their schema is. Replies are open, because a later version may add members and values of enumerations (ADR 0088). A
 * component that is both sent and answered and contains an enumeration has an open copy for replies,
 * `<name>Value`.
 */
export function componentSchemas(
  bodies: readonly $ZodType[],
  replies: readonly $ZodType[],
): Record<string, JsonObject> {
  const converted = convert([...bodies, ...replies]);
  const sent = reachable(namesOf(bodies), converted);
  const answered = reachable(namesOf(replies), converted);
  const copied = new Set([...sent].filter((name) => answered.has(name) && hasChoice(name, converted)));
  const whole = namesOf(replies).filter((name) => copied.has(name));
  if (whole.length > 0) throw new Error(`A reply needs a schema of its own, not that of a body: ${whole.join(", ")}.`);
  const closed = [...sent].map((name) => [name, converted[name]] as const);
  const open = [...answered]
    .filter((name) => !sent.has(name) || copied.has(name))
    .map((name) => [copied.has(name) ? openName(name) : name, opened(converted[name], copied)] as const);
  return Object.fromEntries([...closed, ...open].sort(([a], [b]) => (a < b ? -1 : 1))) as Record<string, JsonObject>;
}

/** Name of the open copy of a component that requests have too. */
function openName(name: string): string {
  return `${name}${openSuffix}`;
}

/** Name of the component that one is an open or a nullable form of; another name is returned as it is. */
export function plainName(name: string): string {
  const closed = name.endsWith(openSuffix) ? name.slice(0, -openSuffix.length) : name;
  return closed.startsWith(nullablePrefix) ? closed.slice(nullablePrefix.length) : closed;
}

/** Whether a component, or one that it refers to, has an enumeration of several values. */
function hasChoice(name: string, components: Record<string, JsonObject>): boolean {
  let found = false;
  for (const one of reachable([name], components)) {
    mapObjects(components[one], (json) => {
      found ||= isClosedChoice(json);
      return json;
    });
  }
  return found;
}

/** JSON Schema of one query parameter. */
export function parameterSchema(schema: $ZodType): JsonObject {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    override,
  }) as JsonObject;
  return json;
}

function namesOf(schemas: readonly $ZodType[]): string[] {
  return schemas.map((schema) => componentName(schema, "shared/routes"));
}

function convert(roots: readonly $ZodType[]): Record<string, JsonObject> {
  const registry = z.registry<{ id: string }>();
  for (const [schema, name] of names) registry.add(schema, { id: name });
  const pages = new Set<string>();
  for (const root of roots) {
    if (itemOf(root) === undefined || pages.has(componentName(root, "page"))) continue;
    pages.add(componentName(root, "page"));
    registry.add(root, { id: componentName(root, "page") });
  }
  const { schemas } = z.toJSONSchema(registry, { target: "openapi-3.0", io: "input", uri: referenceTo, override });
  const named = Object.entries(schemas as unknown as Record<string, JsonObject>).map(
    ([name, { $id, $schema, id, ...json }]) => [name, json] as const,
  );
  const plain = Object.fromEntries(
    named.flatMap(([name, json]) => [
      [name, json],
      [nullableName(name), orNull(json)],
    ]),
  );
  return withNullableReferences(plain) as Record<string, JsonObject>;
}

const control = String.raw`\x00-\x1f\x7f-\x9f`;
const portableText = String.raw`^[^${control}]*[^\s${control}][^${control}]*$`;

/**
 * Portable replacements of patterns with Unicode classes: most languages do not support `\\p`. Descriptions state that
 * identifiers and names have no invisible characters; a validator generated from the document accepts more than the
 * service.
 */
const portable = new Map([
  [patternOf(fields.text(1)), portableText],
  [patternOf(fields.identifier(1)), portableText],
  [patternOf(fields.name(1)), portableText],
  [patternOf(fields.MetadataValue), `^[^${control}]*$`],
]);

/** Names of symbols without Unicode classes and assertions: any letter beyond ASCII, and spaces also at the ends. */
export const portableSymbolPattern = String.raw`[^\x00-\x1f"%'*,:-?\[-^\x60{-\x9f]{1,31}`;

/** The pattern of a text schema. */
function patternOf(schema: $ZodType): unknown {
  return (z.toJSONSchema(schema) as JsonObject)["pattern"];
}

/** Form of the patterns of `setOf`. */
const setPattern = /^\^\(\?:([^()]*)\)\(\?:,\(\?:\1\)\)\{0,\d+\}\$$/;

/** Form of the patterns of `listOf`. */
const listPattern = /^\^(.+)\(\?:,\1\)\{0,(\d+)\}\$$/;

/** Adds descriptions, and replaces patterns and code of schemas by OpenAPI keywords where they exist. */
function override({ zodSchema, jsonSchema }: { zodSchema: $ZodType; jsonSchema: JsonObject }): void {
  const json = jsonSchema;
  const description = descriptionOf(zodSchema);
  if (description !== undefined) json["description"] = description;
  // A described copy shares the definition of its schema.
  const is = (...schemas: readonly $ZodType[]) => schemas.some((one) => one._zod.def === zodSchema._zod.def);
  if (is(fields.Timestamp, fields.TimestampInput)) json["format"] = "date-time";
  if (is(fields.CalendarDate)) json["format"] = "date";
  if (is(fields.Address, Url)) json["format"] = "uri";
  // The part before the @ may hold letters of any script (RFC 6531).
  if (is(fields.EmailText, Email)) json["format"] = "idn-email";
  if (json["format"] === "date" || json["format"] === "date-time") delete json["pattern"];
  if (is(fields.Metadata)) json["maxProperties"] = limits.metadata.max_keys;
  if (innermost(zodSchema) === innermost(fields.pageParameters.limit)) {
    const { min_items: minimum, max_items: maximum, default_items } = limits.page;
    delete json["pattern"];
    Object.assign(json, { type: "integer", minimum, maximum, default: default_items });
  }
  const pattern = String(json["pattern"] ?? "").replaceAll(symbol.symbolPattern, portableSymbolPattern);
  json["pattern"] = portable.get(pattern) ?? pattern;
  if (pattern === "") delete json["pattern"];
  if (String(json["pattern"]).includes("\\p{")) throw new Error(`${json["pattern"]} needs a portable form here.`);
  const words = setPattern.exec(String(json["pattern"] ?? ""))?.[1];
  if (words !== undefined) {
    delete json["pattern"];
    const items = { type: "string", enum: words.split("|").map((word) => word.replaceAll("\\", "")) };
    Object.assign(json, { type: "array", items, minItems: 1, maxItems: limits.page.max_filter_words });
  }
  const [, one, more] = listPattern.exec(String(json["pattern"] ?? "")) ?? [];
  if (one !== undefined) {
    delete json["pattern"];
    const items = { type: "string", pattern: `^${one}$` };
    Object.assign(json, { type: "array", items, minItems: 1, maxItems: Number(more) + 1 });
  }
  // Every integer on the wire fits a double; stating these bounds everywhere would only hide the real ones.
  if (json["minimum"] === Number.MIN_SAFE_INTEGER) delete json["minimum"];
  if (json["maximum"] === Number.MAX_SAFE_INTEGER) delete json["maximum"];
  // OpenAPI 3.0.3, clarified semantics of nullable: an enumeration admits null only by listing it.
  if (json["nullable"] === true && Array.isArray(json["enum"]) && !json["enum"].includes(null)) {
    json["enum"] = [...json["enum"], null];
  }
}

/** A component that may be null. */
function orNull(json: JsonObject): JsonObject {
  return { ...json, nullable: true, ...(Array.isArray(json["enum"]) ? { enum: [...json["enum"], null] } : {}) };
}

/** Name of the form of a component that may be null. */
function nullableName(name: string): string {
  return `${nullablePrefix}${name}`;
}

/** Refers to the nullable form of a component: in 3.0.3, `nullable` next to `allOf` does not admit null. */
function withNullableReferences(node: unknown): unknown {
  return mapObjects(node, (json) => {
    const [only] = Array.isArray(json["allOf"]) ? (json["allOf"] as JsonObject[]) : [];
    if (json["nullable"] !== true || typeof only?.["$ref"] !== "string") return json;
    const { nullable: _, ...rest } = json;
    return { ...rest, allOf: [{ $ref: referenceTo(nullableName(only["$ref"].slice(referencePrefix.length))) }] };
  });
}

/** A schema as replies have it; `copied` names the components to whose open copies it refers. */
function opened(node: unknown, copied: ReadonlySet<string>): unknown {
  return mapObjects(node, (json) => {
    const { additionalProperties, ...rest } = json;
    const open = withOpenEnum(additionalProperties === false ? rest : json);
    const target = String(open["$ref"]).slice(referencePrefix.length);
    return copied.has(target) ? { ...open, $ref: referenceTo(openName(target)) } : open;
  });
}

/** A copy of a JSON value; `change` is applied to every object before its members are visited. */
function mapObjects(node: unknown, change: (json: JsonObject) => JsonObject): unknown {
  if (Array.isArray(node)) return node.map((one) => mapObjects(one, change));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(change(node as JsonObject));
  return Object.fromEntries(entries.map(([name, value]) => [name, mapObjects(value, change)]));
}

/** Names of components that the given ones refer to, directly or through others, with themselves. */
function reachable(roots: readonly string[], components: Record<string, JsonObject>): Set<string> {
  const found = new Set<string>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    for (const [, target] of JSON.stringify(components[name] ?? {}).matchAll(
      /"\$ref":"#\/components\/schemas\/(\w+)"/g,
    )) {
      if (target !== undefined) waiting.push(target);
    }
  }
  return found;
}
