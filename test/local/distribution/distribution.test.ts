import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readDistribution } from "../../../infra/local/distribution/model.ts";
import { DistributionServer } from "../../../infra/local/distribution/server.ts";
import { listenOn } from "../../../infra/local/free-port.ts";
import type { Resource } from "../../../infra/local/template/assembly.ts";
import { behavior, origins, resource, template } from "./fixture.ts";

/** A request as the API got it. */
interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly address: string | undefined;
  readonly body: string;
}

const seen: Seen[] = [];
let api: Server;
let apiOrigin: string;
let server: DistributionServer;
let origin: string;

const files = new Map([
  ["index.html", "<!doctype html>"],
  ["assets/a b.js", "1"],
]);

function object(bucket: string, key: string) {
  const found = bucket === "files" ? files.get(key) : undefined;
  if (found === undefined) return undefined;
  const headers = {
    ...{ "content-type": "text/html", "cache-control": "no-cache", etag: '"1"', "x-amz-request-id": "1" },
    "strict-transport-security": "max-age=1",
  };
  return { headers, body: Buffer.from(found) };
}

function served(resources: readonly Resource[]): DistributionServer {
  const model = readDistribution(resources);
  if (model === undefined) throw new Error("The template has no distribution.");
  const localized = (text: string) =>
    text
      .replace("https://api.execute-api.eu-west-1.amazonaws.com", apiOrigin)
      .replace("https://pool.example", "http://pool");
  return new DistributionServer(model, { object, localized, edgeAddress: "127.0.0.2" });
}

beforeAll(async () => {
  api = createServer(async (message, response) => {
    let body = "";
    for await (const chunk of message) body += String(chunk);
    const { method, url, headers, socket } = message;
    seen.push({ method, url, headers, address: socket.remoteAddress, body });
    response.writeHead(404, { "Content-Type": "application/problem+json", "X-Twice": ["1", "2"] }).end("{}");
  });
  apiOrigin = `http://127.0.0.1:${await listenOn(api, 0)}`;
  server = served(template());
  origin = await server.start(0);
});
afterAll(async () => {
  await server?.stop();
  api?.close();
});

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
  readonly from?: string;
}

