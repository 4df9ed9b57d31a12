import { describe, expect, it } from "vitest";
import { ModelError, startGateway } from "../../../infra/local/gateway/index.ts";
import type { Resource } from "../../../infra/local/gateway/properties.ts";
import { api, authorizer, proxyTo, resource, testHost } from "./support.ts";

const me = { "GET /me": { integration: proxyTo("me") } };

async function refusal(resources: readonly Resource[]): Promise<string> {
  try {
    const gateway = await startGateway(resources, testHost(), { port: 0 });
    await gateway.stop();
  } catch (cause) {
    if (cause instanceof ModelError) return cause.message;
    throw cause;
  }
  return "";
}

function integrated(integration: Record<string, unknown>, responses?: Record<string, unknown>[]): Resource[] {
  return api({ "GET /me": { integration, ...(responses === undefined ? {} : { responses }) } });
}

function changed(kind: string, more: Record<string, unknown>): Resource[] {
  return api(me, [authorizer()]).map((entry) => {
    const isIt = entry.type === `AWS::ApiGateway::${kind}`;
    return isIt ? { ...entry, properties: { ...entry.properties, ...more } } : entry;
  });
}

const template = (text: string) => ({ Type: "MOCK", RequestTemplates: { "application/json": text } });
const answering = (answer: Record<string, unknown>) =>
  integrated({ Type: "MOCK", IntegrationResponses: [{ StatusCode: "200", ...answer }] }, [{ StatusCode: "200" }]);
const gatewayResponse = (more: Record<string, unknown>) =>
  api(me, [resource("response", "GatewayResponse", { RestApiId: "api", ResponseType: "UNAUTHORIZED", ...more })]);
const plan = (more: Record<string, unknown>, ofStage: Record<string, unknown> = {}) =>
  api(me, [resource("plan", "UsagePlan", { ApiStages: [{ ApiId: "api", Stage: "v2", ...ofStage }], ...more })]);

