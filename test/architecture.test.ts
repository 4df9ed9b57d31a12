import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { routes } from "../shared/routes/index.ts";
import { importDirection } from "./support/rules/architecture-layers.ts";
import {
  boundsInOnePlace,
  browserSafety,
  docstrings,
  eventSourceFunctions,
  expressionsInTable,
  functionLength,
  handlerLength,
  lineLength,
  names,
  noLeftovers,
  noMachinePaths,
  purity,
  rules,
  sandboxApart,
  strangersAtRoot,
  unknownDecisions,
  unmatchedFunctions,
} from "./support/rules/architecture-rules.ts";
import { circlesOverFolders, faultsOfRooms } from "./support/rules/rooms.ts";
import type { Rule, SourceFile } from "./support/rules/source-file.ts";
import { sourceText } from "./support/rules/source-text.ts";

const root = new URL("../", import.meta.url);

/** Output of tools that git ignores. */
const generated = new Set(["node_modules", "cdk.out", ".build", ".local", ".git"]);
const textual = /(?:\.(?:tsx?|mjs|css|md|json|sh)|\/run|\/LICENSE|\/\.gitignore)$/;

function pathsUnder(folder: string): string[] {
  return readdirSync(new URL(folder, root), { withFileTypes: true }).flatMap((entry) => {
    if (generated.has(entry.name)) return [];
    return entry.isDirectory() ? pathsUnder(`${folder}${entry.name}/`) : [`${folder}${entry.name}`];
  });
}

function read(path: string): SourceFile {
  return { path, text: readFileSync(new URL(path, root), "utf8") };
}

const topLevel = readdirSync(root, { withFileTypes: true }).filter((entry) => !generated.has(entry.name));
const paths = topLevel.flatMap((entry) => (entry.isDirectory() ? pathsUnder(`${entry.name}/`) : [entry.name]));
const writtenByTools = new Set([
  "package-lock.json",
  "shared/openapi/openapi.json",
  "shared/openapi/stream/asyncapi.json",
]);
const writtenByHand = paths.filter((path) => textual.test(`/${path}`) && !writtenByTools.has(path));

const files = writtenByHand.map(read);

describe("the repository", () => {
  it.each(Object.entries(rules))("keeps the rule %s in every file", (_, rule) => {
    const found = files.flatMap((file) => rule(file).map((sentence) => `${file.path}: ${sentence}`));
    expect(found).toEqual([]);
  });

  const sources = files.filter(({ path }) => /^(?:shared|functions|infra)\/.*\.(?:tsx?|mjs)$/.test(path));

  it("has no circle of files over two folders, types included", () => {
    expect(circlesOverFolders(sources)).toEqual([]);
  });

  it("has rooms of the domain that import those below them, and others for a reason that is named", () => {
    expect(faultsOfRooms(sources)).toEqual([]);
  });

  it("has nothing at its root but what is prescribed", () => {
    expect(strangersAtRoot(topLevel.map((entry) => entry.name))).toEqual([]);
  });

  it("has a page for every decision that it names, and a line of the index for every page", () => {
    expect(unknownDecisions(files)).toEqual([]);
  });

  it("has a file for every row of the route table, and a row or an event source for every function", () => {
    const functionFiles = paths.filter((path) => path.startsWith("functions/") && path.endsWith(".ts"));
    const rowFiles = routes.map((row) => row.file);
    expect(unmatchedFunctions(rowFiles, functionFiles)).toEqual([]);
  });
});

/** A rule, the path and text of a file that breaks it, and a file close to it that does not. */
type Planted = readonly [rule: Rule, path: string, bad: string, good: string];

const longBody = (lines: number) => "  work();\n".repeat(lines);
const toDo = "TO" + "DO";

