import * as z from "zod/mini";

/**
 * Parameters of `POST /oauth/token`, as a form (RFC 6749 4.4.2, 6) or, as an extension, as JSON. Unknown ones are
 * ignored (RFC 6749 3.2); the endpoint checks them itself, because its errors have a shape of their own (5.2).
 */
export const TokenRequest = z.object({
  grant_type: z.enum(["client_credentials", "refresh_token"]),
  /** Needed by the grant of its name. */
  refresh_token: z.optional(z.string()),
  scope: z.optional(z.string()),
  client_id: z.optional(z.string()),
  client_secret: z.optional(z.string()),
});

/** Answer of the token endpoint (RFC 6749 5.1). */
export const TokenReply = z.object({
  access_token: z.string(),
  token_type: z.literal("Bearer"),
  expires_in: z.int(),
  /** Good once, for `refresh_token_expires_in` seconds. */
  refresh_token: z.string(),
  refresh_token_expires_in: z.int(),
  scope: z.string(),
});

/** Parameters of `POST /oauth/revoke` (RFC 7009 2.1). */
export const RevocationRequest = z.object({
  token: z.string(),
  token_type_hint: z.optional(z.string()),
  client_id: z.optional(z.string()),
  client_secret: z.optional(z.string()),
});

/** An answer without a body. */
export const Nothing = z.undefined();

/** The public keys that verify access tokens (RFC 7517 5). */
export const KeySet = z.object({
  keys: z.array(
    z.object({
      kty: z.literal("EC"),
      crv: z.literal("P-256"),
      x: z.string(),
      y: z.string(),
      kid: z.string(),
      alg: z.literal("ES256"),
      use: z.literal("sig"),
    }),
  ),
});

/** Error of the token endpoint (RFC 6749 5.2). */
export const TokenError = z.object({
  error: z.enum([
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
    "temporarily_unavailable",
  ]),
  error_description: z.string(),
});
