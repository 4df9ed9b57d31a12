import type { Application } from "../domain/records/application.ts";
import type { Family } from "../domain/records/family.ts";
import type { Operator } from "../domain/records/operator.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { newId } from "../runtime/ids.ts";
import type { Scope } from "../schema/scope.ts";
import { refreshTokenOf } from "./refresh-token.ts";
import type { SigningKey } from "./signing-key.ts";
import { signAccessToken } from "./token.ts";

/** Those of the held scopes that are asked for, all of them without `scope`; undefined when one is not held. */
export function grantedScopes(held: readonly Scope[], requested: string | undefined): readonly Scope[] | undefined {
  const wanted = requested === undefined ? held : [...new Set(requested.split(" ").filter((word) => word !== ""))];
  const granted = held.filter((scope) => (wanted as readonly string[]).includes(scope));
  return granted.length === wanted.length && granted.length > 0 ? granted : undefined;
}

/** Answer to an exchange: an access token of an operator and no refresh token, since the pool renews the sign-in. */
export function operatorTokenReply(
  { operator, session }: { readonly operator: Operator; readonly session: string },
  scopes: readonly Scope[],
  client_id: string,
  key: SigningKey,
): Readonly<Record<string, unknown>> {
  const iat = Math.floor(nowMs() / 1000);
  const expires_in = limits.exchange.access_lifetime_seconds;
  const scope = scopes.join(" ");
  const claims = {
    ...{ iss: env.tokenIssuer, aud: env.tokenAudience, sub: operator.id, client_id, iat, exp: iat + expires_in },
    ...{ jti: newId("tok"), scope, tenant: operator.tenant_id, sid: session, env: env.stage },
  };
  return { access_token: signAccessToken(claims, key), token_type: "Bearer", expires_in, scope };
}

/** Answer of the token endpoint (RFC 6749 5.1): a new access token, and the refresh token that is good now. */
export async function tokenReply(
  application: Application,
  family: Family,
  scopes: readonly Scope[],
  key: SigningKey,
): Promise<Readonly<Record<string, unknown>>> {
  const moment = nowMs();
  const issued = Math.floor(moment / 1000);
  const scope = scopes.join(" ");
  const access = signAccessToken(
    {
      iss: env.tokenIssuer,
      aud: env.tokenAudience,
      sub: application.client_id,
      client_id: application.client_id,
      iat: issued,
      exp: issued + limits.token.access_lifetime_seconds,
      jti: newId("tok"),
      scope,
      tenant: application.tenant_id,
      app: application.id,
      fam: family.id,
      env: env.stage,
    },
    key,
  );
  const { tenant_id, id: family_id, generation, refresh_until } = family;
  return {
    access_token: access,
    token_type: "Bearer",
    expires_in: limits.token.access_lifetime_seconds,
    refresh_token: await refreshTokenOf({ tenant_id, family_id, generation }),
    refresh_token_expires_in: Math.max(1, Math.floor((Date.parse(refresh_until) - moment) / 1000)),
    scope,
  };
}