const planted: Record<string, Planted> = {
  "a part of the component library that injects styles": [
    browserSafety,
    "infra/dashboard/app/a.tsx",
    'import { Button, Grid } from "@mantine/core";\n',
    'import { Button } from "@mantine/core";\n// Grid injects styles.\n',
  ],
  "markup from a text": [
    browserSafety,
    "infra/dashboard/app/a.tsx",
    "const a = <p dangerouslySetInnerHTML={{ __html: b }} />;\n",
    "const a = <p>{b}</p>;\n",
  ],
  "a token in localStorage": [
    browserSafety,
    "infra/dashboard/app/session/a.ts",
    'localStorage.setItem("token", token);\n',
    'sessionStorage.setItem("brokerage", id);\n',
  ],
  "a schema that imports the data layer": [
    importDirection,
    "shared/schema/a.ts",
    'import { get } from "../data/store.ts";\n',
    'import { limits } from "../limits.ts";\n',
  ],
  "a domain file that imports a schema's value": [
    importDirection,
    "shared/domain/a.ts",
    'import { type A, Currency } from "../schema/fields.ts";\n',
    'import {\n  type A,\n  type B,\n} from "../schema/fields.ts";\nimport type { C } from "../schema/c.ts";\n',
  ],
  "a domain file that imports the clock": [
    importDirection,
    "shared/domain/a.ts",
    'import { now } from "../runtime/clock.ts";\n',
    'import { b } from "./b.ts";\n',
  ],
  "a data file that re-exports from http": [
    importDirection,
    "shared/table/a.ts",
    'export { b } from "../http/b.ts";\n',
    'export { b } from "./b.ts";\n',
  ],
  "a runtime file that imports anything of ours": [
    importDirection,
    "shared/runtime/a.ts",
    'import type { B } from "../schema/b.ts";\n',
    'import { randomUUID } from "node:crypto";\n',
  ],
  "a command of DynamoDB outside the table layer": [
    expressionsInTable,
    "shared/trading/a.ts",
    'import { PutCommand } from "@aws-sdk/lib-dynamodb";\n',
    '// "@aws-sdk/lib-dynamodb"\nimport { putItem } from "../table/items.ts";\n',
  ],
  "an expression of DynamoDB in a feature": [
    expressionsInTable,
    "shared/webhooks/a.ts",
    'const change = { ConditionExpression: "wake_at = :before" };\n',
    "// A ConditionExpression.\nconst change = { when: isStill({ wake_at }) };\n",
  ],
  "a rule of production that imports the sandbox": [
    sandboxApart,
    "shared/domain/money/transaction.ts",
    'import { withProvider } from "../sandbox/provider.ts";\n',
    'import type { Reset } from "../sandbox/reset.ts";\n',
  ],
  "a bound beside its use": [
    boundsInOnePlace,
    "shared/oauth/a.ts",
    "const cachedForMs = 300_000;\n",
    "const cachedForMs = limits.token.known_key_seconds * 1000;\n",
  ],
  "limits that import": [importDirection, "shared/limits.ts", 'import { a } from "./schema/a.ts";\n', "export {};\n"],
  "oauth that imports http": [
    importDirection,
    "shared/oauth/a.ts",
    'import { b } from "../http/b.ts";\n',
    'import { b } from "../table/b.ts";\n',
  ],
  "the pipeline that imports a feature": [
    importDirection,
    "shared/http/a.ts",
    'import { b } from "../trading/b.ts";\n',
    'import { b } from "../table/b.ts";\n',
  ],
  "trading that imports the sandbox": [
    importDirection,
    "shared/trading/a.ts",
    'import { b } from "../sandbox/b.ts";\n',
    'import { b } from "../http/b.ts";\n',
  ],
  "events that import their deliveries": [
    importDirection,
    "shared/events/a.ts",
    'import { b } from "../webhooks/b.ts";\n',
    'import { b } from "../table/b.ts";\n',
  ],
  "a function that imports the builder of the OpenAPI document": [
    importDirection,
    "functions/documents/openapi.ts",
    'import { buildOpenApi } from "../../shared/openapi/build.ts";\n',
    'import document from "../../shared/openapi/openapi.json" with { type: "json" };\n',
  ],
  "a function that imports another": [
    importDirection,
    "functions/clients/get.ts",
    'import { handler } from "./list.ts";\n',
    'import { getClient } from "../../shared/routes/clients.ts";\n',
  ],
  "infra that imports a function": [
    importDirection,
    "infra/stacks/a.ts",
    'const { handler } = await import("../../functions/clients/get.ts");\n',
    'const file = "../../functions/clients/get.ts";\n',
  ],
  "infra that imports the value of a schema": [
    importDirection,
    "infra/a.ts",
    'import { scopes } from "../shared/schema/scope.ts";\n',
    'import type { A } from "../shared/schema/scope.ts";\nimport { b } from "../shared/table/table-shape.ts";\n',
  ],
  "shared code that imports a test": [
    importDirection,
    "shared/http/a.ts",
    'import "../../test/support/a.ts";\n',
    '// import "../../test/support/a.ts";\n',
  ],
  "the clock outside runtime": [purity, "shared/domain/a.ts", "const a = Date.now();\n", "// Date.now();\n"],
  "a date without an argument": [purity, "functions/a/b.ts", "const a = new Date();\n", "const a = new Date(now);\n"],
  "the high-resolution clock": [purity, "shared/http/a.ts", "performance.now();\n", 'const a = "performance.now()";\n'],
  "a random number": [purity, "shared/table/a.ts", "Math.random();\n", "Math.round(1);\n"],
  "a random id": [purity, "shared/table/a.ts", 'import { randomUUID } from "node:crypto";\n', "const uuid = 1;\n"],
  "random bytes inside a template": [
    purity,
    "shared/oauth/a.ts",
    "const a = `x${randomBytes(3)}`;\n",
    "const a = `randomBytes`;\n",
  ],
  "the environment": [purity, "functions/a/b.ts", "process.env.A;\n", "environment.a;\n"],
  "the console": [purity, "shared/http/a.ts", "console.log(1);\n", "log.info(1);\n"],
  "a long handler file": [handlerLength, "functions/a/b.ts", "a();\n".repeat(41), "a();\n".repeat(40)],
  "a long function": [
    functionLength,
    "shared/http/a.ts",
    `function a(b: string): { c: number } {\n${longBody(69)}}\n`,
    `function a(b: string): { c: number } {\n${longBody(68)}}\nif (b) {\n${longBody(80)}}\n`,
  ],
  "a long arrow function": [
    functionLength,
    "infra/a.ts",
    `const a = async (b = f(1)): Promise<void> => {\n${longBody(69)}};\n`,
    `const a = (b: { c: string }) => ({\n${longBody(10)}});\nconst list = [\n${longBody(80)}];\n`,
  ],
  "a long method": [
    functionLength,
    "infra/a.ts",
    `class A {\n  b(c: string) {\n    const brace = "}";\n${longBody(69)}  }\n}\n`,
    `class A {\n  b() {}\n${longBody(80)}}\n`,
  ],
  "a long line": [lineLength, "shared/a.ts", `${"a".repeat(121)}\n`, `${"a".repeat(120)}\n`],
  "work left behind": [noLeftovers, "README.md", `Some day. ${toDo}: more.\n`, "Some day.\n"],
  "a machine's path": [
    noMachinePaths,
    "infra/a.ts",
    `const a = "/${"home"}/ana/a";\n`,
    'const a = "/clients/home/a";\n',
  ],
  "an exported thing without a docstring": [
    docstrings,
    "shared/a.ts",
    "/** What the module is. */\nimport a from 'a';\nexport const b = a;\n",
    "/** What b is. */\n// @__NO_SIDE_EFFECTS__\nexport function b() {}\n\n/** C. */\nexport interface C {}\n",
  ],
};

