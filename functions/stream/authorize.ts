import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { userAgentOf } from "../../shared/http/audited.ts";
import { headerValues } from "../../shared/http/body.ts";
import { senderOf } from "../../shared/http/sender.ts";
import { limits } from "../../shared/limits.ts";
import { authorizerAnswer } from "../../shared/oauth/authorize.ts";
import { withinBudget } from "../../shared/runtime/budget.ts";
import { env } from "../../shared/runtime/env.ts";
import { decideHandshake } from "../../shared/stream/handshake.ts";

/** Lambda authorizer of the stream, invoked for each handshake: 401 without a good credential, 403 if not allowed. */
export async function handler(event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> {
  const request_id = event.requestContext.requestId;
  const attempt = { address: senderOf(event).address, user_agent: userAgentOf(event), request_id };
  const authorization = headerValues(event, "Authorization");
  const query = event.multiValueQueryStringParameters ?? {};
  const decision = await withinBudget(limits.request.read_budget_ms * env.budgetFactor, () =>
    decideHandshake({ authorization, query, attempt }),
  );
  // API Gateway answers 401 for exactly this text.
  if (decision === undefined) throw new Error("Unauthorized");
  const effect = decision.allowed ? "Allow" : "Deny";
  return authorizerAnswer(decision.holder, { effect, resource: event.methodArn });
}
