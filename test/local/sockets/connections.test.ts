import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callerCode, startTestCloud, type TestCloud, type TestStack } from "../fixture.ts";
import { client, refusal } from "./socket-support.ts";

const api = { Ref: "Socket" };

function joined(...parts: unknown[]) {
  return { "Fn::Join": ["", parts] };
}

function uriOf(name: string) {
  const arn = { "Fn::GetAtt": [`${name}Function`, "Arn"] };
  return joined("arn:aws:apigateway:eu-west-1:lambda:path/2015-03-31/functions/", arn, "/invocations");
}

function routeTo(key: string, name: string, more: Record<string, unknown> = {}): TestStack["resources"] {
  const role = { "Fn::GetAtt": ["Invoker", "Arn"] };
  return {
    [`${name}Integration`]: {
      Type: "AWS::ApiGatewayV2::Integration",
      Properties: { ApiId: api, IntegrationType: "AWS_PROXY", IntegrationUri: uriOf(name), CredentialsArn: role },
    },
    [`${name}Route`]: {
      Type: "AWS::ApiGatewayV2::Route",
      Properties: {
        ApiId: api,
        RouteKey: key,
        Target: joined("integrations/", { Ref: `${name}Integration` }),
        ...more,
      },
    },
  };
}

/** An invoker that may invoke these functions. */
function invokerOf(names: readonly string[]): TestStack["resources"] {
  const Resource = names.map((name) => ({ "Fn::GetAtt": [`${name}Function`, "Arn"] }));
  const Statement = [{ Effect: "Allow", Action: "lambda:InvokeFunction", Resource }];
  const Policies = [{ PolicyName: "invoke", PolicyDocument: { Version: "2012-10-17", Statement } }];
  return { Invoker: { Type: "AWS::IAM::Role", Properties: { Policies } } };
}

const names = ["connect", "disconnect", "message", "authorize"];

function manage(...methods: string[]) {
  const account = "arn:aws:execute-api:eu-west-1:000000000000:";
  const Resource = methods.map((method) => joined(account, api, `/v2/${method}/@connections/*`));
  return { Sid: "Post", Effect: "Allow", Action: "execute-api:ManageConnections", Resource };
}

const accepts = { code: "export const handler = async () => ({ statusCode: 200 });" };
const allows = `export const handler = async ({ methodArn }) => ({
  principalId: "app", context: { tenant_id: "brk_1" },
  policyDocument: { Statement: [{ Action: "execute-api:Invoke", Effect: "Allow", Resource: methodArn }] },
});`;
/** Does with its own connection what a message asks for, and says what came of it by a post. */
const echoes = `
const { STREAM_ENDPOINT: endpoint, AWS_ACCESS_KEY_ID: id } = process.env;
export const handler = async ({ body, requestContext: { connectionId, authorizer } }) => {
  const call = (method, text) => fetch(endpoint + "/@connections/" + encodeURIComponent(connectionId), {
    method, headers: { authorization: "AWS4-HMAC-SHA256 Credential=" + id + "/x" }, body: text,
  });
  const answer = body === "DELETE" ? await call("DELETE") : await call("GET");
  const shown = answer.status === 200 ? Object.keys(await answer.json()) : answer.status;
  await call("POST", "echo of " + body + " for " + authorizer.tenant_id + ": " + shown);
  return {};
};`;
/** Answers with its environment, in which addresses of the template stand for local ones. */
const addresses = "export const handler = async () => [process.env.STREAM_ENDPOINT, process.env.STREAM_URL];";

