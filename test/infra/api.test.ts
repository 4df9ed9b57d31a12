import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../shared/routes/index.ts";
import type { Route } from "../../shared/routes/route.ts";
import { type ProblemCode, problemKind, problemType } from "../../shared/schema/problem.ts";
import {
  at,
  type Json,
  list,
  type NamedResource,
  ofType,
  only,
  type SynthesizedStage,
  synthesizeStage,
} from "./assembly.ts";

/** A row for quotes, which the plan throttles by itself; its handler is the fixture's. */
const quotes: Route = {
  ...only(routes.filter(({ id }) => id === "get_me")),
  id: "get_quote",
  path: "/quotes/{symbol}",
  file: "quotes/get",
  rate: "quotes",
};
const rows = [...routes.filter(({ path }) => path !== quotes.path), quotes];

let stage: SynthesizedStage;

beforeAll(async () => {
  stage = await synthesizeStage({ stage: "sandbox", routes: rows, validate: false });
});

afterAll(() => stage.remove());

/** The path of a resource of a template; the first of each path hangs on the root, which is a parameter there. */
function pathOf(template: string, resourceId: Json): string {
  const id = at(resourceId, "Ref");
  const resource = ofType(stage, "AWS::ApiGateway::Resource").find(
    (each) => each.template === template && each.logicalId === id,
  );
  if (resource === undefined) return "";
  return `${pathOf(template, resource.properties["ParentId"])}/${resource.properties["PathPart"]}`;
}

/** `create_client` as it is in the names of constructs: `CreateClient`. */
function constructOf(id: string): string {
  return id.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}

function method(verb: string, path: string): NamedResource {
  const methods = ofType(stage, "AWS::ApiGateway::Method");
  return only(
    methods.filter(
      ({ template, properties }) =>
        properties["HttpMethod"] === verb && pathOf(template, properties["ResourceId"]) === path,
    ),
  );
}

describe("methods", () => {
  test.each(rows.map((row) => [`${row.method} ${row.path}`, row] as const))(
    "%s is behind what its row says",
    (_, row) => {
      const { properties } = method(row.method, row.path);
      expect(properties["Integration"]).toMatchObject({ Type: "AWS_PROXY", IntegrationHttpMethod: "POST" });
      expect(at(properties["Integration"], "Credentials")).toBeDefined();
      expect(JSON.stringify(at(properties["Integration"], "Uri"))).toContain(`${constructOf(row.id)}Function`);
      if (row.auth === "token") {
        expect(properties).toMatchObject({ AuthorizationType: "CUSTOM", ApiKeyRequired: true });
        expect(properties["AuthorizerId"]).toBeDefined();
      } else {
        expect(properties).toMatchObject({ AuthorizationType: "NONE" });
        expect(properties["ApiKeyRequired"]).toBeUndefined();
      }
    },
  );

  test("are those of the rows and one mock per path, and paths without rows have none", () => {
    const paths = new Set(rows.map(({ path }) => path));
    expect(ofType(stage, "AWS::ApiGateway::Method")).toHaveLength(rows.length + paths.size);
    const withoutMethods = ofType(stage, "AWS::ApiGateway::Resource")
      .map(({ template, logicalId }) => pathOf(template, { Ref: logicalId }))
      .filter((path) => !paths.has(path as Route["path"]));
    expect(withoutMethods.sort()).toContain("/oauth");
  });

  test.each([...new Set(rows.map(({ path }) => path))])("%s answers any other method with 405 and Allow", (path) => {
    const allowed = rows.filter((row) => row.path === path).map((row) => row.method);
    const { properties } = method("ANY", path);
    expect(properties["AuthorizationType"]).toBe("NONE");
    const integration = properties["Integration"];
    expect(integration).toMatchObject({ Type: "MOCK", PassthroughBehavior: "NEVER" });
    const response = only(list(at(integration, "IntegrationResponses")));
    expect(at(response, "StatusCode")).toBe("405");
    expect(at(response, "ResponseParameters")).toMatchObject({
      "method.response.header.Allow": `'${allowed.sort().join(", ")}'`,
      "method.response.header.Content-Type": "'application/problem+json'",
      "method.response.header.X-Request-Id": "context.requestId",
    });
    const document = JSON.parse(String(at(response, "ResponseTemplates", "application/json")));
    expect(document).toMatchObject({ status: 405, code: "method_not_allowed", request_id: "$context.requestId" });
    const declared = at(properties["MethodResponses"], 0, "ResponseParameters");
    expect(Object.keys(Object(declared)).sort()).toEqual(
      Object.keys(Object(at(response, "ResponseParameters"))).sort(),
    );
  });

  test("that are mocks take every body that clients send", () => {
    const templates = at(method("ANY", "/me").properties["Integration"], "RequestTemplates");
    expect(Object.keys(Object(templates)).sort()).toEqual([
      "application/json",
      "application/merge-patch+json",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "text/plain",
    ]);
  });

  test("are invoked by one role, for functions of this stage, without a permission per method", () => {
    const permissions = ofType(stage, "AWS::Lambda::Permission").map(({ properties }) => properties["Principal"]);
    expect(permissions).toEqual(["secretsmanager.amazonaws.com"]);
    const credentials = ofType(stage, "AWS::ApiGateway::Method")
      .map(({ properties }) => at(properties["Integration"], "Credentials"))
      .filter((role) => role !== undefined);
    expect(new Set(credentials.map((role) => JSON.stringify(role))).size).toBe(1);
    const parameter = String(at(credentials[0], "Ref"));
    const stacks = ofType(stage, "AWS::CloudFormation::Stack").map(({ properties }) => properties["Parameters"]);
    const roleIds = new Set(stacks.map((parameters) => at(parameters, parameter, "Fn::GetAtt", 0)));
    const role = only(ofType(stage, "AWS::IAM::Role").filter(({ logicalId }) => roleIds.has(logicalId)));
    expect(JSON.stringify(role.properties["Policies"])).toContain(":function:brokerage-sandbox-*");
  });
});

