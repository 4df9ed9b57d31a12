import { TokenReply, TokenRequest } from "../schema/oauth.ts";
import { route } from "./route.ts";

/** `POST /oauth/token` */
export const createToken = route({
  id: "create_token",
  method: "POST",
  path: "/oauth/token",
  tag: "OAuth",
  summary: "Get an access token",
  description: "Client credentials grant (RFC 6749 4.4), with HTTP Basic or client_id and client_secret in the body.",
  file: "oauth/token",
  auth: "none",
  scope: null,
  rate: "none",
  grants: ["read"],
  globals: true,
  secrets: ["signing_key"],
  body: TokenRequest,
  media: "form_or_json",
  reply: TokenReply,
  status: 200,
  example: { grant_type: "client_credentials" },
  refusals: [],
  emits: [],
  stages: ["sandbox", "production"],
});

/** Rows of the OAuth endpoints. */
export const oauthRoutes = [createToken] as const;
