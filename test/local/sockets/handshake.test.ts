import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { ModelError } from "../../../infra/local/gateway/properties.ts";
import { readSocketModel } from "../../../infra/local/socket/model.ts";
import { ask, eventsOf, ProcessDied, testHost, wire } from "../gateway/support.ts";
import {
  allowed,
  client,
  eventsSoon,
  open,
  rawHandshake,
  refusal,
  socketApi,
  socketResource,
  withSockets,
} from "./socket-support.ts";

const http = (url: string) => url.replace("ws:", "http:").replace("/v2", "");

describe("the template of a WebSocket API", () => {
  const without = (id: string) => socketApi().filter(({ physical_id }) => physical_id !== id);
  const changed = (id: string, more: Record<string, unknown>) =>
    socketApi().map((each) =>
      each.physical_id === id ? { ...each, properties: { ...each.properties, ...more } } : each,
    );

  it("is none where there is no API, and is read in full where there is one", () => {
    expect(readSocketModel([])).toBeUndefined();
    const limits = { ThrottlingRateLimit: 5, ThrottlingBurstLimit: 7, DataTraceEnabled: false };
    expect(readSocketModel(socketApi({ stage: { DefaultRouteSettings: limits } }))).toMatchObject({
      ...{ api_id: "socket", account_id: "111122223333", region: "eu-central-1", stage: "v2", selected_by: "type" },
      limit: { rate: 5, burst: 7 },
      authorizer: { identity_sources: [] },
    });
  });

  it.each([
    ["a kind that is not known", [...socketApi(), socketResource("answer", "RouteResponse", { ApiId: "socket" })]],
    ["no route $connect", without("connect-route")],
    ["a route to an integration that is not there", without("message-integration")],
    ["a second stage", [...socketApi(), socketResource("v3", "Stage", { ApiId: "socket", StageName: "v3" })]],
    ["no stage", without("v2")],
    ["a property that is not known", changed("message-route", { RouteResponseSelectionExpression: "$default" })],
    ["a route of another API", changed("message-route", { ApiId: "other" })],
    [
      "an authorizer on messages",
      changed("message-route", { AuthorizationType: "CUSTOM", AuthorizerId: "authorizer" }),
    ],
    ["an integration without a role", changed("message-integration", { CredentialsArn: undefined })],
    ["an HTTP API", changed("socket", { ProtocolType: "HTTP" })],
    ["another selection of routes", changed("socket", { RouteSelectionExpression: "$request.header.x" })],
    ["a stage that is not deployed", changed("v2", { AutoDeploy: false })],
    ["an identity source that is not known", changed("authorizer", { IdentitySource: ["context.x"] })],
  ])("is refused with %s", (_, resources) => {
    expect(() => readSocketModel(resources)).toThrow(ModelError);
  });
});

