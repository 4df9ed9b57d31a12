import type { JsonObject, OpenApi } from "./document.ts";
import { isClosedChoice, wordsOf } from "./open-enums.ts";

/** Direction of a value: what a caller sends may become wider, what they receive may become richer. */
type Direction = "sent" | "answered";

interface Sides {
  readonly before: OpenApi;
  readonly after: OpenApi;
  /** Pairs of components that were compared: the first place that has them reports for all. */
  readonly compared: Set<string>;
}

interface Place {
  readonly where: string;
  readonly direction: Direction;
}

/**
 * Changes of the later document that break clients of the earlier one, in sentences: a removed operation, response,
 * member of a response or media type; a member or parameter that is required now; a narrower type, bound, pattern or
 * enumeration of a request; a changed type of a response. Within a version the API only grows (RFC 9205 4.15);
 * enumerations of responses may grow, and none of them is closed, since clients must accept unknown values (ADR 0088).
 * A delivery to a webhook endpoint is what its receiver is answered with.
 */
export function breakingChanges(before: OpenApi, after: OpenApi): string[] {
  const sides: Sides = { before, after, compared: new Set() };
  return Object.entries(before.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, old]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const now = after.paths[path]?.[method];
      return now === undefined ? [`${name} is gone`] : operationChanges(name, old, now, sides);
    }),
  );
}

function operationChanges(name: string, old: JsonObject, now: JsonObject, sides: Sides): string[] {
  const [wasEnough, isEnough] = [old["security"], now["security"]].map((ways) => (ways ?? []) as readonly object[]);
  // Security alternatives may be added; existing ones must stay, and an open operation must stay open.
  const security =
    wasEnough?.length === 0
      ? isEnough?.length === 0
      : wasEnough?.every((way) => isEnough?.some((one) => JSON.stringify(one) === JSON.stringify(way)));
  return [
    ...(old["operationId"] === now["operationId"] ? [] : [`${name} has another operation id`]),
    ...(security ? [] : [`${name} needs another scope`]),
    ...parameterChanges(name, old, now, sides),
    ...bodyChanges(name, old, now, sides),
    ...answerChanges(name, old, now, sides),
    ...deliveryChanges(old, now, sides),
  ];
}

/** Callbacks have one address with one request each. */
function deliveryChanges(old: JsonObject, now: JsonObject, sides: Sides): string[] {
  const deliveries = Object.entries((old["callbacks"] ?? {}) as Record<string, JsonObject>);
  return deliveries.flatMap(([type, delivery]) => {
    const other = ((now["callbacks"] ?? {}) as Record<string, JsonObject>)[type];
    if (other === undefined) return [`${type} is no longer delivered`];
    const [was, is] = [delivery, other].map((one) => (Object.values(one)[0] as JsonObject)["post"] as JsonObject);
    return contentChanges(type, "answered", was?.["requestBody"], is?.["requestBody"], sides);
  });
}

function parametersOf(operation: JsonObject, document: OpenApi): Map<string, JsonObject> {
  const all = ((operation["parameters"] ?? []) as JsonObject[]).map((one) => followed(one, document));
  return new Map(all.map((one) => [`${one["in"]} parameter ${one["name"]}`, one]));
}

function parameterChanges(name: string, old: JsonObject, now: JsonObject, sides: Sides): string[] {
  const was = parametersOf(old, sides.before);
  const is = parametersOf(now, sides.after);
  const added = [...is].filter(([key, one]) => one["required"] === true && was.get(key)?.["required"] !== true);
  return [
    ...added.map(([key]) => `${name}: the ${key} must be sent now`),
    ...[...was].flatMap(([key, one]) => {
      const other = is.get(key);
      if (other === undefined) return [`${name}: the ${key} is gone`];
      const place: Place = { where: `${name}: the ${key}`, direction: "sent" };
      return schemaChanges(one["schema"] as JsonObject, other["schema"] as JsonObject, place, sides);
    }),
  ];
}

function bodyChanges(name: string, old: JsonObject, now: JsonObject, sides: Sides): string[] {
  const [was, is] = [old, now].map((operation) => operation["requestBody"] as JsonObject | undefined);
  if (is?.["required"] === true && was?.["required"] !== true) return [`${name} wants a body now`];
  return contentChanges(`${name}: the body`, "sent", was, is, sides);
}

