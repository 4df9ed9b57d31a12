import { describe, expect, it } from "vitest";
import { readOAuthParameters } from "../../shared/http/oauth-parameters.ts";
import { limits } from "../../shared/limits.ts";
import { proxyEvent, type RequestParts } from "../support/emulator/request.ts";

const form = "application/x-www-form-urlencoded";
const most = limits.body.max_oauth_bytes;

function read(body: string, type = form, parts: RequestParts = {}) {
  const headers = { "Content-Type": type, ...parts.headers };
  return readOAuthParameters(proxyEvent(undefined, "POST", "/oauth/token", { body, ...parts, headers }).event);
}

const refusal = (body: string, type = form) => read(body, type).fault;

describe("a parameter of a request to an OAuth endpoint", () => {
  it.each([
    "scope=a&scope=b",
    "scope=a&scope=a",
    "scope=&scope=a",
    "scope=a&scope=",
    "scope=&scope=",
    "scope&scope=a",
    "scope=a&sc%6Fpe=b",
    "a=b&scope=a&c=d&scope=b",
  ])("is refused when it is repeated, even without a value: %s", (body) => {
    expect(refusal(body)).toEqual({ status: 400, detail: "The parameter scope is repeated." });
  });

  it.each([
    '{"scope":"a","scope":"b"}',
    '{"scope":"a","scope":"a"}',
    '{"scope":"a","sc\\u006fpe":"b"}',
    '{"scope":"","scope":"a"}',
  ])("is refused when it is a repeated member: %s", (body) => {
    expect(refusal(body, "application/json")).toEqual({ status: 400, detail: "The member #/scope is given twice." });
  });

  it("is a string, and JSON around it is an object", () => {
    expect(refusal('{"scope":1}', "application/json")?.detail).toBe("The parameter scope must be a string.");
    for (const body of ["", "{", "[]", "null", '"x"', '{"__proto__":"x"}', '{"scope":"\\ud800"}', "{} {}"]) {
      expect([body, refusal(body, "application/json")?.status]).toEqual([body, 400]);
    }
    expect(refusal("scope=a", "text/plain")?.status).toBe(400);
  });

  it("is read once, and is absent without a value", () => {
    const given = new Map([["grant_type", "a b"]]);
    expect(read("grant_type=a+b&scope=")).toEqual({ parameters: given, fault: undefined });
    const json = '{"grant_type":"a b","scope":""}';
    expect(read(json, "application/json; charset=utf-8")).toEqual({ parameters: given, fault: undefined });
  });
});

/** A form of exactly this many bytes. */
const formOf = (bytes: number) => `scope=${"x".repeat(bytes - "scope=".length)}`;

describe("the body of a request to an OAuth endpoint", () => {
  it("may have 64 KiB", () => {
    expect(most).toBe(65_536);
    expect(read(formOf(most)).parameters.get("scope")).toHaveLength(most - 6);
    const json = JSON.stringify({ scope: "x".repeat(most - 12) });
    expect([json.length, read(json, "application/json").fault]).toEqual([most, undefined]);
  });

  it.each([
    ["a form", formOf(most + 1), form],
    ["JSON", JSON.stringify({ scope: "x".repeat(most) }), "application/json"],
    // Whatever else is wrong with it would be found by parsing alone.
    ["580,000 parameters", "a=b&a=c&".repeat(290_000), form],
    ["what is not JSON", "{".repeat(most + 1), "application/json"],
    ["another type", "x".repeat(most + 1), "text/xml"],
    ["fewer characters than bytes", "é".repeat(most / 2 + 1), form],
  ])("is refused before it is parsed when it has more: %s", (_, body, type) => {
    const fault = { status: 413, detail: "The body must not exceed 65536 bytes." };
    expect(read(body, type)).toEqual({ parameters: new Map(), fault });
    expect(read(body, type, { base64: "utf8" })).toEqual({ parameters: new Map(), fault });
  });
});
