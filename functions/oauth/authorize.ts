import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { userAgentOf } from "../../shared/http/audited.ts";
import { headerValues } from "../../shared/http/body.ts";
import { senderOf } from "../../shared/http/sender.ts";
import { limits } from "../../shared/limits.ts";
import { authorizeBearer, authorizerAnswer } from "../../shared/oauth/authorize.ts";
import { withinBudget } from "../../shared/runtime/budget.ts";
import { env } from "../../shared/runtime/env.ts";

/**
 * Lambda authorizer of the API. Its answer is cached, so it allows the whole stage; scopes are checked per endpoint.
 * If it cannot read the holder of a token within its budget it fails: API Gateway answers 503 and caches nothing.
 */
export async function handler(event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> {
  const request_id = event.requestContext.requestId;
  const attempt = { address: senderOf(event).address, user_agent: userAgentOf(event), request_id };
  const authorized = await withinBudget(limits.request.read_budget_ms * env.budgetFactor, () =>
    authorizeBearer(headerValues(event, "Authorization"), attempt),
  );
  // API Gateway answers 401 for exactly this text.
  if (authorized === undefined) throw new Error("Unauthorized");
  const stage = event.methodArn.split("/").slice(0, 2).join("/");
  const answer = authorizerAnswer(authorized, { effect: "Allow", resource: `${stage}/*` });
  return { ...answer, usageIdentifierKey: authorized.gateway_key };
}