describe("what would change an answer and is not implemented stops the start", () => {
  it("lets a plain API start, and passes over resources of other services", async () => {
    const other: Resource = { path: "stack/q", type: "AWS::SQS::Queue", physical_id: "q", properties: { Any: 1 } };
    expect(await refusal([...api(me, [authorizer()]), other])).toBe("");
  });

  it.each<[what: string, resources: Resource[], owner: string, place: string]>([
    ["another type of resource", api(me, [resource("m", "Model")]), "stack/m", "AWS::ApiGateway::Model"],
    ["a request validator", api(me, [resource("v", "RequestValidator")]), "stack/v", "RequestValidator"],
    ["a VPC link", api(me, [resource("l", "VpcLink")]), "stack/l", "VpcLink"],
    ["a domain name", api(me, [resource("d", "DomainName")]), "stack/d", "DomainName"],
    ["a second API", api(me, [resource("a", "RestApi"), resource("b", "RestApi")]), "stack/b", "RestApi"],
    ["no stage", api(me).filter(({ physical_id }) => physical_id !== "v2"), "template", "Stage"],
    ["a resource policy", changed("RestApi", { Policy: { Version: "x" } }), "stack/api", "Policy"],
    ["an OpenAPI body", changed("RestApi", { Body: { openapi: "3" } }), "stack/api", "Body"],
    ["an edge endpoint", changed("RestApi", { EndpointConfiguration: { Types: ["EDGE"] } }), "stack/api", "EDGE"],
    ["a closed endpoint", changed("RestApi", { DisableExecuteApiEndpoint: true }), "stack/api", "DisableExecute"],
    ["a canary", changed("Stage", { CanarySetting: { PercentTraffic: 1 } }), "stack/v2", "CanarySetting"],
    ["a cache", changed("Stage", { CacheClusterEnabled: true }), "stack/v2", "CacheClusterEnabled"],
    ["a deployment with a stage", changed("Deployment", { StageName: "x" }), "stack/deployment", "StageName"],
    ["models of a method", changed("Method", { RequestModels: { a: "b" } }), "stack/method GET /me", "RequestModels"],
    ["a validator of a method", changed("Method", { RequestValidatorId: "v" }), "stack/method", "RequestValidatorId"],
    ["IAM authorization", changed("Method", { AuthorizationType: "AWS_IAM" }), "stack/method", "AWS_IAM"],
    ["CUSTOM without authorizer", changed("Method", { AuthorizationType: "CUSTOM" }), "stack/method", "AuthorizerId"],
    ["a TOKEN authorizer", changed("Authorizer", { Type: "TOKEN" }), "stack/authorizer", "TOKEN"],
    ["an unknown identity source", changed("Authorizer", { IdentitySource: "x.y" }), "stack/authorizer", "x.y"],
    ["caching without identity", changed("Authorizer", { IdentitySource: "" }), "stack/authorizer", "IdentitySource"],
    [
      "an authorizer without a role",
      changed("Authorizer", { AuthorizerCredentials: null }),
      "authorizer",
      "Credentials",
    ],
    ["an HTTP integration", integrated({ Type: "HTTP_PROXY", Uri: "https://x" }), "stack/method", "HTTP_PROXY"],
    ["an AWS integration", integrated(proxyTo("me", { Type: "AWS" })), "stack/method", "AWS"],
    ["a VPC connection", integrated(proxyTo("me", { ConnectionType: "VPC_LINK" })), "stack/method", "ConnectionType"],
    ["streaming", integrated(proxyTo("me", { ResponseTransferMode: "STREAM" })), "stack/method", "ResponseTransfer"],
    ["no role", integrated(proxyTo("me", { Credentials: null })), "stack/method", "Credentials"],
    ["another method than POST", integrated(proxyTo("me", { IntegrationHttpMethod: "GET" })), "stack/method", "GET"],
    ["a URI of no function", integrated(proxyTo("me", { Uri: "arn:x" })), "stack/method", "Uri"],
    [
      "a time limit over 29 s",
      integrated(proxyTo("me", { TimeoutInMillis: 30_000 })),
      "stack/method",
      "TimeoutInMillis",
    ],
    [
      "mapped request headers",
      integrated(proxyTo("me", { RequestParameters: { a: "b" } })),
      "method",
      "RequestParameters",
    ],
    ["logic in a request template", integrated(template("#if(1)")), "stack/method", "RequestTemplates"],
    ["logic in an answer", answering({ ResponseTemplates: { "application/json": "#set($a=1)" } }), "method", "#set"],
    ["input in an answer", answering({ ResponseTemplates: { "application/json": "$input.body" } }), "method", "$input"],
    ["braces", answering({ ResponseTemplates: { "application/json": "${context.path}" } }), "method", "${context"],
    ["an unknown variable", answering({ ResponseTemplates: { "a/b": "$context.wafResponseCode" } }), "method", "waf"],
    ["a mapped answer", answering({ ResponseParameters: { "method.response.header.a": "b.c" } }), "method", "b.c"],
    [
      "an undeclared header",
      answering({ ResponseParameters: { "method.response.header.a": "'b'" } }),
      "method",
      "declared",
    ],
    ["converted content", answering({ ContentHandling: "CONVERT_TO_TEXT" }), "method", "ContentHandling"],
    ["an unknown gateway response", gatewayResponse({ ResponseType: "OTHER" }), "stack/response", "OTHER"],
    [
      "a request header there",
      gatewayResponse({ ResponseParameters: { "gatewayresponse.header.a": "method.request.header.b" } }),
      "stack/response",
      "gatewayresponse.header.a",
    ],
    [
      "a stage variable there",
      gatewayResponse({ ResponseTemplates: { "a/b": "$stageVariables.x" } }),
      "response",
      "$stage",
    ],
    ["a quota", plan({ Quota: { Limit: 1, Period: "DAY" } }), "stack/plan", "Quota"],
    ["a plan of another stage", plan({}, { Stage: "v1" }), "stack/plan", "stage"],
    [
      "a throttle of no method",
      plan({}, { Throttle: { "/you/GET": { RateLimit: 1, BurstLimit: 1 } } }),
      "plan",
      "/you/GET",
    ],
    ["a reserved path", api({ "GET /ping": { integration: proxyTo("me") } }), "stack/resource/ping", "/ping"],
    ["a path below a greedy one", api({ "GET /{a+}/b": { integration: proxyTo("me") } }), "stack/resource", "greedy"],
  ])("%s", async (_, resources, owner, place) => {
    const message = await refusal(resources);
    expect(message).toContain(owner);
    expect(message).toContain(place);
  });
});
