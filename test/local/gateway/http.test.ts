import { deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { api, ask, eventsOf, proxyTo, resource, testHost, wire, withGateway } from "./support.ts";

const graph = api({ "ANY /echo": { integration: proxyTo("echo") } });
const echo = () => testHost({ echo: (event) => ({ body: JSON.stringify(event["body"]) }) });

describe("HTTP/1.1", () => {
  it("keeps a connection for the next request", async () => {
    await withGateway(graph, echo(), async (origin) => {
      const first = "GET /v2/echo HTTP/1.1\r\nHost: a\r\n\r\n";
      const received = await wire(origin, first + first.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
      expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
    });
  });

  it.each([
    ["no HTTP", "hello\r\n\r\n"],
    ["no Host", "GET /v2/echo HTTP/1.1\r\n\r\n"],
    ["a space in a header name", "GET /v2/echo HTTP/1.1\r\nHost: a\r\nX Y: 1\r\n\r\n"],
    ["two lengths", "POST /v2/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"],
    [
      "a length and chunks",
      "POST /v2/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
  ])("answers a plain 400 to %s and closes the connection", async (_, text) => {
    const host = echo();
    await withGateway(graph, host, async (origin) => {
      expect(await wire(origin, text)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    });
    expect(eventsOf(host, "echo")).toEqual([]);
  });

  it.each(["/v2/echo?a={b}", "/v2/echo?a=b|c", '/v2/ec"ho', "/v2/echo/%zz", "/v2/echo?a=%2", "/v2/echo#x", "*"])(
    "answers 400 to the target %s",
    async (target) => {
      await withGateway(graph, echo(), async (origin) => {
        const received = await wire(origin, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
        expect(received).toMatch(/^HTTP\/1\.1 400 /);
      });
    },
  );

  it("takes a target in absolute form", async () => {
    await withGateway(graph, echo(), async (origin) => {
      const text = "GET http://elsewhere/v2/echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
      expect(await wire(origin, text)).toMatch(/^HTTP\/1\.1 200 /);
    });
  });

  it.each([
    ["gzip", gzipSync],
    ["GZIP", gzipSync],
    ["deflate", deflateSync],
    ["identity", Buffer.from],
  ] as const)("gives the function the body without its coding %s", async (coding, encode) => {
    await withGateway(graph, echo(), async (origin) => {
      const headers: [string, string][] = [["Content-Encoding", coding]];
      const body = encode(Buffer.from('{"amount":"1.00"}'));
      const answer = await ask(origin, "/v2/echo", { method: "POST", headers, body });
      expect([answer.status, answer.json()]).toEqual([200, '{"amount":"1.00"}']);
      expect((await ask(origin, "/v2/echo", { method: "POST", headers })).status).toBe(200);
    });
  });

  it.each([
    ["a coding that is not known", "br", gzipSync("{}")],
    ["two codings", "gzip, gzip", gzipSync(gzipSync("{}"))],
    ["a body that has another one", "gzip", deflateSync("{}")],
    ["a body that has none", "gzip", Buffer.from("{}")],
    ["a body that is cut off", "gzip", gzipSync("a".repeat(100)).subarray(0, 20)],
  ])("answers 415 to %s, and no function sees it", async (_, coding, body) => {
    const host = echo();
    await withGateway(graph, host, async (origin) => {
      const headers: [string, string][] = [["Content-Encoding", coding]];
      const answer = await ask(origin, "/v2/echo", { method: "POST", headers, body });
      expect([answer.status, answer.json()]).toEqual([415, { message: "Unsupported Media Type" }]);
    });
    expect(eventsOf(host, "echo")).toEqual([]);
  });

  it("counts the bytes of a body without its coding, up to 10 MB", async () => {
    const host = echo();
    await withGateway(graph, host, async (origin) => {
      const headers: [string, string][] = [["Content-Encoding", "gzip"]];
      const body = gzipSync(Buffer.alloc(10 * 1024 * 1024 + 1, "a"));
      expect(body.length).toBeLessThan(20_000);
      const answer = await ask(origin, "/v2/echo", { method: "POST", headers, body });
      expect([answer.status, answer.json()]).toEqual([413, { message: "Request Too Long" }]);
    });
    expect(eventsOf(host, "echo")).toEqual([]);
  });

  it("takes header lines up to 10,240 bytes together and refuses more with 431", async () => {
    const others = "Host: api.test\r\nConnection: close\r\nX: \r\n".length;
    await withGateway(graph, echo(), async (origin) => {
      const sized = (bytes: number) => ask(origin, "/v2/echo", { headers: [["X", "a".repeat(bytes - others)]] });
      expect((await sized(10_240)).status).toBe(200);
      const refused = await sized(10_241);
      expect([refused.status, refused.json()]).toEqual([431, { message: "Request Header Fields Too Large" }]);
      expect((await sized(100_000)).status).toBe(431);
    });
  });

  it("refuses a target over 10,240 characters with 414", async () => {
    await withGateway(graph, echo(), async (origin) => {
      expect((await ask(origin, `/v2/echo?a=${"x".repeat(10_240)}`)).status).toBe(414);
    });
  });

  it("takes the body after Expect: 100-continue", async () => {
    await withGateway(graph, echo(), async (origin) => {
      const head = "POST /v2/echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n";
      const received = await wire(origin, `${head}Connection: close\r\n\r\nhi`);
      expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
      expect(received).toContain('"hi"');
    });
  });
});

describe("payload limit", () => {
  const limit = 10 * 1024 * 1024;
  const configured = resource("large", "GatewayResponse", {
    RestApiId: "api",
    ResponseType: "REQUEST_TOO_LARGE",
    StatusCode: "499",
  });

  it("answers 413 to a body over 10 MB, and no gateway response changes that", async () => {
    const host = echo();
    await withGateway([...graph, configured], host, async (origin) => {
      const answer = await ask(origin, "/v2/echo", { method: "POST", body: Buffer.alloc(limit + 1, "a") });
      expect([answer.status, answer.json()]).toEqual([413, { message: "Request Too Long" }]);
      expect(answer.header("x-amzn-errortype")).toBe("RequestTooLargeException");
    });
    expect(eventsOf(host, "echo")).toEqual([]);
  });

  it("says so before the body when the caller asks with Expect", async () => {
    await withGateway(graph, echo(), async (origin) => {
      const head = `POST /v2/echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${limit + 1}\r\n\r\n`;
      const received = await wire(origin, head);
      expect(received).toMatch(/^HTTP\/1\.1 413 /);
      expect(received).toContain("Connection: close\r\n");
    });
  });

  it("counts the bytes of a body that comes in chunks", async () => {
    await withGateway(graph, echo(), async (origin) => {
      const chunk = "a".repeat(1024 * 1024);
      const chunks = `100000\r\n${chunk}\r\n`.repeat(11);
      const head = "POST /v2/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
      const received = await wire(origin, `${head}${chunks}0\r\n\r\n`);
      expect(received).toMatch(/^HTTP\/1\.1 413 /);
      expect(received).toContain("Connection: close\r\n");
    });
  });

  it("answers 413 to a body whose event is more than a function takes", async () => {
    const host = echo();
    await withGateway(graph, host, async (origin) => {
      const answer = await ask(origin, "/v2/echo", { method: "POST", body: Buffer.alloc(6_291_556, "a") });
      expect(answer.status).toBe(413);
    });
    expect(eventsOf(host, "echo")).toEqual([]);
  });
});
