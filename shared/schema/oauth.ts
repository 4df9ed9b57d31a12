import * as z from "zod/mini";
import { described } from "./described.ts";

/**
 * Parameters of `POST /oauth/token`, as a form (RFC 6749 4.4.2, 6) or, as an extension, as JSON. Unknown parameters are
 * ignored (RFC 6749 3.2). The endpoint validates them itself, because its errors have a different shape (5.2).
 */
export const TokenRequest = z.object({
  grant_type: described(
    z.enum(["client_credentials", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange"]),
    "OAuth grant type (RFC 6749, RFC 8693).",
  ),
  refresh_token: described(
    z.optional(z.string()),
    "Refresh token to exchange; required with `grant_type=refresh_token`.",
  ),
  scope: described(
    z.optional(z.string()),
    "Requested scopes, separated by spaces; all scopes of the application or role if omitted.",
  ),
  subject_token: described(
    z.optional(z.string()),
    "Id token of the user pool, issued within the last five minutes; required for a token exchange, and accepted once.",
  ),
  subject_token_type: described(
    z.optional(z.string()),
    "`urn:ietf:params:oauth:token-type:id_token`; required for a token exchange.",
  ),
  requested_token_type: described(
    z.optional(z.string()),
    "`urn:ietf:params:oauth:token-type:access_token`, or omitted.",
  ),
  brokerage_id: described(
    z.optional(z.string()),
    "Brokerage to act for; required for a token exchange by an operator who is active in several brokerages, and to " +
      "accept the invitation of another brokerage.",
  ),
  client_id: described(z.optional(z.string()), "Client id, unless sent by HTTP Basic."),
  client_secret: described(z.optional(z.string()), "Client secret, unless sent by HTTP Basic."),
});

/** Successful response of the token endpoint (RFC 6749 5.1). */
export const TokenReply = z.object({
  access_token: described(
    z.string(),
    "Token for the `Authorization: Bearer` header; a JWT (RFC 9068). Treat it as opaque.",
  ),
  token_type: described(z.literal("Bearer"), "Token type (RFC 6750)."),
  expires_in: described(z.int(), "Remaining lifetime of the access token in seconds."),
  refresh_token: described(
    z.optional(z.string()),
    "Token for obtaining the next access token; each use replaces it. Absent after a token exchange.",
  ),
  refresh_token_expires_in: described(
    z.optional(z.int()),
    "Remaining lifetime of the refresh token in seconds. Absent after a token exchange.",
  ),
  issued_token_type: described(
    z.optional(z.string()),
    "Type of the issued token (RFC 8693 2.2.1); only after a token exchange.",
  ),
  scope: described(z.string(), "Granted scopes, separated by spaces."),
});

/** Parameters of `POST /oauth/revoke` (RFC 7009 2.1). */
export const RevocationRequest = z.object({
  token: described(z.string(), "Token to revoke."),
  token_type_hint: described(
    z.optional(z.string()),
    "Type of the token, `refresh_token` or `access_token`. Optional: the token is found without it.",
  ),
  client_id: described(z.optional(z.string()), "Client id, unless sent by HTTP Basic."),
  client_secret: described(z.optional(z.string()), "Client secret, unless sent by HTTP Basic."),
});

/** A response without a body. */
export const Nothing = z.undefined();

/** Public keys for verifying access tokens (RFC 7517 5). */
export const KeySet = z.object({
  keys: described(
    z.array(
      z.object({
        kty: described(z.literal("EC"), "Key type."),
        crv: described(z.literal("P-256"), "Curve of the key."),
        x: described(z.string(), "X coordinate, in base64url."),
        y: described(z.string(), "Y coordinate, in base64url."),
        kid: described(z.string(), "Key identifier, as in the header of the tokens signed with it."),
        alg: described(z.literal("ES256"), "Signature algorithm."),
        use: described(z.literal("sig"), "Purpose of the key."),
      }),
    ),
    "Public keys.",
  ),
});

/** Error of the token endpoint (RFC 6749 5.2). */
export const TokenError = z.object({
  error: described(
    z.enum([
      "invalid_request",
      "invalid_client",
      "invalid_grant",
      "unauthorized_client",
      "unsupported_grant_type",
      "invalid_scope",
      "temporarily_unavailable",
    ]),
    "Error code (RFC 6749 5.2).",
  ),
  error_description: described(z.string(), "Explanation for developers."),
  brokerage_ids: described(
    z.optional(z.array(z.string())),
    "Brokerages to choose from, when an operator of several brokerages names none.",
  ),
  brokerage_names: described(
    z.optional(z.record(z.string(), z.string())),
    "Names of these brokerages by their identifiers, of those that have set one.",
  ),
});