describe("the rules catch", () => {
  it.each(Object.entries(planted))("%s", (_, [rule, path, bad, good]) => {
    expect(rule({ path, text: bad })).toHaveLength(1);
    expect(rule({ path, text: good })).toEqual([]);
  });

  it.each([
    "shared/helpers/money.ts",
    "shared/http/strict-json-utils.ts",
    "test/support/common.ts",
    "infra/misc.ts",
    "shared/http/strictJson.ts",
    "shared/http/Strict.ts",
    "shared/http/strict_json.ts",
  ])("the name %s", (path) => {
    expect(names({ path, text: "" })).toHaveLength(1);
  });

  it.each([
    "shared/http/strict-json.ts",
    "test/http/openapi.test.ts",
    "shared/decisions/0001-route-table.md",
    ".ci/run",
  ])("no fault in the name %s", (path) => {
    expect(names({ path, text: "" })).toEqual([]);
  });

  it("a circle of files over two folders, and prints the names that tie it", () => {
    const one = { path: "shared/domain/money/a.ts", text: 'import { type B, b } from "../trading/b.ts";\n' };
    const other = (path: string) => ({ path, text: 'import type { A } from "../money/a.ts";\n' });
    expect(circlesOverFolders([one, other("shared/domain/trading/b.ts")])).toEqual([
      "shared/domain/money/a.ts takes B, b from shared/domain/trading/b.ts\n" +
        "shared/domain/trading/b.ts takes A from shared/domain/money/a.ts",
    ]);
    expect(circlesOverFolders([one, other("shared/domain/trading/c.ts")])).toEqual([]);
  });

  it("a room of the domain that imports one above it without a reason, a reason without an import, and no room", () => {
    const file = { path: "shared/domain/money/a.ts", text: 'import type { B } from "../trading/b.ts";\n' };
    const files = [file, { path: "shared/domain/trading/b.ts", text: "export interface B {}\n" }];
    expect(faultsOfRooms(files, {})).toEqual([
      "shared/domain/money/a.ts takes B from shared/domain/trading/b.ts, which is in a room above",
    ]);
    expect(faultsOfRooms(files, { "money -> trading": "Prices." })).toEqual([]);
    expect(faultsOfRooms([], { "money -> trading": "Prices." })).toEqual([
      "money -> trading has a reason and no import",
    ]);
    expect(faultsOfRooms([{ path: "shared/domain/a.ts", text: "export {};\n" }], {})).toEqual([
      "shared/domain/a.ts is in no room",
    ]);
    const reasons = Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`room ${n}`, "Reason."]));
    expect(faultsOfRooms([], reasons)).toContain("6 arrows lead up, more than 5");
  });

  it("a stranger at the root", () => {
    expect(strangersAtRoot(["infra", ".npmrc", "scripts", "LICENSE"])).toEqual(["scripts"]);
  });

  it("a decision without a page and a page without a line of the index", () => {
    const named = (number: string) => ({ path: "shared/a.ts", text: `/** As decided (ADR\n * ${number}). */\n` });
    const page = { path: "shared/decisions/0001-route-table.md", text: "# 0001: One route table\n" };
    const index = { path: "shared/decisions/README.md", text: "- [0001](0001-route-table.md): rows\n" };
    expect(unknownDecisions([page, index, named("0001")])).toEqual([]);
    expect(unknownDecisions([page, index, named("0002")])).toEqual([
      "shared/a.ts names the decision 0002, which has no page in shared/decisions",
    ]);
    expect(unknownDecisions([page, { ...index, text: "# Decisions\n" }])).toEqual([
      "shared/decisions/README.md does not list 0001-route-table.md",
    ]);
  });

  it("a row without a file and a function without a row", () => {
    const others = eventSourceFunctions.map((file) => `functions/${file}.ts`);
    const found = unmatchedFunctions(
      ["clients/get", "clients/list"],
      [...others, "functions/clients/get.ts", "functions/a/b.ts"],
    );
    expect(found).toEqual([
      "functions/clients/list.ts does not exist",
      "functions/a/b.ts has no row and no event source",
    ]);
  });
});

describe("the reader of source texts", () => {
  it.each([
    ["a // b\nc", "a     \nc"],
    ["a /* b\nc */ d", "a     \n     d"],
    ['a("b\\"c // d") // e', "a(           )     "],
    ["`a${b(`c`)}d` + e", "    b(   )    + e"],
    ["x = /[/'\"]/.test(y) // z", "x =        .test(y)     "],
    ["a / b / c", "a / b / c"],
    ["`a${{ b: 1 }}c`", "    { b: 1 }   "],
  ])("blanks everything but code in %j", (raw, code) => {
    expect(sourceText(raw).code).toBe(code);
    expect(sourceText(raw).code).toHaveLength(raw.length);
  });
});
