import { limits } from "../limits.ts";
import type { Route } from "../routes/route.ts";
import { Nothing, TokenError } from "../schema/oauth.ts";
import { type ProblemCode, problemCodes, problemKind, problemType } from "../schema/problem.ts";
import { OpenApiDocument } from "../schema/service.ts";
import type { JsonObject } from "./document.ts";
import { exampleBaseUrl, exampleRequestId } from "./examples.ts";
import { linksOf } from "./links.ts";
import { componentName, itemOf, membersOf, referenceTo } from "./schemas.ts";

const integer = { type: "integer" };
const text = { type: "string" };

/** Response headers, by the name they have on the wire. */
export const headerComponents: Record<string, JsonObject> = {
  "X-Request-Id": {
    description: "Identifies this request in the logs of the service.",
    required: true,
    schema: text,
    example: exampleRequestId,
  },
  "X-Correlation-Id": { description: "The caller's own identifier, echoed when it was sent.", schema: text },
  ETag: {
    description: "Strong entity tag of the resource (RFC 9110 8.8.3).",
    required: true,
    schema: { type: "string", pattern: '^"[^"]+"$' },
    example: '"2"',
  },
  "ETag-Weak": {
    description: "Weak entity tag (RFC 9110 8.8.3): the same for every coding of the content.",
    required: true,
    schema: { type: "string", pattern: '^W/"[^"]+"$' },
    example: 'W/"9f2c1a"',
  },
  Vary: {
    description: "What the answer depends on beside the address: its coding is one that the caller accepts.",
    required: true,
    schema: { type: "string", enum: ["Accept-Encoding"] },
    example: "Accept-Encoding",
  },
  Location: { description: "Address of the new resource.", required: true, schema: { type: "string", format: "uri" } },
  Link: {
    description: "`first`, `next` and `prev` page, as in `_links` of the body (RFC 8288).",
    required: true,
    schema: text,
    example: `<${exampleBaseUrl}/clients?cursor=eyJ2IjoxfQ>; rel="next"`,
  },
  "Cache-Control": {
    description: "How the answer may be cached (RFC 9111).",
    required: true,
    schema: text,
    example: "private, no-store",
  },
  "X-RateLimit-Limit": {
    description: "Requests in one window: a minute, or a second for quotes.",
    schema: integer,
    example: limits.rate.per_minute,
  },
  "X-RateLimit-Remaining": { description: "Requests left in this window.", schema: integer, example: 997 },
  "X-RateLimit-Reset": {
    description: "Unix time in seconds at which the next window starts.",
    schema: integer,
    example: 1795241640,
  },
  "Idempotent-Replayed": {
    description: "`true` when this is the stored answer to an earlier request with the same Idempotency-Key.",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": {
    description: "Whole seconds to wait before the next try (RFC 9110 10.2.3).",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  "Retry-After-Passing": {
    description: "With a refusal that passes by itself: whole seconds to wait before the same request is sent again.",
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  "WWW-Authenticate": { description: "How to authenticate (RFC 9110 11.6.1).", schema: text },
  "Accept-Patch": { description: "On PATCH: media types it takes (RFC 5789 3.1).", schema: text },
};

const rateHeaders = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

const fieldError: JsonObject = {
  type: "object",
  properties: { pointer: text, parameter: text, header: text, code: text, detail: text },
  required: ["code", "detail"],
};

/** Schema of every refusal outside the OAuth endpoints (RFC 9457). */
export const problemSchema: JsonObject = {
  type: "object",
  description: "A problem document (RFC 9457). Act on `code`; the texts are for people.",
  properties: {
    type: { type: "string", format: "uri" },
    title: text,
    status: integer,
    detail: text,
    instance: text,
    code: { type: "string", "x-extensible-enum": problemCodes },
    request_id: text,
    errors: { type: "array", items: fieldError },
    from: {
      type: "string",
      description:
        "With `illegal_transition`: the state as it is. With `no_conversion_path`: the currency to convert from.",
    },
    to: {
      type: "string",
      description:
        "With `illegal_transition`: the state that was asked for. " +
        "With `no_conversion_path`: the currency to convert to.",
    },
    symbol: { type: "string", description: "With `no_conversion_path`: the symbol whose profit cannot be converted." },
    allowed: { type: "array", items: text },
    previous_secret_expires_at: {
      type: "string",
      format: "date-time",
      description: "With `secret_rotation_in_progress`: from when on a new secret can be had.",
    },
    expected_seq: { type: "string", description: "With `sequence_gap`: the number that comes next." },
    left: { type: "array", items: text, description: "With `account_not_empty`: what the account still has." },
    max: { type: "integer", description: "With `leverage_not_allowed`: the highest that is allowed." },
    scope: { type: "string", description: "With `insufficient_scope`: the scope that is missing." },
    available_balance: { type: "string", description: "With `insufficient_funds`: what is available." },
    withdrawable: { type: "string", description: "With `insufficient_free_margin`: what can be withdrawn now." },
    free_margin: { type: "string", description: "With `insufficient_margin`: what was free." },
    required_margin: { type: "string", description: "With `insufficient_margin`: what the trade would take." },
    margin_level: {
      ...text,
      nullable: true,
      description: "With `leverage_change_breaches_margin`: the level, in percent, that the account would have.",
    },
    currency: { type: "string", description: "Currency of the amount beside it." },
    "violated-policies": {
      type: "array",
      items: { type: "string", enum: ["minute", "burst", "quotes", "feed", "feed_quotes"] },
    },
  },
  required: ["type", "title", "status", "detail", "instance", "code", "request_id"],
};

const tokenErrorContent = {
  "application/json": { schema: { $ref: referenceTo(componentName(TokenError, "shared/schema/oauth.ts")) } },
};

/** Answers that are the same wherever they occur: status, name of the component, headers beside the request id. */
const sharedResponses: Readonly<Record<number, { name: string; headers: readonly string[] }>> = {
  401: { name: "Unauthenticated", headers: ["WWW-Authenticate"] },
  404: { name: "NotFound", headers: rateHeaders },
  412: { name: "PreconditionFailed", headers: ["ETag", ...rateHeaders] },
  413: { name: "PayloadTooLarge", headers: rateHeaders },
  415: { name: "UnsupportedMediaType", headers: ["Accept-Patch", ...rateHeaders] },
  429: { name: "RateLimitExceeded", headers: ["Retry-After", ...rateHeaders] },
  500: { name: "InternalError", headers: rateHeaders },
  502: { name: "BadGateway", headers: [] },
  503: { name: "ServiceUnavailable", headers: ["Retry-After", ...rateHeaders] },
  504: { name: "GatewayTimeout", headers: [] },
};

/** The row answers in the shape of RFC 6749 5.2 rather than as a problem. */
export function isOAuth(row: Route): boolean {
  return row.path.startsWith("/oauth/");
}

/** The row lets the caller repeat a request safely by `Idempotency-Key`. */
export function isRepeatable(row: Route): boolean {
  return row.method !== "GET" && row.named !== true && !isOAuth(row);
}

/** The row can be made to depend on the version of a resource by `If-Match`. */
export function isConditional(row: Route): boolean {
  return row.method === "PATCH" || row.method === "DELETE";
}

/** Requests of the row count against a limit, and the answers tell how much of it is left. */
function isCounted(row: Route): boolean {
  return row.rate !== "none";
}

/** The answer has an entity tag: one resource with a version, or the description of the API. */
export function hasEntityTag(row: Route): boolean {
  return membersOf(row.reply)["version"] !== undefined || row.reply === OpenApiDocument;
}

/** Answers that are declared once under `components.responses`: those of them that a row refers to. */
export function responseComponents(rows: readonly Route[]): Record<string, JsonObject> {
  const answered = new Set(rows.flatMap((row) => Object.values(responsesOf(row, rows)).map((one) => one["$ref"])));
  const components: Record<string, JsonObject> = {};
  for (const [status, { name, headers }] of Object.entries(sharedResponses)) {
    if (answered.has(`#/components/responses/${name}`)) {
      components[name] = problemResponse(codesWithStatus(Number(status)), headers);
    }
  }
  return components;
}

/** All answers of a row, by status. */
export function responsesOf(row: Route, rows: readonly Route[]): Record<string, JsonObject> {
  const refusals = isOAuth(row) ? oauthRefusals(row) : problemRefusals(row);
  const notModified = row.method === "GET" && hasEntityTag(row) ? { "304": notModifiedOf(row) } : {};
  return { [row.status]: successOf(row, rows), ...notModified, ...refusals };
}

/** The description of the API alone is so large that it is compressed. */
function tagHeaders(row: Route): string[] {
  return row.reply === OpenApiDocument ? ["ETag-Weak", "Vary"] : ["ETag"];
}

function notModifiedOf(row: Route): JsonObject {
  return {
    description: "The resource still has the entity tag of If-None-Match.",
    headers: headersOf([...tagHeaders(row), "Cache-Control", ...(isCounted(row) ? rateHeaders : [])]),
  };
}

function successOf(row: Route, rows: readonly Route[]): JsonObject {
  const headers = headersOf([
    ...(hasEntityTag(row) ? tagHeaders(row) : []),
    ...(row.status === 201 ? ["Location"] : []),
    ...(itemOf(row.reply) === undefined ? [] : ["Link"]),
    ...(isCounted(row) ? rateHeaders : []),
    ...(isRepeatable(row) ? ["Idempotent-Replayed"] : []),
    "Cache-Control",
  ]);
  if (row.reply === Nothing) return { description: row.summary, headers };
  const links = linksOf(row, rows);
  const more = Object.keys(links).length === 0 ? {} : { links };
  const name = componentName(row.reply, row.id);
  const examples = { [name]: { $ref: `#/components/examples/${name}` } };
  const content = { "application/json": { schema: { $ref: referenceTo(name) }, examples } };
  return { description: row.summary, headers, content, ...more };
}

function problemRefusals(row: Route): Record<string, JsonObject> {
  const byStatus = new Map<number, ProblemCode[]>();
  const file = (status: number, code: ProblemCode) =>
    byStatus.set(status, [...(byStatus.get(status) ?? []).filter((one) => one !== code), code]);
  for (const code of [...standardRefusals(row), ...row.refusals]) file(problemKind(code).status, code);
  for (const code of row.conflicts ?? []) file(409, code);
  const responses: Record<string, JsonObject> = {};
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const shared = sharedResponses[status];
    responses[status] =
      shared === undefined
        ? problemResponse(codes, headersOfRefusal(row, status, codes))
        : { $ref: `#/components/responses/${shared.name}` };
  }
  return responses;
}

/** Codes of a conflict that passes by itself: the answer says when. */
const passing: ReadonlySet<ProblemCode> = new Set([
  "leverage_change_in_progress",
  "liquidation_in_progress",
  "metrics_stale",
]);

/** Refusals of a business rule are kept under the caller's key like answers that succeed. */
function headersOfRefusal(row: Route, status: number, codes: readonly ProblemCode[]): string[] {
  const kept = isRepeatable(row) && (status === 409 || status === 422);
  return [
    ...(isCounted(row) ? rateHeaders : []),
    ...(kept ? ["Idempotent-Replayed"] : []),
    ...(codes.some((code) => passing.has(code)) ? ["Retry-After-Passing"] : []),
  ];
}

/**
 * Codes that any row of this form may answer with, whatever its handler does. A method that a path does not have
 * answers 405 and an unknown path 404, but neither of them is an operation.
 */
function standardRefusals(row: Route): ProblemCode[] {
  const hasBody = row.body !== undefined;
  return [
    "invalid_parameter",
    "unknown_parameter",
    ...(hasBody ? (["malformed_json", "duplicate_key"] as const) : []),
    ...(isRepeatable(row) ? (["idempotency_key_invalid"] as const) : []),
    ...(row.auth === "token" ? (["unauthenticated"] as const) : []),
    ...(row.scope === null ? [] : (["insufficient_scope"] as const)),
    ...(row.auth === "token" ? (["address_not_allowed"] as const) : []),
    ...(row.path.includes("{") ? (["not_found"] as const) : []),
    ...(isConditional(row) ? (["precondition_failed"] as const) : []),
    ...(hasBody ? (["payload_too_large", "unsupported_media_type", "validation_failed"] as const) : []),
    ...(row.media === "merge_patch" ? (["immutable_field"] as const) : []),
    ...(isRepeatable(row) ? (["idempotency_key_reused"] as const) : []),
    "rate_limit_exceeded",
    "internal_error",
    "bad_gateway",
    // What calls no other service always is available: the health and the description of the API.
    ...(row.auth === "token" || row.grants.length > 0 ? (["service_unavailable"] as const) : []),
    "gateway_timeout",
  ];
}

/** What the OAuth endpoints answer (RFC 6749 5.2); where the gateway may refuse as well, it does so with a problem. */
function oauthRefusals(row: Route): Record<string, JsonObject> {
  const own = (description: string, codes: readonly string[], headers: readonly string[], content: JsonObject) => ({
    description: `${description}\n\n${codes.map((code) => `- \`${code}\``).join("\n")}`,
    "x-codes": codes,
    headers: headersOf([...headers, "Cache-Control"]),
    content,
  });
  const fromGateway = (status: number) => ({ $ref: `#/components/responses/${sharedResponses[status]?.name}` });
  const busy = ["temporarily_unavailable"];
  const unready = own("Not available right now.", [...busy, "service_unavailable"], ["Retry-After", ...rateHeaders], {
    ...tokenErrorContent,
    ...problemContent(["service_unavailable"]),
  });
  return {
    "400": own("The request is not valid.", oauthErrorsOf(row), rateHeaders, tokenErrorContent),
    "413": own("The body is too large.", ["invalid_request", "payload_too_large"], rateHeaders, {
      ...tokenErrorContent,
      ...problemContent(["payload_too_large"]),
    }),
    "401": own("The client is not authenticated.", ["invalid_client"], ["WWW-Authenticate"], tokenErrorContent),
    "429": own("Too many attempts.", [...busy, "rate_limit_exceeded"], ["Retry-After", ...rateHeaders], {
      ...tokenErrorContent,
      ...problemContent(["rate_limit_exceeded"]),
    }),
    "500": fromGateway(500),
    "502": fromGateway(502),
    "503": unready,
    "504": fromGateway(504),
  };
}

/** Revoking knows no grants and no scopes (RFC 7009 2.2.1). */
function oauthErrorsOf(row: Route): string[] {
  if (membersOf(row.body)["grant_type"] === undefined) return ["invalid_request"];
  return ["invalid_request", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"];
}

function codesWithStatus(status: number): ProblemCode[] {
  return problemCodes.filter((code) => problemKind(code).status === status);
}

function problemResponse(codes: readonly ProblemCode[], headers: readonly string[]): JsonObject {
  return {
    description: codes.map((code) => `- \`${code}\`: ${problemKind(code).title}`).join("\n"),
    "x-codes": codes,
    headers: headersOf([...headers, "Cache-Control"]),
    content: problemContent(codes),
  };
}

function problemContent(codes: readonly ProblemCode[]): JsonObject {
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]));
  return { "application/problem+json": { schema: { $ref: referenceTo("Problem") }, examples } };
}

