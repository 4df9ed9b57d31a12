import { limits } from "../limits.ts";
import type { AccessRefusalCode } from "../schema/audit/recorded-refusals.ts";
import type { RateVerdict } from "../table/counters.ts";

/** Answer of an OAuth endpoint, in the shape of RFC 6749 5. */
export interface OAuthAnswer {
  readonly status: 200 | 400 | 401 | 413 | 429 | 503;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: an empty body. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Why a client that proved who it is was refused: the audit gets an entry. */
  readonly refused?: AccessRefusalCode;
}

/** Errors of RFC 6749 5.2, and one that is an extension for this endpoint. */
export type OAuthError =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "invalid_scope"
  | "temporarily_unavailable";

const uncached = { "Cache-Control": "no-store", Pragma: "no-cache" };

/** A success that no cache may keep (RFC 6749 5.1). */
export function success(body: Readonly<Record<string, unknown>> | undefined): OAuthAnswer {
  return { status: 200, headers: uncached, body };
}

/** A refusal of the request. The description is cut down to the characters of RFC 6749 5.2. */
export function failure(error: OAuthError, description: string, status: 400 | 413 = 400): OAuthAnswer {
  const error_description = description.replaceAll('"', "'").replaceAll(/[^ -[\]-~]/g, "?");
  return { status, headers: uncached, body: { error, error_description } };
}

/** A refusal of a client that proved who it is. */
export function refusal(error: "invalid_grant" | "invalid_scope", description: string): OAuthAnswer {
  return { ...failure(error, description), refused: error };
}

/**
 * The one answer to every client that is not who it says it is. Only a client that tried Basic is challenged (RFC 6749
 * 5.2); a client with credentials in the body would take the header for the error.
 */
export function unknownClient(basic: boolean): OAuthAnswer {
  return {
    status: 401,
    headers: { ...uncached, ...(basic ? { "WWW-Authenticate": 'Basic realm="oauth"' } : {}) },
    body: { error: "invalid_client", error_description: "Client authentication failed." },
  };
}

/** Too many attempts; when the next one makes sense. */
export function tooMany(retryAfterSeconds: number): OAuthAnswer {
  return busy(429, retryAfterSeconds, "Too many attempts. Try again later.");
}

/** The first signing key and an application's API key are made shortly after they are asked for. */
export function notReady(): OAuthAnswer {
  return busy(503, limits.request.retry_after_seconds, "The application is being set up. Try again shortly.");
}

/**
 * Answer when the service cannot decide. RFC 6749 lists this error for authorization (4.1.2.1) and none for the token
 * endpoint that means the same; RFC 7009 2.2.1 asks for 503 with `Retry-After`: until then a token counts as not
 * revoked.
 */
export function unavailable(): OAuthAnswer {
  return busy(503, limits.request.retry_after_seconds, "The service cannot do this now. Send the request again.");
}

function busy(status: 429 | 503, seconds: number, description: string): OAuthAnswer {
  return {
    status,
    headers: { ...uncached, "Retry-After": String(seconds) },
    body: { error: "temporarily_unavailable", error_description: description },
  };
}

/** An answer to an authenticated client, with what is left to it in this minute. */
export function withRate(answer: OAuthAnswer, { limit, remaining, reset_seconds }: RateVerdict): OAuthAnswer {
  const rate = {
    "X-RateLimit-Limit": String(limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(reset_seconds),
  };
  return { ...answer, headers: { ...answer.headers, ...rate } };
}
