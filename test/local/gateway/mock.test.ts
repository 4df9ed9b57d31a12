import { describe, expect, it } from "vitest";
import type { Resource } from "../../../infra/local/gateway/properties.ts";
import { api, ask, authorizer, policy, proxyTo, resource, testHost, withGateway } from "./support.ts";

const headers = ["Allow", "X-Request-Id", "Content-Type"];
const declared = Object.fromEntries(headers.map((name) => [`method.response.header.${name}`, true]));

function mock(more: Record<string, unknown> = {}) {
  const status = '{"statusCode":405}';
  return {
    responses: [
      { StatusCode: "405", ResponseParameters: declared },
      { StatusCode: "200", ResponseParameters: declared },
    ],
    integration: {
      Type: "MOCK",
      PassthroughBehavior: "NEVER",
      RequestTemplates: { "application/json": status, "text/plain": status, "multipart/form-data": status },
      IntegrationResponses: [
        {
          StatusCode: "405",
          ResponseParameters: {
            "method.response.header.Allow": "'GET, POST'",
            "method.response.header.X-Request-Id": "context.requestId",
            "method.response.header.Content-Type": "'application/problem+json'",
          },
          ResponseTemplates: {
            "application/json": '{"instance":"$context.path","id":"$context.requestId","method":"$context.httpMethod"}',
          },
        },
      ],
      ...more,
    },
  };
}

const withType = (type: string) => ({ method: "PUT", headers: [["Content-Type", type]], body: "x" }) as const;

describe("MOCK integration", () => {
  it("answers with the fixed and context headers and the filled-in body, without asking any function", async () => {
    await withGateway(api({ "ANY /clients": mock() }), testHost(), async (origin) => {
      const answer = await ask(origin, "/v2/clients?x=1", { method: "DELETE" });
      const id = answer.header("x-amzn-requestid");
      expect([answer.status, answer.header("allow")]).toEqual([405, "GET, POST"]);
      expect(answer.header("content-type")).toBe("application/problem+json");
      expect(answer.header("x-request-id")).toBe(id);
      expect(answer.json()).toEqual({ instance: "/v2/clients", id, method: "DELETE" });
      expect(answer.header("x-amzn-trace-id")).toBeUndefined();
    });
  });

  it("takes its template by the content type without parameters, and no type for JSON", async () => {
    await withGateway(api({ "ANY /clients": mock() }), testHost(), async (origin) => {
      const types = ["application/json", "Text/Plain;charset=utf-8", "multipart/form-data; boundary=x"];
      for (const type of types) expect((await ask(origin, "/v2/clients", withType(type))).status).toBe(405);
      expect((await ask(origin, "/v2/clients", { method: "PUT", body: "x" })).status).toBe(405);
      for (const method of ["HEAD", "OPTIONS"]) {
        expect((await ask(origin, "/v2/clients", { method })).header("allow")).toBe("GET, POST");
      }
    });
  });

  it.each([
    ["NEVER", {}, 415],
    ["WHEN_NO_TEMPLATES", {}, 415],
    ["WHEN_NO_TEMPLATES", { RequestTemplates: {} }, 405],
    ["WHEN_NO_MATCH", {}, 405],
  ])("with passthrough %s and %j answers %i to a type without a template", async (behaviour, more, status) => {
    const resources = api({ "ANY /clients": mock({ PassthroughBehavior: behaviour, ...more }) });
    await withGateway(resources, testHost(), async (origin) => {
      const question = { ...withType("application/xml"), body: '{"statusCode": 405}' };
      expect((await ask(origin, "/v2/clients", question)).status).toBe(status);
    });
  });

  it("answers 500 when a request that passes through gives no status", async () => {
    const resources = api({ "ANY /clients": mock({ PassthroughBehavior: "WHEN_NO_MATCH" }) });
    await withGateway(resources, testHost(), async (origin) => {
      expect((await ask(origin, "/v2/clients", withType("application/xml"))).status).toBe(500);
    });
  });

  it("chooses the answer by its pattern, else the one without, else it is a configuration error", async () => {
    const RequestTemplates = { "application/json": "{statusCode: 200}", $default: '{"statusCode": 503}' };
    const answers = [{ StatusCode: "200", SelectionPattern: "2\\d\\d" }, { StatusCode: "405" }];
    const some = api({
      "PUT /both": mock({ RequestTemplates, IntegrationResponses: answers }),
      "PUT /one": mock({ RequestTemplates, IntegrationResponses: answers.slice(0, 1) }),
    });
    await withGateway(some, testHost(), async (origin) => {
      expect((await ask(origin, "/v2/both", withType("application/json"))).status).toBe(200);
      expect((await ask(origin, "/v2/both", withType("application/xml"))).status).toBe(405);
      expect((await ask(origin, "/v2/one", withType("application/xml"))).status).toBe(500);
    });
  });
});

function gatewayResponse(ResponseType: string, more: Record<string, unknown> = {}): Resource {
  return resource(`response ${ResponseType}`, "GatewayResponse", { RestApiId: "api", ResponseType, ...more });
}