describe("the deployment", () => {
  const stacksOfPaths = () =>
    ofType(stage, "AWS::CloudFormation::Stack").filter(({ logicalId }) => /Paths/.test(logicalId));

  test("waits for the methods of every path, whose stack is that of its first segment", () => {
    const segments = new Set(rows.map(({ path }) => path.split("/")[1]));
    const { resource } = only(ofType(stage, "AWS::ApiGateway::Deployment"));
    const waitsFor = [resource.DependsOn ?? []].flat();
    expect(stacksOfPaths()).toHaveLength(segments.size);
    expect(waitsFor).toEqual(expect.arrayContaining(stacksOfPaths().map(({ logicalId }) => logicalId)));
  });

  test("is another one as soon as one method is", async () => {
    const few = rows.filter(({ path }) => path === "/me" || path === quotes.path);
    const changed = few.map((row) => (row.path === "/me" ? { ...row, auth: "none" as const } : row));
    const names = new Set<string>();
    for (const some of [few, changed]) {
      const made = await synthesizeStage({ stage: "sandbox", routes: some, validate: false });
      names.add(only(ofType(made, "AWS::ApiGateway::Deployment")).logicalId);
      await made.remove();
    }
    expect(names.size).toBe(2);
  });
});

describe("gateway", () => {
  test("asks the authorizer once a minute per token", () => {
    expect(only(ofType(stage, "AWS::ApiGateway::Authorizer")).properties).toMatchObject({
      Type: "REQUEST",
      IdentitySource: "method.request.header.Authorization",
      AuthorizerResultTtlInSeconds: 60,
    });
  });

  test("is regional, takes keys from the authorizer, and leaves the account's settings alone", () => {
    expect(only(ofType(stage, "AWS::ApiGateway::RestApi")).properties).toMatchObject({
      ApiKeySourceType: "AUTHORIZER",
      EndpointConfiguration: { Types: ["REGIONAL"] },
    });
    expect(ofType(stage, "AWS::ApiGateway::Account")).toEqual([]);
  });

  test("throttles an application by the plan, and quotes apart", () => {
    expect(only(ofType(stage, "AWS::ApiGateway::UsagePlan")).properties).toMatchObject({
      Throttle: { RateLimit: 150, BurstLimit: 300 },
      ApiStages: [{ Throttle: { "/quotes/{symbol}/GET": { RateLimit: 100, BurstLimit: 200 } } }],
    });
  });

  test("logs requests without headers, query strings and bodies", () => {
    const { properties } = only(ofType(stage, "AWS::ApiGateway::Stage"));
    expect(properties["StageName"]).toBe("v2");
    const format = JSON.parse(String(at(properties["AccessLogSetting"], "Format")));
    expect(format).toMatchObject({ requestId: "$context.requestId", path: "$context.path" });
    expect(JSON.stringify(format)).not.toMatch(/header|querystring|apiKey"|accessKey|body|integrationErrorMessage/i);
    expect(at(properties["MethodSettings"], 0)).toMatchObject({ DataTraceEnabled: false, LoggingLevel: "ERROR" });
    const open = routes.filter(({ auth, stages }) => auth !== "token" && stages.includes("sandbox"));
    expect(open.map(({ path }) => path)).toEqual(expect.arrayContaining(["/oauth/token", "/oauth/revoke", "/health"]));
    const rateOf = (path: string) => (/^\/(?:open|async)api\.json$/.test(path) ? 10 : 100);
    expect(list(properties["MethodSettings"]).slice(1)).toEqual(
      open.map(({ path, method }) => ({
        ...{ HttpMethod: method, ResourcePath: `/${path.replaceAll("/", "~1")}` },
        ...{ DataTraceEnabled: false, LoggingLevel: "ERROR" },
        ...{ ThrottlingRateLimit: rateOf(path), ThrottlingBurstLimit: 2 * rateOf(path) },
      })),
    );
    // The trace that a line of this log names is the one of the functions.
    expect([format.traceId, properties["TracingEnabled"]]).toEqual(["$context.xrayTraceId", true]);
  });
});

/** A client reads of every 429 what it may send, that of the gateway too. */
const exceeded = { "X-RateLimit-Limit": "'1000'", "X-RateLimit-Remaining": "'0'" };

/** Refusals of the gateway by itself: type, status, code, and the header that goes with it. */
const expected: readonly (readonly [string, number, ProblemCode, Record<string, string>])[] = [
  ["MISSING_AUTHENTICATION_TOKEN", 404, "not_found", {}],
  ["RESOURCE_NOT_FOUND", 404, "not_found", {}],
  ["INVALID_SIGNATURE", 404, "not_found", {}],
  ["EXPIRED_TOKEN", 404, "not_found", {}],
  ["DEFAULT_4XX", 404, "not_found", {}],
  ["BAD_REQUEST_BODY", 400, "malformed_json", {}],
  ["BAD_REQUEST_PARAMETERS", 400, "invalid_parameter", {}],
  ["UNAUTHORIZED", 401, "unauthenticated", { "WWW-Authenticate": "'Bearer realm=\"brokerage\"'" }],
  ["ACCESS_DENIED", 401, "unauthenticated", { "WWW-Authenticate": "'Bearer realm=\"brokerage\"'" }],
  ["WAF_FILTERED", 403, "address_not_allowed", {}],
  ["REQUEST_TOO_LARGE", 413, "payload_too_large", {}],
  ["UNSUPPORTED_MEDIA_TYPE", 415, "unsupported_media_type", {}],
  ["THROTTLED", 429, "rate_limit_exceeded", { ...exceeded, "Retry-After": "'1'" }],
  ["QUOTA_EXCEEDED", 429, "rate_limit_exceeded", { ...exceeded, "Retry-After": "'60'" }],
  ["INVALID_API_KEY", 503, "service_unavailable", { "Retry-After": "'2'" }],
  ["AUTHORIZER_FAILURE", 503, "service_unavailable", { "Retry-After": "'2'" }],
  ["AUTHORIZER_CONFIGURATION_ERROR", 503, "service_unavailable", { "Retry-After": "'2'" }],
  ["INTEGRATION_FAILURE", 502, "bad_gateway", {}],
  ["INTEGRATION_TIMEOUT", 504, "gateway_timeout", {}],
  ["API_CONFIGURATION_ERROR", 500, "internal_error", {}],
  ["DEFAULT_5XX", 500, "internal_error", {}],
];

describe("gateway responses", () => {
  test.each(expected)("%s is a problem document with status %i", (type, status, code, headers) => {
    const response = only(
      ofType(stage, "AWS::ApiGateway::GatewayResponse").filter(({ properties }) => properties["ResponseType"] === type),
    );
    expect(response.properties["StatusCode"]).toBe(String(status));
    const document = JSON.parse(String(at(response.properties["ResponseTemplates"], "application/json")));
    expect(Object.keys(document)).toEqual(["type", "title", "status", "detail", "instance", "code", "request_id"]);
    expect(document).toMatchObject({
      type: problemType(code),
      title: problemKind(code).title,
      status,
      code,
      request_id: "$context.requestId",
    });
    expect(response.properties["ResponseParameters"]).toEqual(
      Object.fromEntries(
        Object.entries({
          "Content-Type": "'application/problem+json'",
          "Cache-Control": "'no-store'",
          "Strict-Transport-Security": "'max-age=63072000; includeSubDomains'",
          "X-Content-Type-Options": "'nosniff'",
          "X-Request-Id": "context.requestId",
          ...headers,
        }).map(([name, value]) => [`gatewayresponse.header.${name}`, value]),
      ),
    );
  });

  test("there are no others", () => {
    expect(ofType(stage, "AWS::ApiGateway::GatewayResponse")).toHaveLength(expected.length);
  });
});
