import { oauthEndpoint } from "../../shared/http/oauth-endpoint.ts";
import { unavailable } from "../../shared/oauth/oauth-answer.ts";
import { answerTokenRequest } from "../../shared/oauth/token-endpoint.ts";
import { createToken } from "../../shared/routes/oauth.ts";

/** `POST /oauth/token` */
export const handler = await oauthEndpoint(createToken, answerTokenRequest, unavailable);
