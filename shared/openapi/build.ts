import type { $ZodType } from "zod/v4/core";
import { limits } from "../limits.ts";
import { routes } from "../routes/index.ts";
import type { Route } from "../routes/route.ts";
import { Nothing, TokenError } from "../schema/oauth.ts";
import { scopes } from "../schema/scope.ts";
import { callbackResponses, callbacksOf, eventReplies, eventSchemas, subscribes } from "./callbacks.ts";
import { type JsonObject, type Narrowing, narrow, type OpenApi, type Operation } from "./document.ts";
import { examplePage, replyExamples } from "./examples.ts";
import { headerComponents } from "./headers.ts";
import { operationIdOf } from "./links.ts";
import { keptHours, parameterComponents, parametersOf, type SharedParameters } from "./parameters.ts";
import { problemExamples, problemSchema } from "./problems.ts";
import { isOAuth, responseComponents, responsesOf } from "./responses.ts";
import { componentName, componentSchemas, itemOf, referenceTo } from "./schemas.ts";
import { scopeTexts, tagTexts, withTexts } from "./texts.ts";

/** Placeholders for the two addresses; a deployed stage puts its own in when it serves the document. */
const servers = [
  { url: "https://api.brokerage.example/v2", description: "Production" },
  { url: "https://sandbox.brokerage.example/v2", description: "Sandbox" },
];

const { per_minute, burst_per_second, quotes_per_second } = limits.rate;

const description = `Back office of a brokerage: clients, accounts, deposits and withdrawals, and the events they cause.

## Getting started
Get a token with your client id and secret (\`POST /oauth/token\`), send it as \`Authorization: Bearer <token>\`,
and get a new one before it expires after ${limits.token.access_lifetime_seconds / 60} minutes. Sandbox and
production have addresses, applications and data of their own.

## Values
Amounts are decimal strings with exactly the digits of their currency: \`"1250.00"\` USD, \`"15000"\` JPY. Never
read them into a floating point number. Times are RFC 3339 in UTC with milliseconds. Identifiers begin with a
prefix that tells their kind, and are opaque beyond that.

Text is Unicode without control characters, tabs and line breaks included, and without halves of surrogate pairs; it
is normalised to NFC before it is measured, compared and stored, and lengths count code points. Identifiers of your
own, references, logins and email addresses hold no invisible characters and no marks of direction; names may hold
U+200C, U+200D and variation selectors, but not only those. What breaks a rule answers 422 \`validation_failed\` with
the field and the rule; in a query 400 \`invalid_parameter\`; half a surrogate pair is no JSON that all readers take
and answers 400 \`malformed_json\`. Metadata has at most
${limits.metadata.max_bytes / 1024} KiB, the bytes of its keys and values in UTF-8 (\`too_many_bytes\`).

## Lists
A list comes in pages of at most ${limits.page.max_items}. A page holds fewer than you asked for when the whole would be
larger than ${limits.page.max_bytes / 1024 / 1024} MB, or when a filter had to look at many items. Follow
\`_links.next\`, or the \`Link\` header, until it is absent; the links carry your filters. A parameter that is not
known answers 400. Lists may lag behind a write for a moment, a read by identifier never does.

## Repeating a request safely
Send an \`Idempotency-Key\` of your own with everything that changes something, above all with money. Within
${keptHours} hours the same request under the same key gets the first answer again, with \`Idempotent-Replayed:
true\`, and nothing happens twice. A timeout or a 5xx does not tell whether the request was carried out: repeat it
with the same key. A 503 says in \`Retry-After\` after how many seconds.

## Changing what others change too
Every resource has an \`ETag\`. With \`If-Match\` a change is made only while the resource has it still; else the
answer is 412 and you read again. With \`If-None-Match\` a read answers 304 while nothing changed. PATCH takes a
merge patch (RFC 7396): what is absent stays, null removes.

## Limits
An application may make ${per_minute} requests in a minute and ${burst_per_second} in a second; quotes count apart,
${quotes_per_second} in a second. \`X-RateLimit-Remaining\` tells what is left. Beyond that the answer is 429: wait
as many seconds as \`Retry-After\` says.

## Errors
Errors are problem documents (RFC 9457). Act on the status and \`code\`; \`errors\` lists every field that is wrong
at once. The OAuth endpoints answer as RFC 6749 says instead. An unknown path answers 404, a method that a path
does not have 405 with \`Allow\`. An address with more than 10,240 characters answers 414 before any operation is known,
so its body is no problem document: its \`message\` says what is wrong. Name \`X-Request-Id\` when you ask for help.

## Versions
Within a version members, operations, codes and kinds of events are only added. Ignore what you do not know.`;

const mediaTypes: Readonly<Record<NonNullable<Route["media"]>, readonly string[]>> = {
  json: ["application/json"],
  merge_patch: ["application/merge-patch+json", "application/json"],
  form_or_json: ["application/x-www-form-urlencoded", "application/json"],
};

/**
 * The OpenAPI 3.0.3 document of the route table: equal rows and schemas give equal bytes. Without options it is the
 * document of both stages, which is committed; `narrow` makes that of one stage from it.
 */
