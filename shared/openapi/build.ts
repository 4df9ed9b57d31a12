import type { $ZodType } from "zod/v4/core";
import { publishedUrls } from "../hosts.ts";
import { limits } from "../limits.ts";
import { routes } from "../routes/index.ts";
import type { Route } from "../routes/route.ts";
import { Nothing, TokenError } from "../schema/oauth.ts";
import { scopes } from "../schema/scope.ts";
import { callbackResponses, callbacksOf, eventReplies, eventSchemas, subscribes } from "./callbacks.ts";
import { type JsonObject, type Narrowing, narrow, type OpenApi, type Operation } from "./document.ts";
import { examplePage, replyExamples } from "./examples.ts";
import { headerComponents } from "./headers.ts";
import { linkComponents, operationIdOf } from "./links.ts";
import { keptHours, parameterComponents, parametersOf, type SharedParameters } from "./parameters.ts";
import { printedJson } from "./print.ts";
import { problemExamples, problemSchema } from "./problems.ts";
import { isOAuth, isRepeatable, responseComponents, responsesOf } from "./responses.ts";
import { componentName, componentSchemas, itemOf, referenceTo } from "./schemas.ts";
import { scopeTexts, tagTexts, withText } from "./texts.ts";

/** Placeholder URLs; a deployed stage replaces them by its own when it serves the document. */
const servers = [
  { url: publishedUrls.production, description: "Production" },
  { url: publishedUrls.sandbox, description: "Sandbox" },
];

const { per_minute, burst_per_second, quotes_per_second, feed_per_second, operator_per_second } = limits.rate;

/** Operations that read no `Idempotency-Key`, in a sentence. */
const keyless = routes
  .filter((row) => row.method !== "GET" && !isRepeatable(row))
  .map(({ method, path }) => `\`${method} ${path}\``)
  .join(", ");

const description = `Back office of a brokerage: clients, accounts, deposits and withdrawals, trading and events.

## Getting started
Request a token with your client id and secret (\`POST /oauth/token\`) and send it as \`Authorization: Bearer <token>\`.
A token expires after ${limits.token.access_lifetime_seconds / 60} minutes; request a new one before that. Sandbox and
production have separate URLs, applications and data.

## Values
Amounts are decimal strings with exactly the decimals of their currency: \`"1250.00"\` USD, \`"15000"\` JPY. Do not
parse them into floating-point numbers. Times are RFC 3339 in UTC with milliseconds. Identifiers start with a prefix
that names their type and are otherwise opaque.

Text is Unicode without control characters (tabs and line breaks included) and without unpaired surrogates. It is
normalised to NFC before it is measured, compared and stored; lengths count code points. White space at the ends of
names, identifiers, references and logins is removed, U+00A0 and U+FEFF included. Your own identifiers, references,
logins and email addresses must not contain invisible or bidirectional formatting characters; names may contain U+200C,
U+200D and variation selectors, but not only those. The domain of an email address is stored in ASCII (IDNA). A byte
order mark at the start of a body is ignored. A violation answers 422 \`validation_failed\` with
the field and the rule, in a query 400 \`invalid_parameter\`; an unpaired surrogate answers 400 \`malformed_json\`.
Metadata has at most ${limits.metadata.max_bytes / 1024} KiB, counted as UTF-8 bytes of keys and values
(\`too_many_bytes\`).

## Lists
Lists are paginated, with at most ${limits.page.max_items} resources per page. A page may hold fewer than
requested if it would exceed ${limits.page.max_bytes / 1024 / 1024} MB or if a filter has to examine many items. Follow
\`_links.next\`, or the \`Link\` header, until it is absent; the links include your filters. An unknown parameter
answers 400. Lists may lag briefly behind a write; reads by identifier do not, nor do lists that are filtered by a
unique value: \`email\` (clients that are not closed), \`external_id\`, \`number\` or \`platform_login\`.

## Idempotency
Send an \`Idempotency-Key\` with every request that changes something, above all with money. For ${keptHours} hours the
same request with the same key returns the stored response, with \`Idempotent-Replayed: true\`, and is not executed
again. After a timeout or a 5xx response it is unknown whether the request was executed: retry it with the same key. A
503 response states in \`Retry-After\` how many seconds to wait. A response with a secret is returned again only to the
same people: once another operator has been shown the secret of the calling application, its key is in use (422).
These operations ignore the key: ${keyless}.

## Concurrent changes
Every resource with a \`version\` has an \`ETag\`; lists, reports, quotes, events and audit entries have none. With
\`If-Match\` a PATCH or DELETE is applied only if the resource still has that tag; otherwise the answer is 412: read
the resource again. With \`If-None-Match\` a read answers 304 if nothing has changed.
PATCH takes a merge patch (RFC 7396): absent members stay unchanged, null removes a member.

## Rate limits
An application may send ${per_minute} requests per minute and ${burst_per_second} per second. Counted separately are
quotes (${quotes_per_second} per second), feed requests and feed prices (${feed_per_second} per second each). An
operator may send ${operator_per_second} requests of all kinds per second. \`X-RateLimit-Remaining\` states what is
left for requests of the same kind, \`GET /status/limits\` for all. Above the limit the answer is 429: wait for the
number of seconds in \`Retry-After\`.

## Errors
Errors are problem documents (RFC 9457). Handle them by status and \`code\`; \`errors\` lists up to
${limits.body.max_errors} invalid fields at once, and \`detail\` states how many there are. The OAuth endpoints answer
as RFC 6749 defines instead. An unknown path answers 404, an unsupported method answers 405 with \`Allow\`. A URL with
more than 10,240 characters answers 414 before it is matched to an operation, so the body is not a problem document:
its \`message\` describes the error. Any operation may answer 429, 500, 502, 503 or 504, and 401 where it takes a token.

## Headers
Every answer has \`X-Request-Id\`, the request identifier to include in support requests, and \`Cache-Control\`. An
\`X-Correlation-Id\` of the request is returned. Answers to requests that are counted have \`X-RateLimit-Limit\`,
\`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`.

