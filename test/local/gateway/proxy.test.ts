import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Resource } from "../../../infra/local/gateway/properties.ts";
import {
  type Answer,
  api,
  ask,
  eventsOf,
  type Handler,
  ProcessDied,
  proxyTo,
  type Question,
  resource,
  testHost,
  withGateway,
} from "./support.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function graph(...extra: Resource[]): Resource[] {
  return api({ "ANY /echo/{id}": { integration: proxyTo("echo") } }, extra);
}

function withBinary(...BinaryMediaTypes: string[]): Resource {
  return resource("api", "RestApi", { ApiKeySourceType: "AUTHORIZER", BinaryMediaTypes });
}

/** One request through a function, and what both sides saw. */
async function through(handler: Handler, path: string, question: Question = {}, extra: Resource[] = []) {
  const host = testHost({ echo: handler });
  const answers: Answer[] = [];
  await withGateway(graph(...extra), host, async (origin) => {
    answers.push(await ask(origin, path, question));
  });
  const [answer] = answers;
  if (answer === undefined) throw new Error("there was no answer");
  return { answer, event: eventsOf(host, "echo")[0], host };
}

describe("an answer of a function", () => {
  const large = { statusCode: 200, headers: { ETag: '"1"' }, body: JSON.stringify("x".repeat(2_000)) };
  const api = resource("api", "RestApi", { ApiKeySourceType: "AUTHORIZER", MinimumCompressionSize: 2_000 });
  const asked = async (accepted: string | undefined, answered: object = large, of: Resource[] = [api]) => {
    const headers: Question["headers"] = accepted === undefined ? [] : [["Accept-Encoding", accepted]];
    const { answer } = await through(() => answered, "/v2/echo/1", { headers }, of);
    return answer;
  };
  const codingOf = async (...given: Parameters<typeof asked>) => (await asked(...given)).header("content-encoding");

  it.each([
    ["gzip", "gzip"],
    ["gzip, deflate, br", "gzip"],
    ["deflate;q=1.0, gzip;q=0.5", "deflate"],
    ["br, gzip;q=0.9", undefined],
    ["identity", undefined],
    ["gzip;q=0", undefined],
    ["*", undefined],
    [undefined, undefined],
  ] as const)("is for a caller who accepts %s in the coding %s", async (accepted, coding) => {
    expect(await codingOf(accepted)).toBe(coding);
  });

  it("is compressed from the size on that the API names, and not when it has a coding", async () => {
    const answer = await asked("gzip");
    expect(gunzipSync(answer.bytes).toString()).toBe(large.body);
    expect(answer.header("etag")).toBe('"1"');
    expect(await codingOf("gzip", { ...large, body: "x".repeat(1_999) })).toBeUndefined();
    expect(await codingOf("gzip", { ...large, headers: { "Content-Encoding": "br" } })).toBe("br");
    expect(await codingOf("gzip", large, [])).toBeUndefined();
  });
});

const ok: Handler = () => ({ statusCode: 200 });

