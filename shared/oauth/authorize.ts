import type { Application } from "../domain/application.ts";
import { type Family, familyLives } from "../domain/family.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { applications, families, type PublicKey, publicKeys } from "../table/entities.ts";
import { readKeys } from "../table/store.ts";
import { rememberedKey, rememberKey } from "./public-keys.ts";
import { type AccessClaims, peekToken, verifyAccessToken } from "./token.ts";

/** Whom a token speaks for, once it and its application have been looked at. */
export interface Authorized {
  readonly claims: AccessClaims;
  readonly application: Application;
}

/**
 * Verifies the one bearer token of a request and reads its application and its family, in a single strongly consistent
 * read. Undefined when one of them is not good, for whatever reason: the caller learns no more than that.
 */
export async function authorizeBearer(authorization: readonly string[]): Promise<Authorized | undefined> {
  const [only, second] = authorization;
  if (only === undefined || second !== undefined) return undefined;
  const token = /^bearer +([A-Za-z0-9_.-]+)$/i.exec(only)?.[1];
  const peeked = token === undefined ? undefined : peekToken(token);
  if (token === undefined || peeked === undefined) return undefined;
  const { kid, tenant } = peeked;
  const known = rememberedKey(kid);
  if (known === "none") return undefined;
  const [found, grown, stored] = await readKeys([
    applications.key(tenant, peeked.application),
    families.key(tenant, peeked.family),
    ...(known === undefined ? [publicKeys.key(kid)] : []),
  ]);
  const pem = known ?? rememberKey(kid, stored as PublicKey | undefined);
  if (pem === undefined) return undefined;
  const claims = verifyAccessToken(token, pem, {
    issuer: env.tokenIssuer,
    audience: env.tokenAudience,
    environment: env.stage,
    nowSeconds: Math.floor(nowMs() / 1000),
  });
  const application = found as Application | undefined;
  if (claims === undefined || application?.status !== "active" || application.api_key_id === null) return undefined;
  if (!familyLives(grown as Family | undefined, application, nowMs())) return undefined;
  return claims.client_id === application.client_id ? { claims, application } : undefined;
}

/** The scopes of a token that its application still holds: taking one away works within the authorizer's cache time. */
export function liveScopes({ claims, application }: Authorized): string {
  return claims.scope
    .split(" ")
    .filter((scope) => (application.scopes as readonly string[]).includes(scope))
    .join(" ");
}
