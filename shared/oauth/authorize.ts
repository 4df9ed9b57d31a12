import { applications, publicKeys } from "../data/entities.ts";
import { readKeys } from "../data/store.ts";
import type { Application } from "../domain/application.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { pemOfJwk } from "./signing-key.ts";
import { type AccessClaims, peekToken, verifyAccessToken } from "./token.ts";

/** Whom a token speaks for, once it and its application have been looked at. */
export interface Authorized {
  readonly claims: AccessClaims;
  readonly application: Application;
}

const keyPems = new Map<string, string>();
const unknownKeys = new Map<string, number>();

/**
 * Verifies the one bearer token of a request and reads its application, in a single strongly consistent read. Undefined
 * when the token or the application is not good, for whatever reason: the caller learns no more than that.
 */
export async function authorizeBearer(authorization: readonly string[]): Promise<Authorized | undefined> {
  const [only, second] = authorization;
  if (only === undefined || second !== undefined) return undefined;
  const token = /^bearer +([A-Za-z0-9_.-]+)$/i.exec(only)?.[1];
  const peeked = token === undefined ? undefined : peekToken(token);
  if (token === undefined || peeked === undefined) return undefined;
  const { kid } = peeked;
  if ((unknownKeys.get(kid) ?? 0) > nowMs()) return undefined;
  const applicationKey = applications.key(peeked.tenant, peeked.application);
  const known = keyPems.get(kid);
  const [found, stored] = await readKeys(
    known === undefined ? [applicationKey, publicKeys.key(kid)] : [applicationKey],
  );
  const pem = known ?? remember(kid, stored as { jwk: Record<string, string>; expires_at?: number } | undefined);
  if (pem === undefined) return undefined;
  const claims = verifyAccessToken(token, pem, {
    issuer: env.tokenIssuer,
    audience: env.tokenAudience,
    environment: env.stage,
    nowSeconds: Math.floor(nowMs() / 1000),
  });
  const application = found as Application | undefined;
  if (claims === undefined || application?.status !== "active" || application.api_key_id === null) return undefined;
  return claims.client_id === application.client_id ? { claims, application } : undefined;
}

/**
 * A key that is not there is remembered as unknown for a while, so that forged key ids cost one read each, not many.
 */
function remember(kid: string, stored: { jwk: Record<string, string>; expires_at?: number } | undefined) {
  if (stored === undefined || (stored.expires_at ?? Number.POSITIVE_INFINITY) < nowMs() / 1000) {
    if (unknownKeys.size > 1000) unknownKeys.clear();
    unknownKeys.set(kid, nowMs() + limits.token.unknown_key_seconds * 1000);
    return undefined;
  }
  const pem = pemOfJwk(stored.jwk);
  keyPems.set(kid, pem);
  return pem;
}

/** The scopes of a token that its application still holds: taking one away works within the authorizer's cache time. */
export function liveScopes({ claims, application }: Authorized): string {
  return claims.scope
    .split(" ")
    .filter((scope) => (application.scopes as readonly string[]).includes(scope))
    .join(" ");
}
