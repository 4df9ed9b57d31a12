import type { Application } from "../domain/application.ts";
import { limits } from "../limits.ts";
import { nowMs } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import { newId } from "../runtime/ids.ts";
import type { Scope } from "../schema/scope.ts";
import type { SigningKey } from "./signing-key.ts";
import { signAccessToken } from "./token.ts";

/** Scopes of a token request: all of the application's without `scope`, undefined when it asks for one it lacks. */
export function grantedScopes(application: Application, requested: string | undefined): readonly Scope[] | undefined {
  if (requested === undefined) return application.scopes;
  const wanted = [...new Set(requested.split(" ").filter((word) => word !== ""))];
  const granted = application.scopes.filter((scope) => wanted.includes(scope));
  return granted.length === wanted.length && granted.length > 0 ? granted : undefined;
}

/** Answer of the token endpoint (RFC 6749 5.1) for an authenticated application. */
export function accessTokenReply(application: Application, scopes: readonly Scope[], key: SigningKey) {
  const issued = Math.floor(nowMs() / 1000);
  const token = signAccessToken(
    {
      iss: env.tokenIssuer,
      aud: env.tokenAudience,
      sub: application.client_id,
      client_id: application.client_id,
      iat: issued,
      exp: issued + limits.token.access_lifetime_seconds,
      jti: newId("tok"),
      scope: scopes.join(" "),
      tenant: application.tenant_id,
      app: application.id,
      env: env.stage,
    },
    key,
  );
  return {
    access_token: token,
    token_type: "Bearer",
    expires_in: limits.token.access_lifetime_seconds,
    scope: scopes.join(" "),
  };
}
