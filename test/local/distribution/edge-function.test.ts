import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EdgeFunction } from "../../../infra/local/distribution/edge-function.ts";

const code = readFileSync(new URL("../../../infra/edge/single-page.js", import.meta.url), "utf8");
const get = (uri: string) => ({ method: "GET", uri });

describe("the function at the edge of the dashboard", () => {
  const edge = new EdgeFunction(code);

  it.each([
    ...["/", "", "/approvals", "/settings/api/", "/accounts/acc_01JD0000000000000000000002", "/symbols/BRK.B"],
    ...["/symbols/EURUSD.x", "/events/evt_1/payload.json", "/signed-in", "/assets", "/assets/", "//evil.example/a.js"],
    ...["/.well-known/x", "/..", "/%2e%2e/secret", "/clients/ana@example.com", "/v2", "/ASSETS/main.js", "/a.b/c"],
  ])("answers %s by the page of the application", (uri) => {
    expect(edge.run(get(uri))).toBe("/index.html");
  });

  it.each(["/index.html", "/config.json", "/robots.txt", "/favicon.ico", "/assets/main-A1B2C3D4.js", "/assets/a/b"])(
    "leaves the file %s to the bucket",
    (uri) => {
      expect(edge.run(get(uri))).toBe(uri);
    },
  );

  it("fits into the 10 KB that CloudFront takes", () => {
    expect(Buffer.byteLength(code)).toBeLessThan(10_240);
  });
});

describe("a function at the edge", () => {
  const run = (body: string) => new EdgeFunction(`function handler(event) { ${body} }`).run(get("/"));

  it("sees the path, and nothing of this process or of a run before", () => {
    expect(run("return { uri: event.version + event.context.eventType };")).toBe("1.0viewer-request");
    expect(run("return { uri: [typeof process, typeof require, typeof fetch].join() };")).toBe(
      "undefined,undefined,undefined",
    );
    const counting = new EdgeFunction("var n = 0; function handler(event) { n += 1; return { uri: String(n) }; }");
    expect([1, 2].map(() => counting.run(get("/")))).toEqual(["1", "1"]);
  });

  it("fails where it returns nothing or an answer, reads what is not known here, throws or is no script", () => {
    expect(() => run("")).toThrow("change the path only");
    expect(() => run("return { statusCode: 302, uri: '/' };")).toThrow("change the path only");
    expect(() => run("return { uri: event.request.headers.host.value };")).toThrow("undefined");
    expect(() => run("throw new Error('no');")).toThrow("no");
    expect(() => new EdgeFunction("import x from 'y';")).toThrow(SyntaxError);
  });
});