/** Sends exactly this path and these headers, from an address of the loopback. */
function send(path: string, { method = "GET", headers = {}, body, from = "127.0.0.5" }: Sent = {}) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(origin);
    const sent = request({ hostname, port, path, method, headers, localAddress: from }, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function passed(path: string, sent: Sent = {}): Promise<Seen> {
  seen.length = 0;
  await send(path, sent);
  const [only, second] = seen;
  if (only === undefined || second !== undefined) throw new Error(`The API got ${seen.length} requests.`);
  return only;
}

describe("a distribution", () => {
  it("answers from the bucket with the headers of its policy, and with none of the bucket's own", async () => {
    const { status, headers, text } = await send("/?x=1");
    expect([status, text]).toEqual([200, "<!doctype html>"]);
    expect(headers).toMatchObject({
      "content-type": "text/html",
      "cache-control": "no-cache",
      "content-security-policy": "connect-src 'self' http://pool",
      "x-content-type-options": "nosniff",
      "permissions-policy": "camera=()",
      "strict-transport-security": "max-age=60; includeSubDomains",
    });
    expect(headers).not.toHaveProperty("x-amz-request-id");
    expect((await send("/assets/a%20b.js")).text).toBe("1");
  });

  it("shows no more than a 403 of what the bucket does not have, and takes reads alone", async () => {
    for (const path of ["/assets/none.js", "/nothing", "/%E0%A4%A", "/../index.html", "/v2"]) {
      const { status, headers, text } = await send(path);
      expect([path, status, text.includes("AccessDenied")]).toEqual([path, 403, true]);
      expect(headers["content-security-policy"]).toBeDefined();
    }
    expect((await send("/", { method: "POST" })).status).toBe(403);
    expect(await send("/", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    expect((await send("/", { headers: { "If-None-Match": '"1"' } })).status).toBe(304);
  });

  it("hands what its path pattern matches to the API as it came, and the answer back as it is", async () => {
    const sent = { method: "PATCH", body: '{"a":1}', headers: { Authorization: "Bearer x", "Content-Type": "a/b" } };
    const { method, url, headers, body } = await passed("/v2/clients/%7Bx%7D?a=1&a=%20", sent);
    expect([method, url, body]).toEqual(["PATCH", "/v2/clients/%7Bx%7D?a=1&a=%20", '{"a":1}']);
    expect(headers).toMatchObject({ authorization: "Bearer x", "content-type": "a/b" });
    expect(headers.host).toBe("api.execute-api.eu-west-1.amazonaws.com");
    const answer = await send("/v2/nothing");
    expect([answer.status, answer.text, answer.headers["x-twice"]]).toEqual([404, "{}", "1, 2"]);
    expect(answer.headers).not.toHaveProperty("content-security-policy");
  });

  it("names the viewer behind what it claims to forward, and shows its secret in the place of any other", async () => {
    const forged = { "X-Forwarded-For": "192.0.2.1, 192.0.2.2", "x-origin-verify": "guessed" };
    const { headers, address } = await passed("/v2/me", { headers: forged });
    expect(headers["x-forwarded-for"]).toBe("192.0.2.1, 192.0.2.2, 127.0.0.5");
    expect(headers["x-origin-verify"]).toBe("secret");
    expect(address).toBe("127.0.0.2");
    const twice = await passed("/v2/me", {
      headers: { "X-Forwarded-For": ["192.0.2.1", "192.0.2.2"] },
      from: "127.0.0.6",
    });
    expect(twice.headers["x-forwarded-for"]).toBe("192.0.2.1, 192.0.2.2, 127.0.0.6");
    expect((await passed("/v2/me")).headers["x-forwarded-for"]).toBe("127.0.0.5");
  });

  it("takes the first behaviour whose pattern matches, in their order", () => {
    const ordered = ["/v2/*", "v3*", "*.js"].map((PathPattern) => ({ ...behavior.api, PathPattern }));
    const model = readDistribution(template({ config: { CacheBehaviors: ordered } }));
    const first = (path: string) => model?.behaviors.findIndex(({ matches }) => matches(path));
    const paths = ["/v2/me", "/v2/", "/v2/x.js", "/V2/me", "/v3/x.js", "/v2", "/a/b.js", "/xjs", "/"];
    expect(paths.map(first)).toEqual([0, 0, 0, 3, 1, 3, 2, 3, 3]);
  });

  it("answers 502 where the API is gone", async () => {
    const gone = served(template({ config: { Origins: [origins[0], { ...origins[1], DomainName: "127.0.0.1:1" }] } }));
    const address = await gone.start(0);
    expect((await fetch(`${address}/v2/me`)).status).toBe(502);
    await gone.stop();
  });
});

describe("a template whose distribution does what the runner does not", () => {
  const strange: readonly (readonly [string, Parameters<typeof template>[0], string])[] = [
    ["a web ACL", { config: { WebACLId: "acl" } }, "stack/distribution: DistributionConfig.WebACLId"],
    ["error pages", { config: { CustomErrorResponses: [{ ErrorCode: 404 }] } }, "CustomErrorResponses"],
    [
      "an origin over http",
      { config: { Origins: [{ ...origins[1], CustomOriginConfig: { OriginProtocolPolicy: "http-only" } }] } },
      "OriginProtocolPolicy",
    ],
    ["an origin path", { config: { Origins: [{ ...origins[0], OriginPath: "/x" }] } }, "OriginPath"],
    ["a bucket of another stack", { config: { Origins: [{ ...origins[0], DomainName: "other" }] } }, "is no bucket"],
    ["a bucket that refuses", { config: { Origins: [{ ...origins[0], OriginAccessControlId: "x" }] } }, "would refuse"],
    [
      "another cache",
      { config: { DefaultCacheBehavior: { ...behavior.bucket, CachePolicyId: "x" } } },
      "CachePolicyId",
    ],
    [
      "an API that is cached",
      { config: { CacheBehaviors: [{ ...behavior.api, CachePolicyId: behavior.bucket.CachePolicyId }] } },
      "CachePolicyId",
    ],
    [
      "a response function",
      {
        config: {
          DefaultCacheBehavior: {
            ...behavior.bucket,
            FunctionAssociations: [{ EventType: "viewer-response", FunctionARN: "arn:edge" }],
          },
        },
      },
      "viewer-response",
    ],
    ["an unpublished function", { function: { AutoPublish: false } }, "would not run"],
    ["another runtime", { function: { FunctionConfig: { Runtime: "cloudfront-js-1.0" } } }, "cloudfront-js-1.0"],
    ["other response headers", { headers: { CorsConfig: { AccessControlAllowCredentials: true } } }, "CorsConfig"],
    [
      "a security header of its own",
      { headers: { SecurityHeadersConfig: { XSSProtection: { Protection: true } } } },
      "XSSProtection",
    ],
    [
      "a header that lets the origin's own through",
      { headers: { SecurityHeadersConfig: { ContentTypeOptions: { Override: false } } } },
      "Override",
    ],
  ];

  it.each(strange)("is refused for %s, by name", (_, changes, message) => {
    expect(() => readDistribution(template(changes))).toThrow(message);
  });

  it("is refused for a second distribution, and no distribution is none", () => {
    const second = resource("AWS::CloudFront::Distribution", "second", {});
    expect(() => readDistribution([...template(), second])).toThrow("stack/second");
    expect(readDistribution([])).toBeUndefined();
  });
});
