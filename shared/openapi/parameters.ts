import { limits } from "../limits.ts";
import type { Route } from "../routes/route.ts";
import { deliveryParameters, subscribes } from "./callbacks.ts";
import type { JsonObject } from "./document.ts";
import { collectionOf, exampleIds, exampleNames } from "./examples/identifiers.ts";
import { hasEntityTag, isConditional, isRepeatable } from "./responses.ts";
import { membersOf, parameterSchema, portableSymbolPattern } from "./schemas.ts";

/** Hours for which the response under an idempotency key is stored. */
export const keptHours = limits.idempotency.kept_seconds / 3600;

const headerParameters: Record<string, JsonObject> = {
  "X-Correlation-Id": {
    name: "X-Correlation-Id",
    in: "header",
    description: "Your own request identifier; it is echoed and logged.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" },
    example: "order-4711",
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description: `Makes the request safe to retry for ${keptHours} hours. Use a random UUID.`,
    schema: { type: "string", pattern: `^[!-~]{1,${limits.idempotency.max_key_characters + 2}}$` },
    example: "6f1c2a52-8a1b-4a4e-9f0e-2f4f3f5a9c10",
  },
  "If-Match": {
    name: "If-Match",
    in: "header",
    description: "Change the resource only if it has one of these entity tags (RFC 9110 13.1.1).",
    schema: { type: "string" },
    example: '"2"',
  },
  "If-None-Match": {
    name: "If-None-Match",
    in: "header",
    description: "Respond with 304 if the resource has one of these entity tags (RFC 9110 13.1.2).",
    schema: { type: "string" },
    example: '"2"',
  },
};

/** Parameters as they are declared once under `components.parameters`, by name. */
export type SharedParameters = Readonly<Record<string, JsonObject>>;

/**
 * Parameters that are declared once: those in headers, and those in paths and queries that at least two operations
 * have and that are the same in all of them.
 */
export function parameterComponents(rows: readonly Route[]): SharedParameters {
  const found = new Map<string, { readonly text: string; readonly json: JsonObject; count: number; same: boolean }>();
  for (const row of rows) {
    for (const json of ownParametersOf(row)) {
      const text = JSON.stringify(json);
      const known = found.get(sharedName(json));
      if (known === undefined) found.set(sharedName(json), { text, json, count: 1, same: true });
      else Object.assign(known, { count: known.count + 1, same: known.same && known.text === text });
    }
  }
  const shared = [...found].filter(([, { count, same }]) => same && count > 1);
  const sent = new Set(rows.flatMap(headerParametersOf));
  return {
    ...Object.fromEntries(Object.entries(headerParameters).filter(([name]) => sent.has(name))),
    ...Object.fromEntries(shared.map(([name, { json }]) => [name, json])),
    ...(rows.some(subscribes) ? deliveryParameters : {}),
  };
}

/** `limit` in a query is `limit`, and `id` in the path `/clients/{id}` is `path_client_identifier`. */
function sharedName({ in: where, name, description }: JsonObject): string {
  if (where === "query") return String(name);
  return name === "id" ? `path_${String(description).slice(0, -1).replaceAll(" ", "_").toLowerCase()}` : `path_${name}`;
}

/** The parameters of a row, with references to those that are declared once. */
export function parametersOf(row: Route, shared: SharedParameters): JsonObject[] {
  const own = ownParametersOf(row).map((json) => {
    const name = sharedName(json);
    return shared[name] === undefined ? json : { $ref: `#/components/parameters/${name}` };
  });
  const headers = headerParametersOf(row).map((name) =>
    row.keyed === true && name === "Idempotency-Key"
      ? { ...headerParameters[name], required: true }
      : { $ref: `#/components/parameters/${name}` },
  );
  return [...own, ...headers];
}

function ownParametersOf(row: Route): JsonObject[] {
  const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => pathParameter(row, name));
  const inQuery = Object.entries(membersOf(row.query)).map(([name, schema]) => {
    const { description, ...json } = parameterSchema(schema);
    return {
      name,
      in: "query",
      required: schema._zod.optin !== "optional",
      description,
      ...(json["type"] === "array" ? { style: "form", explode: false } : {}),
      schema: json,
    };
  });
  return [...inPath, ...inQuery];
}

function headerParametersOf(row: Route): string[] {
  return [
    "X-Correlation-Id",
    ...(isRepeatable(row) ? ["Idempotency-Key"] : []),
    ...(isConditional(row) ? ["If-Match"] : []),
    ...(row.method === "GET" && hasEntityTag(row) ? ["If-None-Match"] : []),
  ];
}

/** Path parameters other than identifiers. */
const named: Readonly<Record<string, { readonly pattern: string; readonly description: string }>> = {
  symbol: { pattern: `^${portableSymbolPattern}$`, description: "Symbol name." },
  seq: {
    pattern: "^[1-9][0-9]{0,14}(?:\\.[0-9a-f]{16})?$",
    description: "Identifier (`reject_id`) of the rejected item: its sequence number, with a suffix if it has one.",
  },
  snapshot_id: { pattern: "^.{1,64}$", description: "Identifier of the snapshot, assigned by the bridge." },
  command_id: { pattern: "^cmd_[0-9A-HJKMNP-TV-Z]{26}$", description: "Command identifier." },
};

/** Identifiers have a prefix of three letters; one of another form answers 404. */
function pathParameter(row: Route, name: string): JsonObject {
  const example = name === "id" ? exampleIds[collectionOf(row.path)] : exampleNames[name];
  const { pattern, description } = named[name] ?? {
    pattern: `^${example?.slice(0, 3) ?? "[a-z]{3}"}_[0-9A-HJKMNP-TV-Z]{26}$`,
    description: `${singular(row.path)} identifier.`,
  };
  return {
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string", pattern },
    ...(example === undefined ? {} : { example }),
  };
}

/** The resource that the identifier in a path is of: `/webhook_endpoints/{id}/test` is `Webhook endpoint`. */
function singular(path: string): string {
  const before = path.slice(0, path.indexOf("/{id}"));
  const words = before
    .slice(before.lastIndexOf("/") + 1)
    .replace(/ies$/, "y")
    .replace(/s$/, "")
    .replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
