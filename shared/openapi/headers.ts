import { limits } from "../limits.ts";
import type { JsonObject } from "./document.ts";
import { exampleBaseUrl, exampleRequestId } from "./examples/identifiers.ts";

const integer = { type: "integer" };
const text = { type: "string" };

/** Response headers, by the name they have on the wire. */
export const headerComponents: Record<string, JsonObject> = {
  "X-Request-Id": {
    description: "Request identifier, as in the logs of the service.",
    required: true,
    schema: text,
    example: exampleRequestId,
  },
  "X-Correlation-Id": { description: "The caller's own request identifier, echoed if it was sent.", schema: text },
  ETag: {
    description: "Strong entity tag of the resource (RFC 9110 8.8.3).",
    required: true,
    schema: { type: "string", pattern: '^"[^"]+"$' },
    example: '"2"',
  },
  "ETag-Weak": {
    description: "Weak entity tag (RFC 9110 8.8.3), the same for every content coding.",
    required: true,
    schema: { type: "string", pattern: '^W/"[^"]+"$' },
    example: 'W/"9f2c1a"',
  },
  Vary: {
    description: "Request headers that the response depends on; the content coding is negotiated.",
    required: true,
    schema: { type: "string", enum: ["Accept-Encoding"] },
    example: "Accept-Encoding",
  },
  Location: { description: "URL of the new resource.", required: true, schema: { type: "string", format: "uri" } },
  Link: {
    description: "`first`, `next` and `prev` page, as in `_links` of the body (RFC 8288).",
    required: true,
    schema: text,
    example: `<${exampleBaseUrl}/clients?cursor=eyJ2IjoxfQ>; rel="next"`,
  },
  "Cache-Control": {
    description: "Caching directives (RFC 9111).",
    required: true,
    schema: text,
    example: "private, no-store",
  },
  "X-RateLimit-Limit": {
    description:
      "Requests allowed per window: a minute; a second for quotes, feed requests and all requests of an operator.",
    schema: integer,
    example: limits.rate.per_minute,
  },
  "X-RateLimit-Remaining": { description: "Requests left in the current window.", schema: integer, example: 997 },
  "X-RateLimit-Reset": {
    description: "Start of the next window, in Unix seconds.",
    schema: integer,
    example: 1795241640,
  },
  "Idempotent-Replayed": {
    description: "`true` if this is the stored response to an earlier request with the same Idempotency-Key.",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": {
    description: "Seconds to wait before retrying (RFC 9110 10.2.3).",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  "Retry-After-Passing": {
    description: "If the condition is temporary: seconds to wait before retrying the same request.",
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  "WWW-Authenticate": { description: "Required authentication scheme (RFC 9110 11.6.1).", schema: text },
  "Accept-Patch": { description: "On PATCH: accepted media types (RFC 5789 3.1).", schema: text },
};

/** Headers of every answer to a request that counts against a limit. */
export const rateHeaders = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** References to headers by the names of their components, with those that every answer has. */
export function headersOf(names: readonly string[]): JsonObject {
  const all = ["X-Request-Id", "X-Correlation-Id", ...names];
  return Object.fromEntries(
    all.map((name) => [name.replace(/-(?:Passing|Weak)$/, ""), { $ref: `#/components/headers/${name}` }]),
  );
}