function stackOf(invoked: readonly string[] = names): TestStack {
  const host = joined(api, ".execute-api.eu-west-1.amazonaws.com");
  const endpoint = joined("https://", host, "/v2");
  return {
    resources: {
      Socket: {
        Type: "AWS::ApiGatewayV2::Api",
        Properties: { ProtocolType: "WEBSOCKET", RouteSelectionExpression: "$request.body.type" },
      },
      Stage: {
        Type: "AWS::ApiGatewayV2::Stage",
        Properties: { ApiId: api, StageName: "v2", AutoDeploy: true },
      },
      Authorizer: {
        Type: "AWS::ApiGatewayV2::Authorizer",
        Properties: {
          ...{ ApiId: api, AuthorizerType: "REQUEST", AuthorizerUri: uriOf("authorize") },
          AuthorizerCredentialsArn: { "Fn::GetAtt": ["Invoker", "Arn"] },
        },
      },
      ...invokerOf(invoked),
      ...routeTo("$connect", "connect", { AuthorizationType: "CUSTOM", AuthorizerId: { Ref: "Authorizer" } }),
      ...routeTo("$disconnect", "disconnect"),
      ...routeTo("$default", "message"),
    },
    functions: {
      ...{ connect: accepts, disconnect: accepts, authorize: { code: allows } },
      message: {
        code: echoes,
        statements: [manage("POST", "DELETE", "GET")],
        environment: { STREAM_ENDPOINT: endpoint },
      },
      poster: { code: callerCode, statements: [manage("POST", "DELETE")] },
      stranger: { code: callerCode, statements: [manage("GET")] },
      addresses: {
        code: addresses,
        environment: { STREAM_ENDPOINT: endpoint, STREAM_URL: joined("wss://", host, "/v2") },
      },
    },
  };
}

describe("the connections of a template", () => {
  let test: TestCloud;
  const denied: string[] = [];

  beforeAll(async () => {
    test = await startTestCloud(stackOf(), {
      onDenied: ({ functionName, action }) => denied.push(`${functionName} ${action}`),
    });
  });
  afterAll(() => test.stop());

  const call = async (name: string, method: string, id: string, body: unknown = {}) => {
    const path = `/v2/@connections/${encodeURIComponent(id)}`;
    const [answer] = await test.calls(name, [{ method, path, body }]);
    return answer;
  };

  it("have their addresses in the environment of functions, which are local ones here", async () => {
    const { payload } = await test.cloud.invoke("addresses", {});
    expect(payload).toEqual([`${test.cloud.endpoint}/v2`, test.cloud.streamUrl]);
    expect(test.cloud.streamUrl).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/v2$/);
  });

  it("are sent to, shown and closed by functions whose roles allow that", async () => {
    const { socket, next, closed } = await client(test.cloud.streamUrl ?? "");
    socket.send("hello");
    expect(await next()).toBe("echo of hello for brk_1: connectedAt,identity,lastActiveAt");
    socket.send("DELETE");
    expect((await closed).code).toBe(1000);
    expect(await call("poster", "POST", "unknown=")).toMatchObject({ status: 410, type: "GoneException" });
    expect(await call("stranger", "GET", "unknown=")).toMatchObject({ status: 410 });
    expect(await call("poster", "GET", "unknown=")).toMatchObject({ status: 403, type: "AccessDeniedException" });
    expect(await call("stranger", "POST", "unknown=")).toMatchObject({ status: 403, type: "AccessDeniedException" });
    expect(denied).toEqual(["poster execute-api:ManageConnections", "stranger execute-api:ManageConnections"]);
    const other = [{ method: "POST", path: "/v1/@connections/x", body: {} }];
    expect((await test.calls("poster", other))[0]).toMatchObject({ status: 403, type: "ForbiddenException" });
    expect(await call("poster", "POST", "unknown=", "x".repeat(128 * 1024))).toMatchObject({ status: 413 });
  });

  it("end with the cloud", async () => {
    const { closed } = await client(test.cloud.streamUrl ?? "");
    await test.restart();
    expect((await closed).code).toBe(1006);
    expect((await refusal(`${test.cloud.streamUrl}/x`)).status).toBe(403);
  });
});

it("a gateway whose role may not invoke the function of a route does not start", async () => {
  await expect(startTestCloud(stackOf(["connect", "disconnect", "authorize"]))).rejects.toThrow(
    /messageIntegration.*may not invoke/,
  );
});