const invalidField = { code: "required", detail: "is required" };

/** What a problem of this code says beside the members that every problem has. */
const problemExtras: Readonly<Partial<Record<ProblemCode, JsonObject>>> = {
  validation_failed: { errors: [{ pointer: "#/email", ...invalidField }] },
  immutable_field: { errors: [{ pointer: "#/client_id", code: "immutable_field", detail: "cannot be changed" }] },
  duplicate_key: { errors: [{ pointer: "#/email", code: "duplicate_key", detail: "is given twice" }] },
  unknown_parameter: { errors: [{ parameter: "stauts", code: "unknown_parameter", detail: "is not known" }] },
  invalid_parameter: {
    errors: [{ parameter: "limit", code: "invalid_format", detail: "must be a whole number from 1 to 100" }],
  },
  illegal_transition: { from: "completed", to: "pending", allowed: ["returned"] },
  secret_rotation_in_progress: { previous_secret_expires_at: "2026-11-22T06:30:00.123Z" },
  sequence_gap: { expected_seq: "918" },
  insufficient_scope: { scope: "clients:write" },
  insufficient_funds: { available_balance: "750.00", currency: "USD" },
  no_conversion_path: { symbol: "EURGBP", from: "GBP", to: "USD" },
  rate_limit_exceeded: { "violated-policies": ["burst"] },
};

/** Examples of problems, for every code that an answer of the document refers to. */
export function problemExamples(): Record<string, JsonObject> {
  const one = (code: ProblemCode): JsonObject => ({
    summary: problemKind(code).title,
    value: {
      type: problemType(code),
      title: problemKind(code).title,
      status: problemKind(code).status,
      detail: problemKind(code).title,
      instance: "/v2/clients",
      code,
      request_id: exampleRequestId,
      ...problemExtras[code],
    },
  });
  return Object.fromEntries(problemCodes.map((code) => [code, one(code)]));
}

function headersOf(names: readonly string[]): JsonObject {
  const all = ["X-Request-Id", "X-Correlation-Id", ...names];
  return Object.fromEntries(
    all.map((name) => [name.replace(/-(?:Passing|Weak)$/, ""), { $ref: `#/components/headers/${name}` }]),
  );
}
