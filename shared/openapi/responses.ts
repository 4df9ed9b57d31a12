import { isOfSource, type Route } from "../routes/route.ts";
import { Nothing, TokenError } from "../schema/oauth.ts";
import { type ProblemCode, problemCodes, problemKind } from "../schema/problem.ts";
import { AsyncApiDocument, OpenApiDocument } from "../schema/service.ts";
import type { JsonObject } from "./document.ts";
import { headersOf, rateHeaders } from "./headers.ts";
import { linksOf } from "./links.ts";
import { problemContent } from "./problems.ts";
import { componentName, itemOf, membersOf, referenceTo } from "./schemas.ts";

const tokenErrorContent = {
  "application/json": { schema: { $ref: referenceTo(componentName(TokenError, "shared/schema/oauth.ts")) } },
};

/** Responses that are the same for every operation, by status: name of the component, and headers of its own. */
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

/** The errors of the row have the shape of RFC 6749 5.2 instead of a problem. */
export function isOAuth(row: Route): boolean {
  return row.path.startsWith("/oauth/");
}

/** The row supports `Idempotency-Key`. */
export function isRepeatable(row: Route): boolean {
  return row.method !== "GET" && row.named !== true && !isOAuth(row);
}

/** The row supports `If-Match`. */
export function isConditional(row: Route): boolean {
  return row.method === "PATCH" || row.method === "DELETE";
}

/** Requests of the row count against a rate limit, and responses state what is left. */
function isCounted(row: Route): boolean {
  return row.rate !== "none";
}

/** The reply is a description of the API. */
function isDescription({ reply }: Route): boolean {
  return reply === OpenApiDocument || reply === AsyncApiDocument;
}

/** The response has an entity tag: a resource with a version, or a description of the API. */
export function hasEntityTag(row: Route): boolean {
  return membersOf(row.reply)["version"] !== undefined || isDescription(row);
}

/** Problem responses that many operations have with the same codes, by the name of the component. */
const commonRefusals: Readonly<Record<string, { status: number; codes: readonly ProblemCode[]; kept?: true }>> = {
  InvalidParameters: { status: 400, codes: ["invalid_parameter", "unknown_parameter"] },
  InvalidListParameters: { status: 400, codes: ["invalid_parameter", "unknown_parameter", "invalid_cursor"] },
  InvalidCommand: { status: 400, codes: ["invalid_parameter", "unknown_parameter", "idempotency_key_invalid"] },
  InvalidBody: { status: 400, codes: ["invalid_parameter", "unknown_parameter", "malformed_json", "duplicate_key"] },
  InvalidRequest: {
    status: 400,
    codes: ["invalid_parameter", "unknown_parameter", "malformed_json", "duplicate_key", "idempotency_key_invalid"],
  },
  Forbidden: { status: 403, codes: ["insufficient_scope", "address_not_allowed", "operators_only"] },
  ForbiddenSource: {
    status: 403,
    codes: ["insufficient_scope", "address_not_allowed", "source_not_allowed", "operators_only"],
  },
  ApprovalRequired: {
    status: 403,
    codes: ["insufficient_scope", "address_not_allowed", "operators_only", "four_eyes_required"],
  },
  IllegalTransition: { status: 409, codes: ["illegal_transition"], kept: true },
  WebhookEndpointDisabled: { status: 409, codes: ["webhook_endpoint_disabled"], kept: true },
  IdempotencyKeyReused: { status: 422, codes: ["idempotency_key_reused"], kept: true },
  ValidationFailed: { status: 422, codes: ["validation_failed"] },
  InvalidFields: { status: 422, codes: ["validation_failed", "idempotency_key_reused"], kept: true },
  InvalidPatch: {
    status: 422,
    codes: ["validation_failed", "immutable_field", "idempotency_key_reused"],
    kept: true,
  },
};

/**
 * Responses that are declared once under `components.responses`: those of them that an operation refers to. A response
 * that only one operation has is declared there in full.
 */
export function responseComponents(rows: readonly Route[]): Record<string, JsonObject> {
  const answered = new Set(rows.flatMap((row) => Object.values(responsesOf(row, rows)).map((one) => one["$ref"])));
  const components = Object.entries({
    ...Object.fromEntries(
      Object.entries(sharedResponses).map(([status, { name, headers }]) => [
        name,
        problemResponse(codesWithStatus(Number(status)), headers),
      ]),
    ),
    ...commonResponses,
    ...oauthResponses,
    NotModified: notModified(["ETag", "Cache-Control", ...rateHeaders]),
  });
  return Object.fromEntries(components.filter(([name]) => answered.has(responseReference(name).$ref)));
}

function responseReference(name: string): { $ref: string } {
  return { $ref: `#/components/responses/${name}` };
}

/** All responses of a row, by status. */
export function responsesOf(row: Route, rows: readonly Route[]): Record<string, JsonObject> {
  const refusals = isOAuth(row) ? oauthRefusals(row) : problemRefusals(row);
  const unchanged = row.method === "GET" && hasEntityTag(row) ? { "304": notModifiedOf(row) } : {};
  return { [row.status]: successOf(row, rows), ...unchanged, ...refusals };
}

/** Descriptions are or may become large enough to be compressed, so their tags are weak. */
function tagHeaders(row: Route): string[] {
  return isDescription(row) ? ["ETag-Weak", "Vary"] : ["ETag"];
}

function notModifiedOf(row: Route): JsonObject {
  if (!isDescription(row) && isCounted(row)) return responseReference("NotModified");
  return notModified([...tagHeaders(row), "Cache-Control", ...(isCounted(row) ? rateHeaders : [])]);
}

