import { decideRefresh, openFamily } from "../domain/access/family.ts";
import type { RevocationReason } from "../domain/records/family.ts";
import { nowMs } from "../runtime/clock.ts";
import { newId } from "../runtime/ids.ts";
import { log } from "../runtime/log.ts";
import { type AuthenticatedClient, type ClientWork, forClient, type OAuthRequest } from "./client-authentication.ts";
import { putFamily, readFamily, revokeFamily, rotateFamily } from "./families.ts";
import { grantedScopes, tokenReply } from "./grant.ts";
import { noteUse } from "./last-use.ts";
import { failure, notReady, type OAuthAnswer, refusal, success } from "./oauth-answer.ts";
import { type RefreshTokenPlace, readRefreshToken } from "./refresh-token.ts";
import { type SigningKey, signingKey } from "./signing-key.ts";
import { exchangeGrant, exchangeToken } from "./token-exchange.ts";

/** Answers a token request: client credentials (RFC 6749 4.4), refresh (RFC 6749 6) or exchange (RFC 8693). */
export function answerTokenRequest(request: OAuthRequest): Promise<OAuthAnswer> {
  const { fault, parameters: sent } = request;
  if (fault === undefined && sent.get("grant_type") === exchangeGrant) return exchangeToken(request);
  const work: ClientWork = async (client, parameters) => {
    const grant = parameters.get("grant_type");
    if (grant !== "client_credentials" && grant !== "refresh_token") {
      return failure("unsupported_grant_type", "The grant type must be client_credentials or refresh_token.");
    }
    const key = await signingKey();
    if (key === undefined || client.application.api_key_id === null) return notReady();
    const scope = parameters.get("scope");
    return grant === "client_credentials"
      ? issue(client, scope, key, request)
      : refresh(client, { token: parameters.get("refresh_token") ?? "", scope, request }, key);
  };
  return forClient(request, { action: "create_token", check: missingParameter, work });
}

function missingParameter(parameters: ReadonlyMap<string, string>): OAuthAnswer | undefined {
  const grant = parameters.get("grant_type");
  if (grant === undefined) return failure("invalid_request", "The parameter grant_type is missing.");
  if (grant !== "refresh_token" || parameters.has("refresh_token")) return undefined;
  return failure("invalid_request", "The parameter refresh_token is missing.");
}

const scopeLacked = "The application does not hold this scope.";

async function issue(
  client: AuthenticatedClient,
  requested: string | undefined,
  key: SigningKey,
  request: OAuthRequest,
) {
  const { application } = client;
  const scopes = grantedScopes(application.scopes, requested);
  if (scopes === undefined) return refusal("invalid_scope", scopeLacked);
  const moment = nowMs();
  const family = openFamily({ ...client, scopes }, { id: newId("fam", moment), nowMs: moment });
  const after = { grant_type: "client_credentials", scope: scopes.join(" ") };
  await Promise.all([putFamily(family, { action: "create_token", application, request, after }), noteUse(application)]);
  return success(await tokenReply(application, family, scopes, key));
}

interface RefreshRequest {
  readonly token: string;
  readonly scope: string | undefined;
  readonly request: OAuthRequest;
}

/** Each refresh token is good once; requests that meet get the same successor. A wrong scope does not use it up. */
async function refresh(client: AuthenticatedClient, { token, scope, request }: RefreshRequest, key: SigningKey) {
  const { application } = client;
  const unusable = "The refresh token is unknown, expired, used or revoked.";
  const place = await readRefreshToken(token);
  let family = place && (await readFamily(place.tenant_id, place.family_id));
  // A decision that another request was faster than is made again on what that one wrote. It can only move on.
  while (place !== undefined && family !== undefined) {
    const decision = decideRefresh(family, place.generation, client, nowMs());
    if (decision.kind === "refuse") {
      // A request that ends the family has its entry of that.
      const ended = decision.revoke && (await endFamily(place, decision.revoke, client, request));
      const misused = decision.revoke !== undefined || family.revoked_at !== undefined;
      return misused && !ended ? refusal("invalid_grant", unusable) : failure("invalid_grant", unusable);
    }
    const held = family.scopes.filter((each) => application.scopes.includes(each));
    const scopes = grantedScopes(held, scope);
    if (scopes === undefined) return refusal("invalid_scope", scopeLacked);
    const after = { grant_type: "refresh_token", scope: scopes.join(" ") };
    const action = { action: "create_token", application, request, after } as const;
    const rotation = decision.kind === "repeat" ? family : rotateFamily(family, decision.after, action);
    // The token is good, so its use may be noted while another request may still be faster and decide again.
    const [stored] = await Promise.all([rotation, noteUse(application)]);
    if (stored !== undefined && (decision.kind === "repeat" || stored === decision.after)) {
      return success(await tokenReply(application, stored, scopes, key));
    }
    family = stored;
  }
  return failure("invalid_grant", unusable);
}

/**
 * A token is held by two parties, which cannot be told apart, so the whole family ends (RFC 9700 4.14.2). Returns false
 * if it had ended before.
 */
async function endFamily(
  place: RefreshTokenPlace,
  reason: RevocationReason,
  { application }: AuthenticatedClient,
  request: OAuthRequest,
): Promise<boolean> {
  const ended = await revokeFamily(place.tenant_id, place.family_id, reason, { application, request });
  log.warn("security: a refresh token was misused", {
    reason,
    family_id: place.family_id,
    tenant_id: place.tenant_id,
    generation: place.generation,
    application_id: application.id,
    request_id: request.request_id,
    family_ended: ended,
  });
  return ended;
}
