import type { $ZodType } from "zod/v4/core";
import { limits } from "../limits.ts";
import { routes } from "../routes/index.ts";
import type { Route } from "../routes/route.ts";
import { TokenError } from "../schema/oauth.ts";
import type { Scope } from "../schema/scope.ts";
import { scopes } from "../schema/scope.ts";
import { type JsonObject, type Narrowing, narrow, type OpenApi, type Operation } from "./document.ts";
import {
  hasEntityTag,
  headerComponents,
  isRepeatable,
  problemSchema,
  responseComponents,
  responsesOf,
} from "./responses.ts";
import { componentName, componentSchemas, membersOf, parameterSchema, referenceTo } from "./schemas.ts";

/** Placeholders for the two addresses; a deployed stage puts its own in when it serves the document. */
const servers = [
  { url: "https://api.brokerage.example/v2", description: "Production" },
  { url: "https://sandbox.brokerage.example/v2", description: "Sandbox" },
];

const scopeTexts: Readonly<Record<Scope, string>> = {
  "clients:read": "Read clients.",
  "clients:write": "Create and update clients.",
  "clients:verify": "Decide on the verification of clients.",
  "accounts:read": "Read accounts and their ledgers.",
  "accounts:write": "Create and update accounts.",
  "transactions:read": "Read deposits and withdrawals.",
  "transactions:write": "Create and cancel deposits and withdrawals.",
  "transactions:approve": "Approve and reject deposits and withdrawals.",
  "transactions:settle": "Complete deposits and withdrawals.",
  "trading:read": "Read trades, positions, orders and symbols.",
  "quotes:read": "Read quotes.",
  "webhooks:read": "Read webhook endpoints and deliveries.",
  "webhooks:write": "Create, change and delete webhook endpoints.",
  "events:read": "Read events.",
  "reports:read": "Read reports.",
  "audit:read": "Read the audit log.",
  admin: "Administer applications and settings.",
  "feed:write": "Send prices and trades of a trading platform.",
  sandbox: "Use what only the sandbox has.",
};

const { per_minute, burst_per_second } = limits.rate;

const description = [
  "Back office of a brokerage: clients, accounts, deposits and withdrawals, and the events they cause.",
  "Amounts are decimal strings with the digits of their currency; times are RFC 3339 in UTC.",
  `Lists come in pages of at most ${limits.page.max_items}; follow \`_links.next\` or the \`Link\` header.`,
  `An application may make ${per_minute} requests per minute and ${burst_per_second} per second.`,
  "Send an `Idempotency-Key` with every request that moves money: repeating the request is safe then.",
  "Within a version members, operations and codes are only added. Ignore members that you do not know.",
].join("\n\n");

const parameters: Record<string, JsonObject> = {
  "X-Correlation-Id": {
    name: "X-Correlation-Id",
    in: "header",
    description: "Your own identifier of the request; it is echoed and logged.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" },
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description: `Makes repeating the request safe for ${limits.idempotency.kept_seconds / 3600} hours.`,
    schema: { type: "string", pattern: `^[!-~]{1,${limits.idempotency.max_key_characters}}$` },
  },
  "If-Match": {
    name: "If-Match",
    in: "header",
    description: "Change the resource only while it has one of these entity tags (RFC 9110 13.1.1).",
    schema: { type: "string" },
  },
  "If-None-Match": {
    name: "If-None-Match",
    in: "header",
    description: "Answer 304 while the resource has one of these entity tags (RFC 9110 13.1.2).",
    schema: { type: "string" },
  },
};

const mediaTypes: Readonly<Record<NonNullable<Route["media"]>, readonly string[]>> = {
  json: ["application/json"],
  merge_patch: ["application/merge-patch+json", "application/json"],
  form_or_json: ["application/x-www-form-urlencoded", "application/json"],
};

/**
 * The OpenAPI 3.0.3 document of the route table: equal rows and schemas give equal bytes. Without options it is the
 * document of both stages, which is committed; `narrow` makes that of one stage from it.
 */
export function buildOpenApi(options: Narrowing = {}): OpenApi {
  const schemas = componentSchemas(
    routes.flatMap((row) => (row.body === undefined ? [] : [row.body])),
    [...routes.map((row) => row.reply), TokenError],
  );
  const document: OpenApi = {
    openapi: "3.0.3",
    info: {
      title: "Brokerage API",
      version: "2.0.0",
      description,
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers,
    tags: [...new Set(routes.map((row) => row.tag))].map((name) => ({ name })),
    paths: pathsOf(routes),
    components: {
      securitySchemes: { oauth2: { type: "oauth2", flows: { clientCredentials: clientCredentials() } } },
      parameters,
      headers: headerComponents,
      responses: responseComponents(),
      schemas: { ...schemas, Problem: problemSchema },
    },
  };
  return narrow(document, options);
}

/** The document as it is committed and compared: two spaces, one newline at the end. */
export function printOpenApi(document: OpenApi): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Operation id of a row: `create_client` is `createClient`. */
export function operationIdOf(row: Route): string {
  return row.id.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function clientCredentials(): { tokenUrl: string; scopes: JsonObject } {
  const texts = Object.fromEntries(scopes.map((scope) => [scope, scopeTexts[scope]]));
  return { tokenUrl: `${servers[0]?.url}/oauth/token`, scopes: texts };
}

function pathsOf(rows: readonly Route[]): OpenApi["paths"] {
  const paths: OpenApi["paths"] = {};
  for (const row of rows) paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operationOf(row) };
  return paths;
}

function operationOf(row: Route): Operation {
  return {
    operationId: operationIdOf(row),
    tags: [row.tag],
    summary: row.summary,
    ...(row.description === undefined ? {} : { description: row.description }),
    ...(row.stages.length === 2 ? {} : { "x-stages": row.stages }),
    security: row.auth === "none" ? [] : [{ oauth2: row.scope === null ? [] : [row.scope] }],
    parameters: parametersOf(row),
    ...(row.body === undefined ? {} : { requestBody: requestBodyOf(row, row.body) }),
    responses: responsesOf(row),
  };
}

function parametersOf(row: Route): JsonObject[] {
  const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(membersOf(row.query)).map(([name, schema]) => ({
    name,
    in: "query",
    required: schema._zod.optin !== "optional",
    schema: parameterSchema(schema),
  }));
  const inHeader = [
    "X-Correlation-Id",
    ...(isRepeatable(row) ? ["Idempotency-Key"] : []),
    ...(row.method === "PATCH" || row.method === "DELETE" ? ["If-Match"] : []),
    ...(row.method === "GET" && hasEntityTag(row) ? ["If-None-Match"] : []),
  ];
  return [...inPath, ...inQuery, ...inHeader.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function requestBodyOf(row: Route, body: $ZodType): JsonObject {
  const schema = { $ref: referenceTo(componentName(body, row.id)) };
  const media = { schema, ...(row.example === undefined ? {} : { example: row.example }) };
  const types = mediaTypes[row.media ?? "json"];
  return { required: true, content: Object.fromEntries(types.map((type) => [type, media])) };
}