function answerChanges(name: string, old: JsonObject, now: JsonObject, sides: Sides): string[] {
  const responses = Object.entries(old["responses"] as Record<string, JsonObject>);
  return responses.flatMap(([status, answer]) => {
    const other = (now["responses"] as Record<string, JsonObject>)[status];
    // Removing a refusal breaks no client; changing the status of success does.
    if (other === undefined) return status.startsWith("2") ? [`${name} no longer answers ${status}`] : [];
    const [was, is] = [followed(answer, sides.before), followed(other, sides.after)];
    const headers = Object.keys((was["headers"] ?? {}) as object).filter(
      (header) => !Object.hasOwn((is["headers"] ?? {}) as object, header),
    );
    return [
      ...headers.map((header) => `${name}: ${status} has lost the header ${header}`),
      ...contentChanges(`${name}: ${status}`, "answered", was, is, sides),
    ];
  });
}

function contentChanges(where: string, direction: Direction, old: unknown, now: unknown, sides: Sides): string[] {
  const types = Object.entries(((old as JsonObject | undefined)?.["content"] ?? {}) as Record<string, JsonObject>);
  const others = ((now as JsonObject | undefined)?.["content"] ?? {}) as Record<string, JsonObject>;
  return types.flatMap(([type, media]) => {
    const other = others[type];
    if (other === undefined) return [`${where} no longer comes as ${type}`];
    return schemaChanges(media["schema"] as JsonObject, other["schema"] as JsonObject, { where, direction }, sides);
  });
}

function schemaChanges(old: JsonObject, now: JsonObject, place: Place, sides: Sides): string[] {
  const { where, direction } = place;
  const pair = JSON.stringify([direction, old["$ref"], now["$ref"]]);
  if (old["$ref"] !== undefined && sides.compared.has(pair)) return [];
  sides.compared.add(pair);
  const was = merged(old, sides.before);
  const is = merged(now, sides.after);
  if (was["type"] !== is["type"] && is["type"] !== undefined) return [`${where} is ${is["type"]}, not ${was["type"]}`];
  return [
    ...(direction === "sent" ? narrowings(was, is, where) : looseAnswers(was, is, where)),
    ...wordChanges(was, is, place),
    ...memberChanges(was, is, place, sides),
    ...formChanges(was, is, place, sides),
    ...["items", "additionalProperties"].flatMap((name) => {
      const [before, after] = [was[name], is[name]];
      if (typeof before !== "object" || typeof after !== "object") return [];
      return schemaChanges(before as JsonObject, after as JsonObject, inside(place, "[]"), sides);
    }),
  ];
}

/** Formats that only document an existing rule; generated clients treat them as plain strings. */
const namingFormats: ReadonlySet<string> = new Set(["uri", "idn-email"]);

/**
 * Wider bounds are compatible, and so is a pattern with one more alternative behind the whole of the earlier one; any
 * other change of a pattern may reject what was valid before.
 */
function narrowings(was: JsonObject, is: JsonObject, where: string): string[] {
  const bound = (name: string, narrower: (before: number, after: number) => boolean) => {
    const [before, after] = [was[name], is[name]] as [number | undefined, number | undefined];
    return after !== undefined && (before === undefined || narrower(before, after))
      ? [`${where}: ${name} is narrower`]
      : [];
  };
  return [
    ...["minimum", "minLength", "minItems"].flatMap((name) => bound(name, (before, after) => after > before)),
    ...["maximum", "maxLength", "maxItems", "maxProperties"].flatMap((name) => bound(name, (a, b) => b < a)),
    ...["pattern", "format"]
      .filter((name) => is[name] !== undefined && is[name] !== was[name])
      .filter((name) => !(name === "pattern" && String(is[name]).startsWith(`${was[name]}|`)))
      .filter((name) => name === "pattern" || was[name] !== undefined || !namingFormats.has(String(is[name])))
      .map((name) => `${where}: ${name} is another one`),
    ...(was["nullable"] === true && is["nullable"] !== true ? [`${where} may no longer be null`] : []),
    ...(was["additionalProperties"] !== false && is["additionalProperties"] === false
      ? [`${where} is closed now`]
      : []),
  ];
}

