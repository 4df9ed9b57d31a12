import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { gatewayKeyOf } from "../../shared/oauth/application-draws.ts";
import { authorizeBearer, liveScopes } from "../../shared/oauth/authorize.ts";
import { withinBudget } from "../../shared/runtime/budget.ts";
import { env } from "../../shared/runtime/env.ts";

/**
 * Lambda authorizer of the API. Its answer is cached, so it allows the whole stage; scopes are checked per endpoint.
 * If it cannot read the application of a token within its budget it fails: API Gateway answers 503 and caches nothing.
 */
export async function handler(event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> {
  const headers = Object.entries(event.multiValueHeaders ?? {});
  const given = headers
    .filter(([name]) => name.toLowerCase() === "authorization")
    .flatMap(([, values]) => values ?? []);
  const authorized = await withinBudget(limits.request.read_budget_ms * env.budgetFactor, () => authorizeBearer(given));
  // API Gateway answers 401 for exactly this text.
  if (authorized === undefined) throw new Error("Unauthorized");
  const { application } = authorized;
  const stage = event.methodArn.split("/").slice(0, 2).join("/");
  return {
    principalId: application.id,
    policyDocument: {
      Version: "2012-10-17",
      Statement: [{ Action: "execute-api:Invoke", Effect: "Allow", Resource: `${stage}/*` }],
    },
    usageIdentifierKey: gatewayKeyOf(application),
    context: {
      tenant_id: application.tenant_id,
      actor_type: "application",
      actor_id: application.id,
      actor_name: application.name,
      client_id: application.client_id,
      scopes: liveScopes(authorized),
      allowed_ips: application.allowed_ips.join(" "),
    },
  };
}