export function buildOpenApi({ rows = routes, ...narrowing }: Narrowing & { rows?: readonly Route[] } = {}): OpenApi {
  const shared = parameterComponents(rows);
  const document: OpenApi = {
    openapi: "3.0.3",
    info: {
      title: "Brokerage API",
      version: "2.0.0",
      description,
      contact: { name: "API support", url: "https://docs.brokerage.example", email: "api@brokerage.example" },
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers,
    tags: [...new Set(rows.map((row) => row.tag))].map((name) => ({ name, description: tagTexts[name] ?? name })),
    paths: pathsOf(rows, shared),
    components: {
      securitySchemes: securitySchemes(rows),
      parameters: shared,
      headers: headerComponents,
      responses: { ...responseComponents(rows), ...(rows.some(subscribes) ? callbackResponses : {}) },
      examples: { ...repliesOf(rows), ...problemExamples() },
      schemas: schemasOf(rows),
    },
  };
  return narrow(withoutUnused(document), narrowing);
}

/** The document as it is committed and compared: two spaces, one newline at the end. */
export function printOpenApi(document: OpenApi): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

function schemasOf(rows: readonly Route[]): Record<string, JsonObject> {
  const bodies = rows.flatMap((row) => (row.body === undefined ? [] : [row.body]));
  const plain = componentSchemas(bodies, [
    ...rows.map(({ reply }) => reply).filter((reply) => reply !== Nothing),
    TokenError,
    ...(rows.some(subscribes) ? Object.values(eventReplies) : []),
  ]);
  const all = { ...plain, ...eventSchemas(rows), Problem: problemSchema };
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, withTexts(name, schema)]));
}

/** The example of every answer that succeeds, by the name of its schema. */
function repliesOf(rows: readonly Route[]): Record<string, JsonObject> {
  const examples: Record<string, JsonObject> = {};
  for (const row of rows.filter(({ reply }) => reply !== Nothing)) {
    const item = itemOf(row.reply);
    const example = replyExamples[componentName(item ?? row.reply, row.id)];
    if (example === undefined) continue;
    examples[componentName(row.reply, row.id)] ??= {
      summary: row.summary,
      value: item === undefined ? example : examplePage(row.path, example),
    };
  }
  return examples;
}

function used(all: Record<string, JsonObject>, names: readonly string[]): Record<string, JsonObject> {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
}

/** Headers and examples that nothing in the document refers to are left out. */
function withoutUnused(document: OpenApi): OpenApi {
  const text = JSON.stringify(document);
  const referred = (kind: string) =>
    [...text.matchAll(new RegExp(`"#/components/${kind}/([^"]+)"`, "g"))].map(([, name = ""]) => name);
  const { components } = document;
  const headers = used(components.headers, referred("headers"));
  const examples = used(components.examples, referred("examples"));
  return { ...document, components: { ...components, headers, examples } };
}

function securitySchemes(rows: readonly Route[]): OpenApi["components"]["securitySchemes"] {
  // A scope that no row requires may already be granted, but requesting it has no effect.
  const asked = new Set(rows.flatMap(({ scope, further_scopes = [] }) => [scope, ...further_scopes]));
  const texts = Object.fromEntries(
    scopes.filter((scope) => asked.has(scope)).map((scope) => [scope, scopeTexts[scope]]),
  );
  return {
    oauth2: {
      type: "oauth2",
      description: "OAuth 2.0 client credentials (RFC 6749 4.4); the token goes into the `Authorization` header.",
      flows: { clientCredentials: { tokenUrl: `${servers[0]?.url}/oauth/token`, scopes: texts } },
    },
    client: {
      type: "http",
      scheme: "basic",
      description: "Client id and client secret (RFC 6749 2.3.1); they may also stand in the body.",
    },
  };
}

function securityOf(row: Route): JsonObject[] {
  const { scope, further_scopes = [] } = row;
  if (row.auth === "token") {
    const own = scope === null ? [] : [scope];
    return [{ oauth2: own }, ...further_scopes.map((further) => ({ oauth2: [...own, further] }))];
  }
  return isOAuth(row) ? [{ client: [] }, {}] : [];
}

function pathsOf(rows: readonly Route[], shared: SharedParameters): OpenApi["paths"] {
  const paths: OpenApi["paths"] = {};
  for (const row of rows) {
    paths[row.path] = { ...paths[row.path], [row.method.toLowerCase()]: operationOf(row, rows, shared) };
  }
  return paths;
}

function operationOf(row: Route, rows: readonly Route[], shared: SharedParameters): Operation {
  return {
    operationId: operationIdOf(row),
    tags: [row.tag],
    summary: row.summary,
    description: descriptionOf(row),
    ...(row.stages.length === 2 ? {} : { "x-stages": row.stages }),
    security: securityOf(row),
    parameters: parametersOf(row, shared),
    ...(row.body === undefined ? {} : { requestBody: requestBodyOf(row, row.body) }),
    responses: responsesOf(row, rows),
    ...callbacksOf(row, rows),
  };
}

/** What the row says of itself, and what follows from its other fields. */
function descriptionOf(row: Route): string {
  const events = row.emits.map((event) => `\`${event}\``).join(", ");
  const needs = row.scope === null ? "any token" : `a token with the scope \`${row.scope}\``;
  const more = (row.further_scopes ?? []).map((scope) => `\`${scope}\``).join(" or ");
  return [
    ...(row.description === undefined ? [] : [row.description]),
    ...(row.auth === "token" ? [`Needs ${needs}${more === "" ? "" : `, and for some of it ${more}`}.`] : []),
    ...(events === "" ? [] : [`May emit ${events}.`]),
    ...(row.stages.length === 2 ? [] : [`Exists in ${row.stages.join(" and ")} only.`]),
  ].join("\n\n");
}

function requestBodyOf(row: Route, body: $ZodType): JsonObject {
  const schema = { $ref: referenceTo(componentName(body, row.id)) };
  const media = { schema, ...(row.example === undefined ? {} : { example: row.example }) };
  const types = mediaTypes[row.media ?? "json"];
  return { required: row.body_optional !== true, content: Object.fromEntries(types.map((type) => [type, media])) };
}
