import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { counts, type Phrase, phrases, phrasesIn, tolerated } from "./support/rules/phrases.ts";

const root = new URL("../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

/** Files that quote the phrases. */
const quoting = new Set(["test/support/rules/phrases.ts", "test/language.test.ts"]);

function filesUnder(folder: string, ending: RegExp): string[] {
  const entries = readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" });
  return entries.map((entry) => `${folder}/${entry}`).filter((path) => ending.test(path) && !quoting.has(path));
}

const readmes = [
  "README.md",
  ...["functions", "infra", "shared", "test"].flatMap((one) => filesUnder(one, /README\.md$/)),
];

/** Sentences that the document publishes: descriptions, summaries and titles. */
function publishedSentences(): string[] {
  const sentences = new Set<string>();
  JSON.parse(read("shared/openapi/openapi.json"), (key, value) => {
    if (["description", "summary", "title", "detail"].includes(key) && typeof value === "string") sentences.add(value);
    return value;
  });
  return [...sentences];
}

/** Messages of log lines, as they are written in the sources. */
function logMessages(): string[] {
  const sources = ["shared", "functions"].flatMap((folder) => filesUnder(folder, /\.ts$/)).map(read);
  return sources.flatMap((text) => [...text.matchAll(/\blog\.\w+\(\s*"([^"]*)"/g)].map(([, message = ""]) => message));
}

function isTolerated(phrase: Phrase, around: string): boolean {
  return tolerated.some((one) => one.phrase === phrase.name && around.includes(one.sentence));
}

/** Faults of a published text, in sentences. */
function faultsIn(text: string): string[] {
  const found = phrasesIn(text).filter(({ phrase, around }) => !isTolerated(phrase, around));
  return found.map(({ phrase, around }) => `"${phrase.name}" in "…${around}…"; write: ${phrase.instead}`);
}

describe("published text has no phrase of test/support/rules/phrases.ts", () => {
  it.each([...readmes, "CHANGELOG.md", "CONTRIBUTING.md"])("%s", (path) => {
    expect(faultsIn(read(path))).toEqual([]);
  });

  it("the OpenAPI document", () => {
    const sentences = publishedSentences();
    expect(sentences.length).toBeGreaterThan(500);
    expect(sentences.flatMap(faultsIn)).toEqual([]);
  });

  it("log messages", () => {
    const messages = logMessages();
    expect(messages.length).toBeGreaterThan(20);
    expect(messages.flatMap(faultsIn)).toEqual([]);
  });

  it.each([
    ["nobody", "A request of nobody is answered first."],
    ["told", "The price stays until it is told another."],
    ["he", "Return what the caller may get, and what he sent."],
    ["anew", "The table is made anew."],
    ["in the eyes of", "It is valid in the eyes of a validator."],
  ])("a sentence with %s is found", (name, planted) => {
    expect(faultsIn(planted)).toEqual([expect.stringContaining(`"${name}" in`)]);
  });
});

describe("comments name their subject", () => {
  const clause = /^ *(?:\/\/|\/\*\*|\*)(?:.*[.:;])? Wh(?:at|ich|o|om|ose)\b.*/gm;

  it.each(["functions", "infra", "shared", "test"])("in %s no sentence begins with What, Which or Who", (folder) => {
    const found = filesUnder(folder, /\.(?:tsx?|mjs)$/).flatMap((path) => read(path).match(clause) ?? []);
    expect(found, 'Write: "The rest goes to the queue", not "What is left goes to the queue"').toEqual([]);
  });

  it("a clause in their place is found", () => {
    const planted = [
      "// What is left goes on.",
      "  /** Which prices these are. */",
      " * One is left. Whose it is decides.",
    ];
    expect(planted.join("\n").match(clause)).toEqual(planted);
  });
});

describe.each(Object.entries(counts))("the files of %s", (folder, allowed) => {
  const ending = folder === "shared/decisions" ? /\.md$/ : /\.(?:ts|mjs)$/;
  const texts = filesUnder(folder, ending).map(read);

  it.each(phrases.map((phrase) => [phrase.name, phrase] as const))("have no more of %s than before", (name, phrase) => {
    const count = texts.reduce((sum, text) => sum + [...text.matchAll(phrase.pattern)].length, 0);
    expect(count, `Write instead: ${phrase.instead}`).toBeLessThanOrEqual(allowed[name] ?? 0);
  });
});
