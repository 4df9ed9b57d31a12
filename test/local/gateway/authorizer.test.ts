import { describe, expect, it } from "vitest";
import {
  api,
  ask,
  authorizer,
  eventsOf,
  type Handler,
  ProcessDied,
  policy,
  proxyTo,
  resource,
  testHost,
  withGateway,
} from "./support.ts";

const everything = "arn:aws:execute-api:eu-central-1:111122223333:api/v2/*";
const token = { headers: [["Authorization", "Bearer one"]] } as const;
const allow: Handler = () => policy("Allow", everything);

function graph(more: Record<string, unknown> = {}) {
  const methods = {
    "GET /me": { integration: proxyTo("me"), authorizer: "authorizer" },
    "DELETE /me": { integration: proxyTo("me"), authorizer: "authorizer" },
    "GET /clients/{id}": { integration: proxyTo("me"), authorizer: "authorizer" },
  };
  return api(methods, [authorizer(more)]);
}

function hostOf(authorize: Handler) {
  return testHost({ authorize, me: () => ({ statusCode: 200, body: "me" }) });
}

describe("authorizer", () => {
  it("answers 401 without asking the function when the identity source is missing or empty", async () => {
    const host = hostOf(allow);
    await withGateway(graph(), host, async (origin) => {
      const answers = [await ask(origin, "/v2/me"), await ask(origin, "/v2/me", { headers: [["Authorization", ""]] })];
      for (const answer of answers) {
        expect([answer.status, answer.json()]).toEqual([401, { message: "Unauthorized" }]);
      }
    });
    expect(eventsOf(host, "authorize")).toEqual([]);
  });

  it("asks the function without looking at the identity source when nothing is cached", async () => {
    const host = hostOf(allow);
    await withGateway(graph({ AuthorizerResultTtlInSeconds: 0 }), host, async (origin) => {
      expect((await ask(origin, "/v2/me")).status).toBe(200);
      expect((await ask(origin, "/v2/me")).status).toBe(200);
    });
    expect(eventsOf(host, "authorize")).toHaveLength(2);
  });

  it("hands the authorizer the request without its body, and the ARN of the method", async () => {
    const host = hostOf(allow);
    await withGateway(graph(), host, async (origin) => {
      await ask(origin, "/v2/clients/cli_1/?a=1", token);
    });
    const [event] = eventsOf(host, "authorize");
    expect(event).toMatchObject({
      type: "REQUEST",
      methodArn: "arn:aws:execute-api:eu-central-1:111122223333:api/v2/GET/clients/cli_1",
      resource: "/clients/{id}",
      path: "/clients/cli_1/",
      headers: { Authorization: "Bearer one" },
      queryStringParameters: { a: "1" },
      pathParameters: { id: "cli_1" },
      stageVariables: {},
    });
    expect(Object.keys(event ?? {})).not.toContain("body");
  });

  it("keeps an answer under the identity source for its time and no longer", async () => {
    const host = hostOf(allow);
    await withGateway(graph(), host, async (origin) => {
      await ask(origin, "/v2/me", token);
      host.clockMs += 59_999;
      await ask(origin, "/v2/clients/cli_1", token);
      expect(eventsOf(host, "authorize")).toHaveLength(1);
      await ask(origin, "/v2/me", { headers: [["Authorization", "Bearer two"]] });
      expect(eventsOf(host, "authorize")).toHaveLength(2);
      host.clockMs += 1;
      await ask(origin, "/v2/me", token);
      expect(eventsOf(host, "authorize")).toHaveLength(3);
    });
  });

  it("judges other methods by the policy that was kept, so a narrow policy denies them", async () => {
    const host = hostOf((event) => policy("Allow", String(event["methodArn"])));
    await withGateway(graph(), host, async (origin) => {
      expect((await ask(origin, "/v2/me", token)).status).toBe(200);
      const other = await ask(origin, "/v2/me", { ...token, method: "DELETE" });
      expect(other.status).toBe(403);
      expect(other.json()).toEqual({ Message: "User is not authorized to access this resource" });
    });
    expect(eventsOf(host, "authorize")).toHaveLength(1);
  });

  it("answers 403 to an explicit denial and keeps it as well", async () => {
    const host = hostOf(() => policy("Deny", "*"));
    await withGateway(graph(), host, async (origin) => {
      for (let count = 0; count < 2; count += 1) {
        const answer = await ask(origin, "/v2/me", token);
        expect(answer.status).toBe(403);
        expect(answer.header("x-amzn-errortype")).toBe("AccessDeniedException");
        expect(String(answer.json()["Message"])).toContain("explicit deny");
      }
    });
    expect(eventsOf(host, "authorize")).toHaveLength(1);
  });

  it("lets a denial win over a permission", async () => {
    const statement = (Effect: string, Resource: string) => ({ Action: "execute-api:*", Effect, Resource });
    const host = hostOf(() => ({
      principalId: "app_1",
      policyDocument: { Statement: [statement("Deny", "*/DELETE/*"), statement("Allow", "*")] },
    }));
    await withGateway(graph(), host, async (origin) => {
      expect((await ask(origin, "/v2/me", token)).status).toBe(200);
      expect((await ask(origin, "/v2/me", { ...token, method: "DELETE" })).status).toBe(403);
    });
  });

  it("answers 401 to an error of the message Unauthorized and asks again next time", async () => {
    const host = hostOf(() => {
      throw new Error("Unauthorized");
    });
    await withGateway(graph(), host, async (origin) => {
      expect((await ask(origin, "/v2/me", token)).status).toBe(401);
      expect((await ask(origin, "/v2/me", token)).status).toBe(401);
    });
    expect(eventsOf(host, "authorize")).toHaveLength(2);
  });

  it.each([
    ["another error", "AuthorizerFailureException", () => Promise.reject(new Error("broken"))],
    ["a process that died", "AuthorizerFailureException", () => Promise.reject(new ProcessDied("gone"))],
    ["nothing", "AuthorizerConfigurationException", () => null],
    ["no principal", "AuthorizerConfigurationException", () => ({ ...policy("Allow", "*"), principalId: undefined })],
    ["no policy", "AuthorizerConfigurationException", () => ({ principalId: "app_1" })],
    ["an unknown effect", "AuthorizerConfigurationException", () => policy("Maybe", "*")],
    ["a resource over 512 characters", "AuthorizerConfigurationException", () => policy("Allow", "a".repeat(513))],
    [
      "an object in the context",
      "AuthorizerConfigurationException",
      () => policy("Allow", "*", { context: { a: {} } }),
    ],
  ])("answers 500 to %s from the authorizer, and keeps nothing", async (_, errorType, authorize) => {
    const host = hostOf(authorize);
    await withGateway(graph(), host, async (origin) => {
      for (let count = 0; count < 2; count += 1) {
        const answer = await ask(origin, "/v2/me", token);
        expect([answer.status, answer.json()]).toEqual([500, { message: null }]);
        expect(answer.header("x-amzn-errortype")).toBe(errorType);
      }
    });
    expect(eventsOf(host, "authorize")).toHaveLength(2);
    expect(eventsOf(host, "me")).toEqual([]);
  });

  it("hands every value of the context to the function as a text, with principalId and the latency", async () => {
    const context = { tenant: "brk_1", limit: 5, live: true, nothing: null };
    const host = hostOf(() => {
      host.clockMs += 7;
      return policy("Allow", "*", { context });
    });
    await withGateway(graph(), host, async (origin) => {
      await ask(origin, "/v2/me", token);
      await ask(origin, "/v2/me", token);
    });
    const seen = eventsOf(host, "me").map((event) => event.requestContext["authorizer"]);
    const common = { principalId: "app_1", tenant: "brk_1", limit: "5", live: "true" };
    expect(seen).toEqual([
      { ...common, integrationLatency: 7 },
      { ...common, integrationLatency: 0 },
    ]);
  });

  it("answers 414 when the ARN of a protected method passes 1,600 bytes", async () => {
    const host = hostOf(allow);
    await withGateway(graph(), host, async (origin) => {
      expect((await ask(origin, `/v2/clients/${"a".repeat(1_550)}`, token)).status).toBe(414);
    });
  });

  it("shows both of two Authorization headers to the authorizer, whatever was kept for either", async () => {
    const host = hostOf(allow);
    await withGateway(graph(), host, async (origin) => {
      await ask(origin, "/v2/me", token);
      const both = [
        ["Authorization", "Bearer two"],
        ["Authorization", "Bearer one"],
      ] as const;
      await ask(origin, "/v2/me", { headers: both });
    });
    const last = eventsOf(host, "authorize").at(-1);
    expect(last?.multiValueHeaders["Authorization"]).toEqual(["Bearer two", "Bearer one"]);
    expect(last?.headers["Authorization"]).toBe("Bearer one");
  });

  it("takes query parameters, stage variables and context values as identity sources too", async () => {
    const IdentitySource = "method.request.querystring.key,stageVariables.zone,context.httpMethod";
    const stage = { RestApiId: "api", StageName: "v2", DeploymentId: "deployment", Variables: { zone: "eu" } };
    const host = hostOf(allow);
    const methods = { "GET /me": { integration: proxyTo("me"), authorizer: "authorizer" } };
    const resources = api(methods, [authorizer({ IdentitySource }), resource("v2", "Stage", stage)]);
    await withGateway(resources, host, async (origin) => {
      expect((await ask(origin, "/v2/me")).status).toBe(401);
      expect((await ask(origin, "/v2/me?key=1")).status).toBe(200);
      expect((await ask(origin, "/v2/me?key=1")).status).toBe(200);
      expect((await ask(origin, "/v2/me?key=2")).status).toBe(200);
    });
    expect(eventsOf(host, "authorize")).toHaveLength(2);
    expect(eventsOf(host, "me")[0]?.["stageVariables"]).toEqual({ zone: "eu" });
  });
});
