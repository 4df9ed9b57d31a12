import type { Application } from "../domain/records/application.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { forClient, type OAuthRequest } from "./client-authentication.ts";
import { readFamily, revokeFamily } from "./families.ts";
import { failure, type OAuthAnswer, success } from "./oauth-answer.ts";
import { signOutBy } from "./pool/sign-out.ts";
import { pemOfKey } from "./public-keys.ts";
import { readRefreshToken } from "./refresh-token.ts";
import { peekToken, verifyAccessToken } from "./token.ts";

/**
 * Answers a revocation request (RFC 7009). The family of the token ends, whether it is a refresh or an access token; a
 * token that is unknown, expired or another client's is answered in the same way and left alone. The token of an
 * operator ends the sign-in that it comes from, and takes no client authentication.
 */
export async function answerRevocationRequest(request: OAuthRequest): Promise<OAuthAnswer> {
  const token = request.parameters.get("token") ?? "";
  const isPublic = request.authorization === undefined && !request.parameters.has("client_secret");
  const peeked = isPublic && request.fault === undefined ? peekToken(token) : undefined;
  const signedOut = peeked?.holder.type === "operator" ? await signOutBy(token, peeked, request) : undefined;
  if (signedOut !== undefined) return signedOut;
  const missing = failure("invalid_request", "The parameter token is missing.");
  return forClient(request, {
    action: "revoke_token",
    check: (parameters) => (parameters.has("token") ? undefined : missing),
    work: async ({ application }, parameters) => {
      const token = parameters.get("token") ?? "";
      const family =
        (await familyOfRefreshToken(token, application)) ?? (await familyOfAccessToken(token, application));
      if (family !== undefined) await revokeFamily(application.tenant_id, family, "request", { application, request });
      return success(undefined);
    },
  });
}

async function familyOfRefreshToken(token: string, application: Application): Promise<string | undefined> {
  const place = await readRefreshToken(token);
  if (place === undefined || place.tenant_id !== application.tenant_id) return undefined;
  const family = await readFamily(place.tenant_id, place.family_id);
  return family?.application_id === application.id ? family.id : undefined;
}

async function familyOfAccessToken(token: string, application: Application): Promise<string | undefined> {
  const peeked = peekToken(token);
  if (peeked === undefined) return undefined;
  const pem = await pemOfKey(peeked.kid);
  const expect = { issuer: env.tokenIssuer, audience: env.tokenAudience, environment: env.stage };
  const claims = pem && verifyAccessToken(token, pem, { ...expect, nowSeconds: Math.floor(nowMs() / 1000) });
  return claims && claims.app === application.id ? claims.fam : undefined;
}