describe("event of a function", () => {
  it("is the REST proxy event, payload format 1.0, member by member", async () => {
    const { event, host, answer } = await through(ok, "/v2/echo/1?a=1&b=x+y&a=2", {
      method: "POST",
      headers: [
        ["User-Agent", "test/1"],
        ["Content-Type", "application/json"],
      ],
      body: '{"n":1.10}',
    });
    const { headers, multiValueHeaders, requestContext, ...rest } = event ?? {};
    expect(rest).toEqual({
      resource: "/echo/{id}",
      path: "/echo/1",
      httpMethod: "POST",
      queryStringParameters: { a: "2", b: "x y" },
      multiValueQueryStringParameters: { a: ["1", "2"], b: ["x y"] },
      pathParameters: { id: "1" },
      stageVariables: null,
      body: '{"n":1.10}',
      isBase64Encoded: false,
    });
    expect(requestContext).toEqual({
      accountId: "111122223333",
      apiId: "api",
      deploymentId: "deployment",
      domainName: "api.test",
      domainPrefix: "api",
      extendedRequestId: answer.header("x-amz-apigw-id"),
      httpMethod: "POST",
      identity: {
        accessKey: null,
        accountId: null,
        caller: null,
        cognitoAuthenticationProvider: null,
        cognitoAuthenticationType: null,
        cognitoIdentityId: null,
        cognitoIdentityPoolId: null,
        principalOrgId: null,
        sourceIp: "127.0.0.1",
        user: null,
        userAgent: "test/1",
        userArn: null,
      },
      path: "/v2/echo/1",
      protocol: "HTTP/1.1",
      requestId: answer.header("x-amzn-requestid"),
      requestTime: "09/Apr/2026:12:34:56 +0000",
      requestTimeEpoch: host.clockMs,
      resourceId: "resource/echo/{id}",
      resourcePath: "/echo/{id}",
      stage: "v2",
    });
    expect(answer.header("x-amzn-requestid")).toMatch(uuid);
    expect([headers?.["Host"], multiValueHeaders?.["Host"]]).toEqual(["api.test", ["api.test"]]);
  });

  it("has null for maps and bodies that are empty", async () => {
    const host = testHost({ home: ok });
    await withGateway(api({ "GET /": { integration: proxyTo("home") } }), host, async (origin) => {
      expect((await ask(origin, "/v2")).status).toBe(200);
    });
    expect(eventsOf(host, "home")[0]).toMatchObject({
      path: "/",
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      pathParameters: null,
      body: null,
    });
  });

  it("keeps the caller's spelling of header names and every value, the last one in the single view", async () => {
    const { event } = await through(ok, "/v2/echo/1", {
      headers: [
        ["tEsT-HEADeR", "aValUE"],
        ["Authorization", "Bearer one"],
        ["Authorization", "Bearer two"],
        ["User-Agent", "one"],
        ["User-Agent", "two"],
      ],
    });
    expect(event?.headers).toMatchObject({ "tEsT-HEADeR": "aValUE", Authorization: "Bearer two" });
    expect(event?.multiValueHeaders["Authorization"]).toEqual(["Bearer one", "Bearer two"]);
    expect(event?.requestContext["identity"]).toMatchObject({ userAgent: "two" });
  });

  it("drops the request headers that API Gateway drops and passes the others on", async () => {
    const dropped = ["Content-MD5", "Max-Forwards", "Proxy-Authenticate", "Server", "TE", "WWW-Authenticate"];
    const passed = ["Accept", "Age", "Content-Encoding", "Date", "Pragma", "Range", "Referer", "Via", "Warn", "X-Mine"];
    const { event } = await through(ok, "/v2/echo/1", {
      method: "POST",
      headers: [...dropped, ...passed].map((name) => [name, name === "Content-Encoding" ? "identity" : "x"] as const),
      body: "x",
    });
    const names = Object.keys(event?.headers ?? {});
    expect(names.sort()).toEqual(
      [...passed, "Host", "X-Amzn-Trace-Id", "X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"].sort(),
    );
  });

  it("drops an Authorization header that is a signature of AWS", async () => {
    const headers = [["Authorization", "AWS4-HMAC-SHA256 Credential=x"]] as const;
    const { event } = await through(ok, "/v2/echo/1", { headers });
    expect(Object.keys(event?.headers ?? {})).not.toContain("Authorization");
  });

  it("adds its hop to X-Forwarded-For and keeps the root of the caller's trace", async () => {
    const root = "1-5759e988-bd862e3fe1be46a994272793";
    const { event, answer } = await through(ok, "/v2/echo/1", {
      headers: [
        ["X-Forwarded-For", "203.0.113.7"],
        ["X-Forwarded-For", "203.0.113.8"],
        ["X-Forwarded-Proto", "gopher"],
        ["X-Amzn-Trace-Id", `Self=1-5759e988-bd862e3fe1be46a994272794;Root=${root}`],
      ],
    });
    expect(event?.headers).toMatchObject({
      "X-Forwarded-For": "203.0.113.7, 203.0.113.8, 127.0.0.1",
      "X-Forwarded-Port": "443",
      "X-Forwarded-Proto": "https",
      "X-Amzn-Trace-Id": `Root=${root}`,
    });
    expect(event?.multiValueHeaders["X-Forwarded-Proto"]).toEqual(["https"]);
    expect(answer.header("x-amzn-trace-id")).toContain(`Root=${root};`);
  });

  it("decodes query parameters once and separates them at semicolons too", async () => {
    const query = "e=test%2Balias&twice=%2525&f=%E2%82%AC&bad=%FF&flag&s=a;t=b";
    const { event } = await through(ok, `/v2/echo/1?${query}`);
    expect(event?.["queryStringParameters"]).toEqual({
      e: "test+alias",
      twice: "%25",
      f: "€",
      bad: "\uFFFD",
      flag: "",
      s: "a",
      t: "b",
    });
  });

  it("reads a text body as UTF-8, broken bytes replaced, so no function sees that they were broken", async () => {
    const headers = [["Content-Type", "application/json"]] as const;
    const body = Buffer.from([0x7b, 0xff, 0x7d]);
    const { event } = await through(ok, "/v2/echo/1", { method: "POST", headers, body });
    expect([event?.["body"], event?.["isBase64Encoded"]]).toEqual(["{\uFFFD}", false]);
  });

  it("hands a body of a binary media type on as base64", async () => {
    const headers = [["Content-Type", "image/png; x=1"]] as const;
    const body = Buffer.from([0xff, 0x00]);
    const { event } = await through(ok, "/v2/echo/1", { method: "POST", headers, body }, [withBinary("image/*")]);
    expect([event?.["body"], event?.["isBase64Encoded"]]).toEqual(["/wA=", true]);
  });
});

