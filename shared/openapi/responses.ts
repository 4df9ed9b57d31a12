import type { Route } from "../routes/route.ts";
import { TokenError } from "../schema/oauth.ts";
import { type ProblemCode, problems } from "../schema/problem.ts";
import { OpenApiDocument } from "../schema/service.ts";
import type { JsonObject } from "./document.ts";
import { componentName, itemOf, membersOf, referenceTo } from "./schemas.ts";

const integer = { type: "integer" };
const text = { type: "string" };

/** Response headers, by the name they have on the wire. */
export const headerComponents: Record<string, JsonObject> = {
  "X-Request-Id": { description: "Identifies this request in the logs of the service.", schema: text },
  "X-Correlation-Id": { description: "The caller's own identifier, echoed when it was sent.", schema: text },
  ETag: { description: "Strong entity tag of the resource (RFC 9110 8.8.3).", schema: text },
  Location: { description: "Address of the new resource.", schema: { type: "string", format: "uri" } },
  Link: { description: "`next`, `prev` and `first` page (RFC 8288).", schema: text },
  "Cache-Control": { description: "How the answer may be cached (RFC 9111).", schema: text },
  "X-RateLimit-Limit": { description: "Requests in one window.", schema: integer },
  "X-RateLimit-Remaining": { description: "Requests left in this window.", schema: integer },
  "X-RateLimit-Reset": { description: "Unix time in seconds at which the next window starts.", schema: integer },
  "Idempotent-Replayed": {
    description: "`true` when this is the stored answer to an earlier request with the same Idempotency-Key.",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": { description: "Whole seconds to wait before the next try (RFC 9110 10.2.3).", schema: integer },
  "WWW-Authenticate": { description: "How to authenticate (RFC 9110 11.6.1).", schema: text },
  Allow: { description: "Methods that the path knows (RFC 9110 10.2.1).", schema: text },
  "Accept-Patch": { description: "On PATCH: media types it takes (RFC 5789 3.1).", schema: text },
};

const rateHeaders = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** Schema of every refusal outside the OAuth endpoints (RFC 9457). */
export const problemSchema: JsonObject = {
  type: "object",
  description: "A problem document (RFC 9457). Act on `code`; the texts are for people.",
  properties: {
    type: { type: "string", format: "uri", description: "Page of the documentation about this kind of problem." },
    title: { type: "string", description: "Short text, the same for every problem of this type." },
    status: { type: "integer", description: "The HTTP status." },
    detail: { type: "string", description: "What happened this time." },
    instance: { type: "string", description: "Path of the request." },
    code: {
      type: "string",
      description: "Stable reason. New codes may come within a version; treat an unknown one by its status.",
      "x-extensible-enum": Object.keys(problems),
    },
    request_id: { type: "string", description: "The same as in `X-Request-Id`." },
    errors: {
      type: "array",
      description: "Everything that is wrong with the request, one entry for each place.",
      items: {
        type: "object",
        properties: {
          pointer: { type: "string", description: "JSON Pointer into the body, as a URI fragment: `#/email`." },
          parameter: { type: "string", description: "Name of the query parameter." },
          header: { type: "string", description: "Name of the header." },
          code: { type: "string" },
          detail: { type: "string" },
        },
        required: ["code", "detail"],
      },
    },
    allowed: { type: "array", items: text, description: "With `illegal_transition`: states that may follow." },
    "violated-policies": {
      type: "array",
      items: { type: "string", enum: ["minute", "burst", "quotes"] },
      description: "With `rate_limit_exceeded`: the limits that were exceeded.",
    },
  },
  required: ["type", "title", "status", "code", "request_id"],
};

const problemContent = { "application/problem+json": { schema: { $ref: referenceTo("Problem") } } };
const tokenErrorContent = {
  "application/json": { schema: { $ref: referenceTo(componentName(TokenError, "shared/schema/oauth.ts")) } },
};

/** Answers that are the same wherever they occur: status, name of the component, headers beside the request id. */
const sharedResponses: Readonly<Record<number, { name: string; headers: readonly string[] }>> = {
  401: { name: "Unauthenticated", headers: ["WWW-Authenticate"] },
  404: { name: "NotFound", headers: [] },
  405: { name: "MethodNotAllowed", headers: ["Allow"] },
  412: { name: "PreconditionFailed", headers: ["ETag"] },
  413: { name: "PayloadTooLarge", headers: [] },
  415: { name: "UnsupportedMediaType", headers: ["Accept-Patch"] },
  429: { name: "RateLimitExceeded", headers: ["Retry-After", ...rateHeaders] },
  500: { name: "InternalError", headers: [] },
  502: { name: "BadGateway", headers: [] },
  503: { name: "ServiceUnavailable", headers: ["Retry-After"] },
  504: { name: "GatewayTimeout", headers: [] },
};

/** The row answers in the shape of RFC 6749 5.2 rather than as a problem. */
function isOAuth(row: Route): boolean {
  return row.path.startsWith("/oauth/");
}

/** The row lets the caller repeat a request safely by `Idempotency-Key`. */
export function isRepeatable(row: Route): boolean {
  return row.method !== "GET" && !isOAuth(row);
}

/** The answer has an entity tag: one resource with a version, or the description of the API. */
export function hasEntityTag(row: Route): boolean {
  return membersOf(row.reply)["version"] !== undefined || row.reply === OpenApiDocument;
}

/** Answers that are declared once under `components.responses`. */
export function responseComponents(): Record<string, JsonObject> {
  const components: Record<string, JsonObject> = {};
  for (const [status, { name, headers }] of Object.entries(sharedResponses)) {
    const codes = codesWithStatus(Number(status));
    components[name] = { ...describe(codes), headers: headersOf(headers), content: problemContent };
  }
  return components;
}

/** All answers of a row, by status. */
export function responsesOf(row: Route): Record<string, JsonObject> {
  const refusals = isOAuth(row) ? oauthRefusals() : problemRefusals(row);
  const notModified = row.method === "GET" && hasEntityTag(row) ? { "304": notModifiedResponse } : {};
  return { [row.status]: successOf(row), ...notModified, ...refusals };
}

const notModifiedResponse: JsonObject = {
  description: "The resource still has the entity tag of If-None-Match.",
  headers: headersOf(["ETag"]),
};

function successOf(row: Route): JsonObject {
  const headers = [
    ...(hasEntityTag(row) ? ["ETag"] : []),
    ...(row.status === 201 ? ["Location"] : []),
    ...(itemOf(row.reply) === undefined ? [] : ["Link"]),
    ...(row.auth === "token" && row.rate !== "none" ? rateHeaders : []),
    ...(isRepeatable(row) ? ["Idempotent-Replayed"] : []),
    "Cache-Control",
  ];
  const schema = { $ref: referenceTo(componentName(row.reply, row.id)) };
  return { description: row.summary, headers: headersOf(headers), content: { "application/json": { schema } } };
}

function problemRefusals(row: Route): Record<string, JsonObject> {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set([...standardRefusals(row), ...row.refusals])) {
    const { status } = problems[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: Record<string, JsonObject> = {};
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const shared = sharedResponses[status];
    responses[status] =
      shared === undefined
        ? { ...describe(codes), headers: headersOf([]), content: problemContent }
        : { $ref: `#/components/responses/${shared.name}` };
  }
  return responses;
}

/** Codes that any row of this form may answer with, whatever its handler does. */
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
    "method_not_allowed",
    ...(row.method === "PATCH" || row.method === "DELETE" ? (["precondition_failed"] as const) : []),
    ...(hasBody ? (["payload_too_large", "unsupported_media_type", "validation_failed"] as const) : []),
    ...(row.media === "merge_patch" ? (["immutable_field"] as const) : []),
    ...(isRepeatable(row) ? (["idempotency_key_reused"] as const) : []),
    "rate_limit_exceeded",
    "internal_error",
    "bad_gateway",
    "service_unavailable",
    "gateway_timeout",
  ];
}