## Stream
A WebSocket sends events, accounts, quotes and commands as they change, with the numbers that the events have here:
\`GET /asyncapi.json\` describes it. Browsers connect with a ticket of \`POST /stream_tickets\`.

## Versions
Within a version, members, operations, codes, event types and other values are only added. Ignore members, codes and
event types that you do not know. \`x-extensible-enum\` lists the values that a member of a response has today: show
another one as it is and treat it as "other". An unknown status is not final.`;

const mediaTypes: Readonly<Record<NonNullable<Route["media"]>, readonly string[]>> = {
  json: ["application/json"],
  merge_patch: ["application/merge-patch+json", "application/json"],
  form_or_json: ["application/x-www-form-urlencoded", "application/json"],
};

/**
 * The OpenAPI 3.0.3 document of the route table: equal rows and schemas give equal bytes. Without options it covers
 * both stages, as it is committed; `narrow` derives the document of one stage.
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
      links: linkComponents(rows),
      responses: { ...responseComponents(rows), ...(rows.some(subscribes) ? callbackResponses : {}) },
      examples: { ...repliesOf(rows), ...problemExamples() },
      schemas: schemasOf(rows),
    },
  };
  return narrow(withoutUnused(document), narrowing);
}

/** The document as it is committed and compared: two spaces, one newline at the end. */
export function printOpenApi(document: OpenApi): string {
  return printedJson(document);
}

function schemasOf(rows: readonly Route[]): Record<string, JsonObject> {
  const bodies = rows.flatMap((row) => (row.body === undefined ? [] : [row.body]));
  const plain = componentSchemas(bodies, [
    ...rows.map(({ reply }) => reply).filter((reply) => reply !== Nothing),
    TokenError,
    ...(rows.some(subscribes) ? Object.values(eventReplies) : []),
  ]);
  const all = { ...plain, ...eventSchemas(rows), Problem: problemSchema };
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, withText(name, schema)]));
}

/** An example of every successful response, by the name of its schema. */
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

/** The document without headers and examples that it does not refer to. */
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
      description: "OAuth 2.0 client credentials (RFC 6749 4.4); send the token in the `Authorization` header.",
      flows: { clientCredentials: { tokenUrl: `${servers[0]?.url}/oauth/token`, scopes: texts } },
    },
    client: {
      type: "http",
      scheme: "basic",
      description: "Client id and client secret (RFC 6749 2.3.1); the body may contain them instead.",
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

/** Description of the row, and sentences derived from its other members. */
function descriptionOf(row: Route): string {
  const events = row.emits.map((event) => `\`${event}\``).join(", ");
  const needs = row.scope === null ? "any token" : `a token with the scope \`${row.scope}\``;
  // The handler of such a row decides about scopes, and its description names them.
  const isDecided = row.scope === null && row.refusals.includes("insufficient_scope");
  const more = (row.further_scopes ?? []).map((scope) => `\`${scope}\``).join(" or ");
  const also = more === "" ? "" : `; some requests also require ${more}`;
  return [
    ...(row.description === undefined ? [] : [row.description]),
    ...(row.auth === "token" && !isDecided ? [`Requires ${needs}${also}.`] : []),
    ...(events === "" ? [] : [`May emit ${events}.`]),
    ...(row.stages.length === 2 ? [] : [`Available in the ${row.stages.join(" and the ")} only.`]),
  ].join("\n\n");
}

function requestBodyOf(row: Route, body: $ZodType): JsonObject {
  const schema = { $ref: referenceTo(componentName(body, row.id)) };
  const media = { schema, ...(row.example === undefined ? {} : { example: row.example }) };
  const types = mediaTypes[row.media ?? "json"];
  return { required: row.body_optional !== true, content: Object.fromEntries(types.map((type) => [type, media])) };
}
