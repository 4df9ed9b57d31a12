import { headerOf } from "../../shared/http/body.ts";
import { open } from "../../shared/http/open.ts";
import { answerTokenRequest } from "../../shared/oauth/token-endpoint.ts";
import { createToken } from "../../shared/routes/oauth.ts";

/** `POST /oauth/token` */
export const handler = open(createToken, async ({ event }) => {
  const { status, headers, body } = await answerTokenRequest({
    authorization: headerOf(event, "Authorization"),
    content_type: headerOf(event, "Content-Type") ?? "",
    body: Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8").toString("utf8"),
    has_query: Object.keys(event.queryStringParameters ?? {}).length > 0,
    address: event.requestContext.identity.sourceIp,
  });
  return { status, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
});