/** What the OAuth endpoints answer (RFC 6749 5.2); where the gateway may refuse as well, it does so with a problem. */
function oauthRefusals(): Record<string, JsonObject> {
  const own = (description: string, codes: readonly string[], headers: readonly string[], content: JsonObject) => ({
    description: `${description}\n\n${codes.map((code) => `- \`${code}\``).join("\n")}`,
    "x-codes": codes,
    headers: headersOf([...headers, "Cache-Control"]),
    content,
  });
  const fromGateway = (status: number) => ({ $ref: `#/components/responses/${sharedResponses[status]?.name}` });
  const either = { ...tokenErrorContent, ...problemContent };
  const refused = [
    "invalid_request",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
  ];
  const busy = ["temporarily_unavailable"];
  return {
    "400": own("The request is not valid.", refused, [], tokenErrorContent),
    "401": own("The client is not authenticated.", ["invalid_client"], ["WWW-Authenticate"], tokenErrorContent),
    "405": fromGateway(405),
    "413": fromGateway(413),
    "429": own("Too many attempts.", [...busy, "rate_limit_exceeded"], ["Retry-After"], either),
    "500": fromGateway(500),
    "502": fromGateway(502),
    "503": own("Not available right now.", [...busy, "service_unavailable"], ["Retry-After"], either),
    "504": fromGateway(504),
  };
}

function codesWithStatus(status: number): ProblemCode[] {
  return (Object.keys(problems) as ProblemCode[]).filter((code) => problems[code].status === status);
}

function describe(codes: readonly ProblemCode[]): JsonObject {
  return { description: codes.map((code) => `- \`${code}\`: ${problems[code].title}`).join("\n"), "x-codes": codes };
}

function headersOf(names: readonly string[]): JsonObject {
  const all = ["X-Request-Id", "X-Correlation-Id", ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
