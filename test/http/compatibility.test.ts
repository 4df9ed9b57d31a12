import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { buildOpenApi } from "../../shared/openapi/build.ts";
import { breakingChanges } from "../../shared/openapi/compatibility.ts";
import type { JsonObject, OpenApi } from "../../shared/openapi/document.ts";

const baseline = JSON.parse(
  readFileSync(new URL("../../shared/openapi/baseline.json", import.meta.url), "utf8"),
) as OpenApi;

/** The node that a JSON pointer of names leads to. */
function at(document: OpenApi, ...steps: string[]): JsonObject {
  return steps.reduce<unknown>((node, step) => (node as JsonObject)[step], document) as JsonObject;
}

const schemas = ["components", "schemas"];
const member = (document: OpenApi, component: string, name: string) =>
  at(document, ...schemas, component, "properties", name);
const parameters = (document: OpenApi) => at(document, "paths", "/clients", "get")["parameters"] as JsonObject[];

const breaks: Record<string, (document: OpenApi) => void> = {
  "an operation that is gone": (document) => delete document.paths["/clients"]?.["post"],
  "a member of an answer that is gone": (document) =>
    delete at(document, ...schemas, "TradingAccount", "properties")["balance"],
  "a member of an answer of another type": (document) =>
    Object.assign(member(document, "TradingAccount", "leverage"), { type: "string" }),
  "a member of an answer that may be missing": (document) =>
    Object.assign(at(document, ...schemas, "TradingAccount"), { required: ["id"] }),
  "a member of an answer that may be null": (document) =>
    Object.assign(member(document, "TradingAccount", "number"), { nullable: true }),
  "a member of a request that must be sent": (document) =>
    Object.assign(at(document, ...schemas, "CreateAccountRequest"), { required: ["client_id", "name"] }),
  "a member of a request that is gone": (document) =>
    delete at(document, ...schemas, "CreateAccountRequest", "properties")["name"],
  "a narrower bound of a request": (document) =>
    Object.assign(member(document, "CreateAccountRequest", "leverage"), { maximum: 500 }),
  "another pattern of a request": (document) =>
    Object.assign(member(document, "CreateAccountRequest", "number"), { pattern: "^\\d{9}$" }),
  "a word of a request that is gone": (document) =>
    Object.assign(member(document, "CreateAccountRequest", "type"), { enum: ["live"] }),
  "a word of an answer that is gone": (document) =>
    (at(document, ...schemas, "TransactionStatusValue")["x-extensible-enum"] as string[]).pop(),
  "a parameter that is gone": (document) => parameters(document).shift(),
  "a parameter that must be sent": (document) =>
    Object.assign(at(document, "components", "parameters", "limit"), { required: true }),
  "a media type that is gone": (document) =>
    delete at(document, "paths", "/clients/{id}", "patch", "requestBody", "content")["application/json"],
  "another status of success": (document) => {
    const responses = at(document, "paths", "/clients", "post", "responses");
    responses["200"] = responses["201"];
    delete responses["201"];
  },
  "a header of an answer that is gone": (document) =>
    delete at(document, "paths", "/clients", "post", "responses", "201", "headers")["Location"],
  "another scope": (document) =>
    Object.assign(at(document, "paths", "/clients", "get"), { security: [{ oauth2: ["settings:write"] }] }),
};

const additions: Record<string, (document: OpenApi) => void> = {
  "an operation": (document) => Object.assign(document.paths, { "/more": document.paths["/me"] }),
  "a member of an answer": (document) =>
    Object.assign(at(document, ...schemas, "TradingAccount", "properties"), { more: { type: "string" } }),
  "a member of a request that may be left out": (document) =>
    Object.assign(at(document, ...schemas, "CreateAccountRequest", "properties"), { more: { type: "string" } }),
  "a word of an answer": (document) =>
    (at(document, ...schemas, "EventType")["x-extensible-enum"] as string[]).push("order.filled"),
  "a wider bound of a request": (document) =>
    Object.assign(member(document, "CreateAccountRequest", "leverage"), { maximum: 2000 }),
  "an alternative of a pattern of a request": (document) =>
    Object.assign(member(document, "CreateAccountRequest", "number"), { pattern: "^\\d{8,10}$|^\\d{12}$" }),
  "a parameter that may be left out": (document) =>
    parameters(document).push({ name: "more", in: "query", required: false, schema: { type: "string" } }),
};

const current = buildOpenApi();

describe("the comparison of two documents", () => {
  it.each(Object.entries(breaks))("finds %s", (_, change) => {
    const changed = structuredClone(current);
    change(changed);
    expect(breakingChanges(current, changed)).not.toEqual([]);
  });

  it.each(Object.entries(additions))("lets %s come", (_, change) => {
    const changed = structuredClone(current);
    change(changed);
    expect(breakingChanges(current, changed)).toEqual([]);
  });
});

type Kind = "enum" | "x-extensible-enum";

/** Schemas of a document that list several values. */
function choicesIn(node: unknown, kind: Kind): JsonObject[] {
  if (typeof node !== "object" || node === null) return [];
  const words = (node as JsonObject)[kind];
  const several = Array.isArray(words) && words.filter((word) => word !== null).length > 1;
  const inner = Object.entries(node).filter(([step]) => !["example", "examples"].includes(step));
  return [...(several ? [node as JsonObject] : []), ...inner.flatMap(([, value]) => choicesIn(value, kind))];
}

/** A copy of the document in which every list of the kind has one more value, and these values. */
function planted(kind: Kind): { document: OpenApi; values: string[] } {
  const document = structuredClone(current);
  const choices = choicesIn(document, kind);
  const values = choices.map((_, place) => `planted_${place}_`);
  for (const [place, choice] of choices.entries()) (choice[kind] as string[]).push(values[place] ?? "");
  return { document, values };
}

/** Those of the values that no break names. */
const unnamed = (values: string[], breaks: string[]) => values.filter((value) => !breaks.join("\n").includes(value));

describe("every list of values", () => {
  it.each([
    ["answers", "x-extensible-enum", 100],
    ["requests", "enum", 30],
  ] as const)("of %s may have one more, and lose none", (_, kind, least) => {
    const { document, values } = planted(kind);
    expect(values.length).toBeGreaterThan(least);
    expect(breakingChanges(current, document)).toEqual([]);
    expect(unnamed(values, breakingChanges(document, current))).toEqual([]);
  });

  it("of answers is open, and may not be closed or left out", () => {
    const { document: open, values } = planted("x-extensible-enum");
    const closed = structuredClone(open);
    const silent = structuredClone(open);
    for (const choice of choicesIn(closed, "x-extensible-enum")) {
      choice["enum"] = choice["x-extensible-enum"];
      delete choice["x-extensible-enum"];
    }
    for (const choice of choicesIn(silent, "x-extensible-enum")) delete choice["x-extensible-enum"];
    expect(breakingChanges(current, current)).toEqual([]);
    expect(unnamed(values, breakingChanges(open, closed))).toEqual([]);
    expect(unnamed(values, breakingChanges(open, silent))).toEqual([]);
    expect(breakingChanges(closed, open)).toEqual([]);
  });
});

describe("the API", () => {
  it("breaks nothing that shared/openapi/baseline.json promises (CONTRIBUTING: when the baseline moves)", () => {
    expect(Object.keys(baseline.paths).length).toBeGreaterThan(10);
    expect(breakingChanges(baseline, current)).toEqual([]);
  });
});
