import { readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import type { OpenApi } from "../shared/openapi/document.ts";
import { answersSeen, unseenAnswers } from "./support/rules/description.ts";

const document = JSON.parse(
  readFileSync(new URL("../shared/openapi/openapi.json", import.meta.url), "utf8"),
) as OpenApi;

// It runs after every other file, on what they saw; alone it has nothing to judge, and says so.
const seen = answersSeen(inject("answersDir"));

describe("the coverage of the document", () => {
  it("misses an answer that no test saw", () => {
    const [first] = unseenAnswers(document, new Set());
    expect(first?.missing.length).toBeGreaterThan(3);
    const all = new Set(first?.missing.map((status) => `${first.operation} ${status}`));
    expect(unseenAnswers(document, all)[0]?.missing).toEqual([]);
  });

  it("is judged on a run of the whole suite", () => {
    expect(seen.size, "no other file has run: npm test").toBeGreaterThan(100);
  });
});

describe("every answer that the document promises was seen in some test", () => {
  it.each(unseenAnswers(document, seen))("of $operation", ({ operation, missing }) => {
    expect(missing, `no test of this run saw ${operation} answer ${missing.join(", ")}`).toEqual([]);
  });
});