const problem = {
  ResponseParameters: {
    "gatewayresponse.header.Content-Type": "'application/problem+json'",
    "gatewayresponse.header.X-Request-Id": "context.requestId",
    "gatewayresponse.header.WWW-Authenticate": "'Bearer realm=\"brokerage\"'",
  },
  ResponseTemplates: {
    "application/json":
      '{"type":"$context.error.responseType","message":$context.error.messageString,"text":"$context.error.message",' +
      '"instance":"$context.path","id":"$context.requestId","resource":"$context.resourcePath","at":"#/path"}',
  },
};

describe("gateway responses", () => {
  const guarded = { integration: proxyTo("me"), authorizer: "authorizer" };

  it("turn an error into the configured status, headers and body, WWW-Authenticate under its own name", async () => {
    const resources = api({ "GET /me": guarded }, [authorizer(), gatewayResponse("UNAUTHORIZED", problem)]);
    await withGateway(resources, testHost(), async (origin) => {
      const answer = await ask(origin, "/v2/me");
      const id = answer.header("x-amzn-requestid");
      expect([answer.status, answer.header("content-type")]).toEqual([401, "application/problem+json"]);
      expect(answer.header("www-authenticate")).toBe('Bearer realm="brokerage"');
      expect(answer.header("x-request-id")).toBe(id);
      expect(answer.json()).toEqual({
        type: "UNAUTHORIZED",
        message: "Unauthorized",
        text: "Unauthorized",
        instance: "/v2/me",
        id,
        resource: "/me",
        at: "#/path",
      });
    });
  });

  it("map an unknown path to another status, with no resource path to show", async () => {
    const unknown = gatewayResponse("MISSING_AUTHENTICATION_TOKEN", { ...problem, StatusCode: "404" });
    await withGateway(api({ "GET /me": { integration: proxyTo("me") } }, [unknown]), testHost(), async (origin) => {
      const answer = await ask(origin, "/v2/no%22where");
      expect([answer.status, answer.json()["instance"], answer.json()["resource"]]).toEqual([
        404,
        "/v2/no%22where",
        "",
      ]);
    });
  });

  it("fall back to the DEFAULT of their class, its status included, and to the built-in one after that", async () => {
    const resources = (...extra: Resource[]) => api({ "GET /me": guarded }, [authorizer(), ...extra]);
    const default4 = gatewayResponse("DEFAULT_4XX", { ResponseTemplates: { "application/json": '{"from":"4"}' } });
    const default5 = gatewayResponse("DEFAULT_5XX", { StatusCode: "503", ...problem });
    const host = testHost({ authorize: () => Promise.reject(new Error("broken")) });
    await withGateway(resources(default4, default5), host, async (origin) => {
      const missing = await ask(origin, "/v2/me");
      expect([missing.status, missing.json()]).toEqual([401, { from: "4" }]);
      const broken = await ask(origin, "/v2/me", { headers: [["Authorization", "x"]] });
      expect([broken.status, broken.json()["type"], broken.json()["message"]]).toEqual([
        503,
        "AUTHORIZER_FAILURE",
        null,
      ]);
    });
  });

  it("answer for every type that can be configured", async () => {
    const host = testHost({ me: () => ({ wrong: true }), authorize: () => policy("Deny", "*") });
    const named = (type: string) =>
      gatewayResponse(type, {
        StatusCode: "418",
        ResponseTemplates: { "application/json": `{"type":"${type}"}` },
      });
    const types = ["ACCESS_DENIED", "INVALID_API_KEY", "INTEGRATION_FAILURE", "UNSUPPORTED_MEDIA_TYPE", "DEFAULT_4XX"];
    const resources = api(
      {
        "GET /denied": guarded,
        "GET /key": { integration: proxyTo("me"), key: true },
        "GET /wrong": { integration: proxyTo("me") },
        "PUT /mock": mock(),
      },
      [authorizer(), ...types.map(named)],
    );
    await withGateway(resources, host, async (origin) => {
      const token = { headers: [["Authorization", "x"]] } as const;
      const seen = [
        await ask(origin, "/v2/denied", token),
        await ask(origin, "/v2/key"),
        await ask(origin, "/v2/wrong"),
        await ask(origin, "/v2/mock", withType("application/xml")),
        await ask(origin, "/v2/nowhere", token),
      ];
      expect(seen.map(({ status }) => status)).toEqual(types.map(() => 418));
      expect(seen.map((answer) => answer.json()["type"])).toEqual(types);
    });
  });

  it("choose the template by the first accepted type, else JSON", async () => {
    const ResponseTemplates = { "application/xml": "<e/>", "application/json": "{}" };
    const unknown = gatewayResponse("MISSING_AUTHENTICATION_TOKEN", { ResponseTemplates });
    await withGateway(api({ "GET /me": { integration: proxyTo("me") } }, [unknown]), testHost(), async (origin) => {
      const xml = await ask(origin, "/v2/x", { headers: [["Accept", "application/xml, application/json"]] });
      expect([xml.body, xml.header("content-type")]).toEqual(["<e/>", "application/xml"]);
      for (const accept of ["text/html, application/xml", "*/*"]) {
        expect((await ask(origin, "/v2/x", { headers: [["Accept", accept]] })).body).toBe("{}");
      }
    });
  });
});
