import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EdgeFunction, edgeValues } from "../../../infra/local/distribution/edge-function.ts";

const code = readFileSync(new URL("../../../infra/edge/single-page.js", import.meta.url), "utf8");
const empty = { method: "GET", querystring: {}, headers: {}, cookies: {} };

describe("the function at the edge of the dashboard", () => {
  const edge = new EdgeFunction(code);

  it.each([
    ...["/", "", "/approvals", "/settings/api/", "/accounts/acc_01JD0000000000000000000002", "/symbols/BRK.B"],
    ...["/symbols/EURUSD.x", "/events/evt_1/payload.json", "/signed-in", "/assets", "/assets/", "//evil.example/a.js"],
    ...["/.well-known/x", "/..", "/%2e%2e/secret", "/clients/ana@example.com", "/v2", "/ASSETS/main.js", "/a.b/c"],
  ])("answers %s by the page of the application", (uri) => {
    expect(edge.run({ ...empty, uri }, "127.0.0.1")).toEqual({ ...empty, uri: "/index.html" });
  });

  it.each(["/index.html", "/config.json", "/robots.txt", "/favicon.ico", "/assets/main-A1B2C3D4.js", "/assets/a/b"])(
    "leaves the file %s to the bucket",
    (uri) => {
      const querystring = edgeValues([["v", "1"]]);
      expect(edge.run({ ...empty, uri, querystring }, "::1")).toEqual({ ...empty, uri, querystring });
    },
  );

  it("fits into the 10 KB that CloudFront takes", () => {
    expect(Buffer.byteLength(code)).toBeLessThan(10_240);
  });
});

describe("a function at the edge", () => {
  const run = (body: string) =>
    new EdgeFunction(`function handler(event) { ${body} }`).run({ ...empty, uri: "/" }, "192.0.2.1");

  it("sees the viewer and the request, and nothing of this process or of a run before", () => {
    expect(run("return { uri: event.viewer.ip + event.version + event.context.eventType };").uri).toBe(
      "192.0.2.11.0viewer-request",
    );
    expect(run("return { uri: [typeof process, typeof require, typeof fetch].join() };").uri).toBe(
      "undefined,undefined,undefined",
    );
    const counting = new EdgeFunction("var n = 0; function handler(event) { n += 1; return { uri: String(n) }; }");
    expect([1, 2].map(() => counting.run({ ...empty, uri: "/" }, "::1").uri)).toEqual(["1", "1"]);
  });

  it("fails where it returns nothing, throws or is no script", () => {
    expect(() => run("")).toThrow("neither request nor response");
    expect(() => run("throw new Error('no');")).toThrow("no");
    expect(() => new EdgeFunction("import x from 'y';")).toThrow(SyntaxError);
  });

  it("gets several values of a name together", () => {
    const values = [
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ] as const;
    expect(edgeValues(values)).toEqual({
      a: { value: "3", multiValue: [{ value: "1" }, { value: "3" }] },
      b: { value: "2" },
    });
  });
});
