import type { Permissions } from "../iam/permissions.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { functionOf } from "./host.ts";

function resourcesOf(resources: readonly Resource[], type: string): Resource[] {
  return resources.filter((resource) => resource.type === type);
}

/** The gateway invokes functions by roles of the template, which must allow it as they must on AWS. */
export async function checkInvokers(resources: readonly Resource[], permissions: Permissions): Promise<void> {
  const methods = resourcesOf(resources, "AWS::ApiGateway::Method").map(
    ({ path, properties: { Integration: integration } }) => {
      const values = isRecord(integration) ? integration : {};
      return { path, uri: values["Uri"], role: values["Credentials"] };
    },
  );
  const authorizers = resourcesOf(resources, "AWS::ApiGateway::Authorizer").map(({ path, properties }) => {
    return { path, uri: properties["AuthorizerUri"], role: properties["AuthorizerCredentials"] };
  });
  const integrations = resourcesOf(resources, "AWS::ApiGatewayV2::Integration").map(({ path, properties }) => {
    return { path, uri: properties["IntegrationUri"], role: properties["CredentialsArn"] };
  });
  const socketAuthorizers = resourcesOf(resources, "AWS::ApiGatewayV2::Authorizer").map(({ path, properties }) => {
    return { path, uri: properties["AuthorizerUri"], role: properties["AuthorizerCredentialsArn"] };
  });
  for (const { path, uri, role } of [...methods, ...authorizers, ...integrations, ...socketAuthorizers]) {
    const resource = typeof uri === "string" ? functionOf(uri) : undefined;
    if (resource === undefined) continue;
    if (typeof role !== "string") throw new AssemblyError(path, "the gateway has no role to invoke the function by");
    const access = { action: "lambda:InvokeFunction", resource };
    const decision = await permissions.decide(role, "apigateway", access);
    if (!decision.allowed) throw new AssemblyError(path, `its role may not invoke ${resource}`);
  }
}