describe("reply of a function", () => {
  const reply = (payload: unknown, question?: Question, extra?: Resource[]) =>
    through(() => payload, "/v2/echo/1", question, extra);

  it("is JSON with status 200 when it says nothing else", async () => {
    const { answer } = await reply({});
    expect([answer.status, answer.header("content-type"), answer.body]).toEqual([200, "application/json", ""]);
  });

  it("may give its status as text and header values as numbers and truth values", async () => {
    const { answer } = await reply({ statusCode: "201", headers: { "x-number": 1, "x-true": true } });
    expect([answer.status, answer.header("x-number"), answer.header("x-true")]).toEqual([201, "1", "true"]);
  });

  it("sends every value of multiValueHeaders, then the single ones that are not there yet", async () => {
    const { answer } = await reply({
      headers: { "set-cookie": "c=3", "x-same": "one" },
      multiValueHeaders: { "Set-Cookie": ["a=1", "b=2"], "X-Same": ["one"] },
    });
    const sent = answer.headers.filter(([name]) => /cookie|same/i.test(name));
    expect(sent).toEqual([
      ["Set-Cookie", "a=1"],
      ["Set-Cookie", "b=2"],
      ["X-Same", "one"],
      ["Set-Cookie", "c=3"],
    ]);
  });

  it("renames the headers that API Gateway keeps for itself", async () => {
    const names = ["Authorization", "Connection", "Content-Length", "Content-MD5", "Date", "Max-Forwards", "Server"];
    const all = [...names, "User-Agent", "WWW-Authenticate", "x-amzn-RequestId"];
    const { answer } = await reply({ headers: Object.fromEntries(all.map((name) => [name, "99"])), body: "four" });
    for (const name of all) expect(answer.header(`x-amzn-remapped-${name}`)).toBe("99");
    expect(answer.header("www-authenticate")).toBeUndefined();
    expect(answer.header("server")).toBeUndefined();
    expect([answer.header("content-length"), answer.body]).toEqual(["4", "four"]);
    expect(answer.header("date")).not.toBe("99");
    expect(answer.header("x-amzn-requestid")).toMatch(uuid);
  });

  it("drops hop-by-hop headers and lets Pragma, Cache-Control and ETag pass", async () => {
    const dropped = ["Expect", "Host", "Proxy-Authenticate", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Via"];
    const passed = ["Pragma", "Cache-Control", "ETag", "Retry-After", "Allow", "Location"];
    const headers = Object.fromEntries([...dropped, ...passed].map((name) => [name, "x"]));
    const { answer } = await reply({ headers });
    for (const name of dropped) {
      expect([answer.header(name), answer.header(`x-amzn-remapped-${name}`)]).toEqual([undefined, undefined]);
    }
    for (const name of passed) expect(answer.header(name)).toBe("x");
  });

  it.each([
    ["null", null],
    ["a text", "just a text"],
    ["a list", []],
    ["an unknown member", { statusCode: 200, wrongValue: "value" }],
    ["a status that is no number", { statusCode: "test" }],
    ["a status outside 200 to 599", { statusCode: 100 }],
    ["a body that is no text", { body: { a: 1 } }],
    ["a header that is an object", { headers: { a: {} } }],
    ["a header with a line break", { headers: { a: "b\r\nc: d" } }],
    ["a multi-value header that is no list", { multiValueHeaders: { a: "b" } }],
    ["isBase64Encoded that is no truth value", { isBase64Encoded: "yes" }],
    ["more than 6 MB", { body: "x".repeat(6_291_557) }],
  ])("answers 502 to %s", async (_, payload) => {
    const { answer } = await reply(payload);
    expect([answer.status, answer.json()]).toEqual([502, { message: "Internal server error" }]);
    expect(answer.header("x-amzn-errortype")).toBe("InternalServerErrorException");
    expect(answer.header("x-amzn-trace-id")).toBeUndefined();
  });

  it.each([
    ["throws", () => Promise.reject(new Error("broken"))],
    ["dies", () => Promise.reject(new ProcessDied("gone"))],
  ])("answers 502 when the function %s, and tells the caller nothing", async (_, handler) => {
    const { answer } = await through(handler, "/v2/echo/1");
    expect([answer.status, answer.json()]).toEqual([502, { message: "Internal server error" }]);
  });

  it("answers 504 when the function takes longer than the integration waits", async () => {
    const host = testHost({ slow: () => new Promise(() => undefined) });
    const resources = api({ "GET /slow": { integration: proxyTo("slow", { TimeoutInMillis: 50 }) } });
    await withGateway(resources, host, async (origin) => {
      const answer = await ask(origin, "/v2/slow");
      expect([answer.status, answer.json()]).toEqual([504, { message: "Endpoint request timed out" }]);
    });
  });

  it("undoes base64 only when the first accepted type is a binary one of the API", async () => {
    const payload = { body: "dGVzdA==", isBase64Encoded: true };
    const accept = (type: string) => ({ headers: [["Accept", type]] }) as const;
    const binary = [withBinary("image/png")];
    expect((await reply(payload)).answer.body).toBe("dGVzdA==");
    expect((await reply(payload, accept("image/png"), binary)).answer.body).toBe("test");
    expect((await reply(payload, accept("text/html, image/png"), binary)).answer.body).toBe("dGVzdA==");
    expect((await reply(payload, accept("*/*"), binary)).answer.body).toBe("dGVzdA==");
    expect((await reply(payload, {}, [withBinary("*/*")])).answer.body).toBe("test");
  });

  it("sends neither body nor length with 204 and 304", async () => {
    for (const statusCode of [204, 304]) {
      const { answer } = await reply({ statusCode, body: "x", headers: { ETag: '"1"' } });
      expect([answer.status, answer.body, answer.header("content-length")]).toEqual([statusCode, "", undefined]);
      expect(answer.header("etag")).toBe('"1"');
    }
  });
});