describe("a handshake", () => {
  it("asks the authorizer, then $connect with its context, and tells neither twice", async () => {
    const host = testHost({ ...open, authorize: () => allowed({ tenant_id: "brk_1", scopes: 3 }) });
    await withSockets(host, async (sockets) => {
      await client(`${sockets.url}?ticket=stk_1&a=1&a=2`, [], { "User-Agent": "tests", "X-Own": "one" });
    });
    const [authorize] = eventsOf(host, "authorize");
    expect(authorize).toMatchObject({
      type: "REQUEST",
      methodArn: "arn:aws:execute-api:eu-central-1:111122223333:socket/v2/$connect",
      headers: { "X-Own": "one", "X-Forwarded-Proto": "https" },
      queryStringParameters: { ticket: "stk_1", a: "2" },
      multiValueQueryStringParameters: { ticket: ["stk_1"], a: ["1", "2"] },
    });
    expect(authorize?.requestContext).toMatchObject({
      ...{ routeKey: "$connect", eventType: "CONNECT", messageDirection: "IN", stage: "v2", apiId: "socket" },
      identity: { sourceIp: "127.0.0.1", userAgent: "tests" },
    });
    const [connect] = eventsOf(host, "connect");
    expect(connect).toMatchObject({ queryStringParameters: { ticket: "stk_1" }, isBase64Encoded: false });
    expect(connect?.requestContext["authorizer"]).toMatchObject({
      ...{ tenant_id: "brk_1", scopes: "3", principalId: "app_1" },
    });
    expect(connect?.requestContext["connectionId"]).toBe(authorize?.requestContext["connectionId"]);
    expect([eventsOf(host, "authorize").length, eventsOf(host, "connect").length]).toEqual([1, 1]);
  });

  it("chooses the subprotocol that $connect answers, and none without", async () => {
    const host = testHost({
      ...open,
      connect: () => ({ statusCode: 200, headers: { "Sec-WebSocket-Protocol": "brokerage.v2+json" } }),
    });
    await withSockets(host, async (sockets) => {
      const { socket } = await client(sockets.url, ["other", "brokerage.v2+json"]);
      expect(socket.protocol).toBe("brokerage.v2+json");
      host.functions.set("connect", () => ({ statusCode: 200 }));
      await expect(client(sockets.url, ["brokerage.v2+json"])).rejects.toThrow("Server sent no subprotocol");
    });
  });

  const deny = [{ Action: "execute-api:Invoke", Effect: "Deny", Resource: "*" }];
  it.each([
    ["401 when the authorizer says so", { authorize: () => Promise.reject(new Error("Unauthorized")) }, 401],
    ["500 when it fails", { authorize: () => Promise.reject(new Error("secret")) }, 500],
    ["500 when its process dies", { authorize: () => Promise.reject(new ProcessDied("x")) }, 500],
    ["500 when it answers nothing", { authorize: () => null }, 500],
    ["403 when its policy denies", { authorize: () => ({ ...allowed(), policyDocument: { Statement: deny } }) }, 403],
    [
      "403 when its policy allows nothing",
      { authorize: () => ({ ...allowed(), policyDocument: { Statement: [] } }) },
      403,
    ],
    ["what $connect says", { connect: () => ({ statusCode: 429 }) }, 429],
    ["502 when $connect fails", { connect: () => Promise.reject(new Error("secret")) }, 502],
    ["502 when $connect says no status", { connect: () => ({}) }, 502],
    ["500 when the process of $connect dies", { connect: () => Promise.reject(new ProcessDied("x")) }, 500],
  ])("is refused: %s", async (_, functions, status) => {
    const host = testHost({ ...open, ...functions });
    await withSockets(host, async (sockets, log) => {
      const answer = await refusal(sockets.url);
      expect(answer.status).toBe(status);
      expect(Object.keys(JSON.parse(answer.body))).toEqual(["message", "connectionId", "requestId"]);
      expect(answer.body).not.toContain("secret");
      expect(log).toHaveLength(1);
    });
    expect(eventsOf(host, "disconnect")).toEqual([]);
  });

  it("is refused without an identity source that the authorizer lists, and does not ask it", async () => {
    const host = testHost(open);
    const sources = ["route.request.header.Authorization", "route.request.querystring.ticket"];
    const resources = socketApi({ authorizer: { IdentitySource: sources } });
    const use = async (url: string) => {
      expect((await refusal(`${url}?ticket=1`)).status).toBe(401);
      expect((await refusal(url, { Authorization: "Bearer x" })).status).toBe(401);
      expect(eventsOf(host, "authorize")).toEqual([]);
      await client(`${url}?ticket=1`, [], { Authorization: "Bearer x" });
    };
    await withSockets(host, ({ url }) => use(url), { resources });
  });

  it("is throttled by the settings of the stage", async () => {
    const settings = { ThrottlingRateLimit: 1, ThrottlingBurstLimit: 2 };
    const resources = socketApi({ stage: { DefaultRouteSettings: settings } });
    const host = testHost(open);
    const use = async (url: string) => {
      await client(url);
      await client(url);
      expect((await refusal(url)).status).toBe(429);
      host.clockMs += 1000;
      await client(url);
    };
    await withSockets(host, ({ url }) => use(url), { resources });
  });

  it("is refused at another stage, another path, and with more headers than the gateway takes", async () => {
    await withSockets(testHost(open), async ({ url }) => {
      expect((await refusal(url.replace("/v2", "/v1"))).status).toBe(403);
      expect((await refusal(`${url}/elsewhere`)).status).toBe(403);
      expect((await refusal(`${url}?a=<b>`.replace("<b>", "%zz"))).status).toBe(400);
      expect((await refusal(url, { "X-Large": "x".repeat(11_000) })).status).toBe(431);
      expect(await wire(http(url), `GET /v2 HTTP/1.1\r\nX: ${"x".repeat(70_000)}\r\n\r\n`)).toContain(" 431 ");
    });
  });

  it("is none without the headers of version 13, and other requests learn what is served here", async () => {
    await withSockets(testHost(open), async ({ url }) => {
      const head = "GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
      const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
      expect(await wire(http(url), `${head}${key}\r\n`)).toContain(" 400 ");
      expect(await wire(http(url), `${head}Sec-WebSocket-Version: 13\r\n\r\n`)).toContain(" 400 ");
      expect(await wire(http(url), `${head}${key}${key}Sec-WebSocket-Version: 13\r\n\r\n`)).toContain(" 400 ");
      expect(await wire(http(url), `${head.replace("websocket", "h2c")}${key}\r\n`)).toContain(" 400 ");
      expect((await ask(http(url), "/v2")).status).toBe(426);
      expect(await wire(http(url), "no HTTP at all\r\n\r\n")).toContain(" 400 ");
    });
  });

  it("that its client gives up while $connect runs was a connection, which ends", async () => {
    let letIn: () => void = () => undefined;
    const host = testHost({
      ...open,
      connect: () => new Promise((resolve) => (letIn = () => resolve({ statusCode: 200 }))),
    });
    await withSockets(host, async ({ url }) => {
      const { socket } = rawHandshake(url);
      await eventsSoon(host, "connect", 1);
      socket.destroy();
      await once(socket, "close");
      letIn();
      const [event] = await eventsSoon(host, "disconnect", 1);
      expect(event?.requestContext).toMatchObject({ routeKey: "$disconnect", disconnectStatusCode: 1006 });
    });
  });
});
