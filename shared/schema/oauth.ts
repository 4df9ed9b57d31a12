import * as z from "zod/mini";
import { described } from "./described.ts";

/**
 * Parameters of `POST /oauth/token`, as a form (RFC 6749 4.4.2, 6) or, as an extension, as JSON. Unknown parameters are
 * ignored (RFC 6749 3.2). The endpoint validates them itself, because its errors have a different shape (5.2).
 */
export const TokenRequest = z.object({
  grant_type: described(z.enum(["client_credentials", "refresh_token"]), "OAuth grant type (RFC 6749)."),
  refresh_token: described(
    z.optional(z.string()),
    "Refresh token to exchange; required with `grant_type=refresh_token`.",
  ),
  scope: described(
    z.optional(z.string()),
    "Requested scopes, separated by spaces; all scopes of the application if omitted.",
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
  refresh_token: described(z.string(), "Token for obtaining the next access token; each use replaces it."),
  refresh_token_expires_in: described(z.int(), "Remaining lifetime of the refresh token in seconds."),
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
});
