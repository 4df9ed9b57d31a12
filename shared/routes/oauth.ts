import { KeySet, Nothing, RevocationRequest, TokenReply, TokenRequest } from "../schema/oauth.ts";
import { route } from "./route.ts";

/** `POST /oauth/token` */
export const createToken = route({
  id: "create_token",
  method: "POST",
  path: "/oauth/token",
  tag: "OAuth",
  summary: "Get or refresh an access token",
  description:
    "Client credentials (RFC 6749 4.4) and refresh (RFC 6749 6), with HTTP Basic or with `client_id` and " +
    "`client_secret` in the body. A refresh token can be used once and is replaced by a new one. Within 30 seconds, " +
    "using it again returns the same new token; after that, reuse revokes every token of the grant. An operator " +
    "exchanges an id token of the user pool (RFC 8693), without client authentication, for a token of 15 minutes.",
  file: "oauth/token",
  auth: "none",
  scope: null,
  rate: "token",
  grants: ["read", "put", "update"],
  globals: { read: ["client_ids", "operator_identities"], count: ["used_tokens"] },
  within: ["applications", "families", "operators", "brokerages"],
  secrets: ["signing_key", "service_key"],
  pool: true,
  body: TokenRequest,
  media: "form_or_json",
  reply: TokenReply,
  example: { grant_type: "client_credentials" },
});

/** `POST /oauth/revoke` */
export const revokeToken = route({
  id: "revoke_token",
  method: "POST",
  path: "/oauth/revoke",
  tag: "OAuth",
  summary: "Revoke a token",
  description:
    "RFC 7009. Revoking a refresh token or an access token revokes every token of the same grant: refresh tokens " +
    "immediately, access tokens within a minute. An unknown token gets the same answer as a known one. The access " +
    "token of an operator, sent without client authentication, ends the sign-in behind it in every brokerage " +
    "of the person: commands are refused and streams closed at once, reads within a minute. " +
    "The answer is empty: its `Content-Type`, which the gateway adds, describes nothing.",
  file: "oauth/revoke",
  auth: "none",
  scope: null,
  rate: "token",
  grants: ["read", "put", "update"],
  globals: { read: ["client_ids", "public_keys", "operator_identities"] },
  within: ["applications", "families", "operators"],
  secrets: ["service_key"],
  body: RevocationRequest,
  media: "form_or_json",
  reply: Nothing,
  example: { token: "rt_…", token_type_hint: "refresh_token" },
});

/** `GET /.well-known/jwks.json` */
export const getKeySet = route({
  id: "get_key_set",
  method: "GET",
  path: "/.well-known/jwks.json",
  tag: "OAuth",
  summary: "Get the public keys for access tokens",
  description: "A JSON Web Key Set (RFC 7517). A new key is published at least ten minutes before it signs tokens.",
  file: "oauth/key-set",
  auth: "none",
  scope: null,
  rate: "none",
  grants: ["query"],
  globals: { query: ["public_keys"] },
  tenantless: true,
  reply: KeySet,
});

/** Rows of the OAuth endpoints. */
export const oauthRoutes = [createToken, revokeToken, getKeySet] as const;