function looseAnswers(was: JsonObject, is: JsonObject, where: string): string[] {
  return was["nullable"] !== true && is["nullable"] === true ? [`${where} may be null now`] : [];
}

/**
 * Values of an enumeration stay: senders must be understood, and receivers may wait for one. New ones may be added.
 * Requests may list none any more; an answer that lists several leaves the list open.
 */
function wordChanges(was: JsonObject, is: JsonObject, { where, direction }: Place): string[] {
  const [before, after] = [wordsOf(was), wordsOf(is)];
  if (direction === "sent" && is["enum"] === undefined) return [];
  if (direction === "sent" && was["enum"] === undefined) return [`${where} takes certain words only now`];
  const lost = (before ?? [])
    .filter((word) => !(after ?? []).includes(word))
    .map((word) => `${where} has lost ${word}`);
  const closed = direction === "answered" && isClosedChoice(is) ? [`${where} can only be ${after?.join(", ")}`] : [];
  return [...closed, ...lost];
}

/** Forms that a value may have: all that there were remain, and requests may have further ones. */
function formChanges(was: JsonObject, is: JsonObject, place: Place, sides: Sides): string[] {
  return ["oneOf", "anyOf"].flatMap((kind) => {
    const now = formsOf(is[kind], sides.after);
    return [...formsOf(was[kind], sides.before)].flatMap(([name, form]) => {
      const other = now.get(name);
      const inner = inside(place, ` (${name})`);
      return other === undefined ? [`${inner.where} is gone`] : schemaChanges(form, other, inner, sides);
    });
  });
}

/** Forms by what tells them apart: the values of members that have a single one, else their place in the list. */
function formsOf(forms: unknown, document: OpenApi): Map<string, JsonObject> {
  const named = new Map<string, JsonObject>();
  for (const form of Array.isArray(forms) ? (forms as JsonObject[]) : []) {
    const members = Object.values((merged(form, document)["properties"] ?? {}) as Record<string, JsonObject>);
    const single = members.map((member) => wordsOf(member) ?? []).filter(({ length }) => length === 1);
    const name = single.flat().join(" ");
    named.set(name === "" || named.has(name) ? String(named.size) : name, form);
  }
  return named;
}

function memberChanges(was: JsonObject, is: JsonObject, place: Place, sides: Sides): string[] {
  const old = (was["properties"] ?? {}) as Record<string, JsonObject>;
  const now = (is["properties"] ?? {}) as Record<string, JsonObject>;
  const required = (schema: JsonObject) => new Set((schema["required"] ?? []) as string[]);
  const [wasRequired, isRequired] = [required(was), required(is)];
  const demanded = [...isRequired].filter((name) => place.direction === "sent" && !wasRequired.has(name));
  const withheld = [...wasRequired].filter((name) => place.direction === "answered" && !isRequired.has(name));
  return [
    ...demanded.map((name) => `${place.where}: ${name} must be sent now`),
    ...withheld.filter((name) => now[name] !== undefined).map((name) => `${place.where}: ${name} may be missing now`),
    ...Object.entries(old).flatMap(([name, schema]) => {
      const other = now[name];
      if (other === undefined) return [`${place.where}: ${name} is gone`];
      return schemaChanges(schema, other, inside(place, `/${name}`), sides);
    }),
  ];
}

function inside({ where, direction }: Place, step: string): Place {
  return { where: `${where}${step}`, direction };
}

/** A node with its reference resolved. */
function followed(node: JsonObject, document: OpenApi): JsonObject {
  const reference = node["$ref"];
  if (typeof reference !== "string") return node;
  const steps = reference.slice(2).split("/");
  return steps.reduce<unknown>((at, step) => (at as JsonObject | undefined)?.[step], document) as JsonObject;
}

/** A schema with its references and compositions merged; members and demands of all parts count. */
function merged(node: JsonObject, document: OpenApi): JsonObject {
  const { allOf, ...own } = followed(node, document);
  const parts = [...((allOf ?? []) as JsonObject[]).map((part) => merged(part, document)), own];
  if (parts.length === 1) return own;
  const properties = Object.assign({}, ...parts.map((part) => part["properties"]));
  const required = parts.flatMap((part) => (part["required"] ?? []) as string[]);
  return Object.assign({}, ...parts, { properties, required });
}
