import { oauthEndpoint } from "../../shared/http/oauth-endpoint.ts";
import { unavailable } from "../../shared/oauth/oauth-answer.ts";
import { answerRevocationRequest } from "../../shared/oauth/revocation.ts";
import { revokeToken } from "../../shared/routes/oauth.ts";

/** `POST /oauth/revoke` */
export const handler = await oauthEndpoint(revokeToken, answerRevocationRequest, unavailable);
