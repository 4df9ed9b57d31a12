import { readFileSync } from "node:fs";
import { describe, expect, inject, it } from "vitest";
import { type Grant, grantName, neverNeeded } from "../infra/local/iam/grants.ts";
import type { OpenApi } from "../shared/openapi/document.ts";
import { unseenAnswers } from "./support/rules/description.ts";
import { notesOf } from "./support/rules/notes.ts";

const document = JSON.parse(
  readFileSync(new URL("../shared/openapi/openapi.json", import.meta.url), "utf8"),
) as OpenApi;

// It runs after every other file, on what they noted; alone it has nothing to judge, and says so.
const notes = inject("notesDir");
const seen = notesOf(notes, "answers");
const grants = [...notesOf(notes, "grants")].map((line): Grant => JSON.parse(line));
const used = notesOf(notes, "grants-used");

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

describe("the grants of every function", () => {
  it("are judged on a run of the whole suite", () => {
    expect(grants.length, "no stack has run: npm test").toBeGreaterThan(1000);
  });

  it("are judged one by one: a use that the run lacks is named", () => {
    const lacking = grants.filter(({ action }) => action.startsWith("dynamodb:")).map(grantName);
    const [first = "none"] = lacking;
    const others = new Set(grants.map(grantName).filter((name) => name !== first));
    expect(neverNeeded(grants, others)).toEqual([first]);
  });

  it("are each needed by a call to some stack of this run", () => {
    expect(neverNeeded(grants, used), "function, statement and action that no call needed").toEqual([]);
  });
});
