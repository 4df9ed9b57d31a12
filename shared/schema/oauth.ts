import * as z from "zod/mini";

/**
 * Parameters of `POST /oauth/token`, as a form (RFC 6749 4.4.2) or, as an extension, as JSON. Unknown ones are ignored
 * (RFC 6749 3.2); the token endpoint checks them itself, because its errors have a shape of their own (RFC 6749 5.2).
 */
export const TokenRequest = z.object({
  grant_type: z.enum(["client_credentials"]),
  scope: z.optional(z.string()),
  client_id: z.optional(z.string()),
  client_secret: z.optional(z.string()),
});

/** Answer of the token endpoint (RFC 6749 5.1). */
export const TokenReply = z.object({
  access_token: z.string(),
  token_type: z.literal("Bearer"),
  expires_in: z.int(),
  scope: z.string(),
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