function notModified(headers: readonly string[]): JsonObject {
  return {
    description: "The resource still has the entity tag of If-None-Match.",
    headers: headersOf(headers),
  };
}

function successOf(row: Route, rows: readonly Route[]): JsonObject {
  const headers = headersOf([
    ...(hasEntityTag(row) ? tagHeaders(row) : []),
    // A ticket is shown once: it has no address of its own.
    ...(row.status === 201 && "_links" in membersOf(row.reply) ? ["Location"] : []),
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
  const table = row.table === true ? { "text/csv": { schema: { type: "string" } } } : {};
  const content = { "application/json": { schema: { $ref: referenceTo(name) }, examples }, ...table };
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
    responses[status] = shared === undefined ? refusalOf(row, status, codes) : responseReference(shared.name);
  }
  return responses;
}

function refusalOf(row: Route, status: number, codes: readonly ProblemCode[]): JsonObject {
  const standard = new Set(standardRefusals(row));
  // Rows declare the same codes in different order: the standard ones first, so that equal responses are equal text.
  const sorted = [
    ...standardRefusals(row).filter((code) => codes.includes(code)),
    ...codes.filter((code) => !standard.has(code)),
  ];
  const response = problemResponse(sorted, headersOfRefusal(row, status, codes));
  const name = commonNames.get(JSON.stringify(response));
  return name === undefined ? response : responseReference(name);
}

/** Codes of temporary conflicts: the response has `Retry-After`. */
const passing: ReadonlySet<ProblemCode> = new Set(["liquidation_in_progress", "metrics_stale"]);

/** Refusals by a business rule are stored under the idempotency key, as successful answers are. */
function headersOfRefusal(row: Route, status: number, codes: readonly ProblemCode[]): string[] {
  const kept = isRepeatable(row) && (status === 409 || status === 422);
  return [
    ...(isCounted(row) ? rateHeaders : []),
    ...(kept ? ["Idempotent-Replayed"] : []),
    ...(codes.some((code) => passing.has(code)) ? ["Retry-After-Passing"] : []),
  ];
}

const commonResponses = Object.fromEntries(
  Object.entries(commonRefusals).map(([name, { codes, kept }]) => [
    name,
    problemResponse(codes, [...rateHeaders, ...(kept ? ["Idempotent-Replayed"] : [])]),
  ]),
);
const commonNames = new Map(
  Object.entries(commonResponses).map(([name, response]) => [JSON.stringify(response), name]),
);

/**
 * Codes that any row of this form may return, independent of its handler. An unsupported method answers 405 and an
 * unknown path 404, but neither is an operation.
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
    ...(isOfSource(row) ? (["source_not_allowed"] as const) : []),
    // The answer at the dashboard's address, where an operator's token counts and nothing else does.
    "operators_only",
    ...(row.path.includes("{") ? (["not_found"] as const) : []),
    ...(isConditional(row) ? (["precondition_failed"] as const) : []),
    ...(hasBody ? (["payload_too_large", "unsupported_media_type", "validation_failed"] as const) : []),
    ...(row.media === "merge_patch" ? (["immutable_field"] as const) : []),
    ...(isRepeatable(row) ? (["idempotency_key_reused"] as const) : []),
    "rate_limit_exceeded",
    "internal_error",
    ...(row.auth === "token" || row.grants.length > 0 ? (["unreadable_item"] as const) : []),
    "bad_gateway",
    // Operations that call no other service are always available: the health check and the OpenAPI document.
    ...(row.auth === "token" || row.grants.length > 0 ? (["service_unavailable"] as const) : []),
    "gateway_timeout",
  ];
}

function oauthResponse(
  description: string,
  codes: readonly string[],
  headers: readonly string[],
  content: JsonObject,
): JsonObject {
  return {
    description: `${description}\n\n${codes.map((code) => `- \`${code}\``).join("\n")}`,
    "x-codes": codes,
    headers: headersOf([...headers, "Cache-Control"]),
    content,
  };
}

/** Refusals of an OAuth endpoint in the shape of RFC 6749 5.2, or as a problem if the gateway refuses. */
const oauthResponses: Readonly<Record<string, JsonObject>> = {
  OAuthPayloadTooLarge: oauthResponse("The body is too large.", ["invalid_request", "payload_too_large"], rateHeaders, {
    ...tokenErrorContent,
    ...problemContent(["payload_too_large"]),
  }),
  OAuthInvalidClient: oauthResponse(
    "The client is not authenticated.",
    ["invalid_client"],
    ["WWW-Authenticate"],
    tokenErrorContent,
  ),
  OAuthTooManyAttempts: oauthResponse(
    "Too many attempts.",
    ["temporarily_unavailable", "rate_limit_exceeded"],
    ["Retry-After", ...rateHeaders],
    { ...tokenErrorContent, ...problemContent(["rate_limit_exceeded"]) },
  ),
  OAuthUnavailable: oauthResponse(
    "Not available right now.",
    ["temporarily_unavailable", "service_unavailable"],
    ["Retry-After", ...rateHeaders],
    { ...tokenErrorContent, ...problemContent(["service_unavailable"]) },
  ),
};

function oauthRefusals(row: Route): Record<string, JsonObject> {
  return {
    "400": oauthResponse("The request is not valid.", oauthErrorsOf(row), rateHeaders, tokenErrorContent),
    "401": responseReference("OAuthInvalidClient"),
    "413": responseReference("OAuthPayloadTooLarge"),
    "429": responseReference("OAuthTooManyAttempts"),
    "500": responseReference("InternalError"),
    "502": responseReference("BadGateway"),
    "503": responseReference("OAuthUnavailable"),
    "504": responseReference("GatewayTimeout"),
  };
}

/** A revocation has neither a grant type nor a scope (RFC 7009 2.2.1). */
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
