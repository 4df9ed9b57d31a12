import { readdirSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { covers, importDirection, importsOf } from "./architecture-layers.ts";
import type { Rule, SourceFile } from "./source-file.ts";
import { sourceText } from "./source-text.ts";

const backgroundRows = new URL("../../../infra/background/", import.meta.url);

/**
 * Files of the functions that have an event source instead of a row of the route table. Their rows are read as text:
 * they bring the CDK library, which takes longer to load than all rules to run.
 */
export const eventSourceFunctions: readonly string[] = readdirSync(backgroundRows)
  .filter((name) => name.endsWith("rows.ts"))
  .flatMap((name) => [...readFileSync(new URL(name, backgroundRows), "utf8").matchAll(/^ {4}file: "(.+)",$/gm)])
  .map(([, file = ""]) => file);

/** Entries of the root in addition to files whose names start with a dot. */
const rootEntries = [
  "infra",
  "functions",
  "shared",
  "test",
  "cdk.json",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "biome.json",
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "LICENSE",
] as const;

/** Names that say nothing about what a file holds. */
const emptyNames = new Set(["util", "utils", "helper", "helpers", "common", "commons", "misc"]);

const pages = ["LATENCY", "LOAD", "PEERS", "RESULTS", "SCALE", "STREAM"];
const capitals = ["CHANGELOG", "CONTRIBUTING", "README", ...pages];
const capitalNames = new Set(["LICENSE", ...capitals.map((name) => `${name}.md`)]);

/** Files and folders are kebab-case and named after a thing. */
export const names: Rule = ({ path }) =>
  path.split("/").flatMap((name) => {
    if (capitalNames.has(name) || name.startsWith(".")) return [];
    const said = name.split(/[.-]/).some((word) => emptyNames.has(word)) ? [`"${name}" names no thing`] : [];
    return /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/.test(name) ? said : [...said, `"${name}" is not kebab-case`];
  });

const impure: readonly (readonly [RegExp, string])[] = [
  [/\bDate\s*\.\s*now\b/, "Date.now"],
  [/\bnew\s+Date\s*(?:\(\s*\)|(?!\s*\())/, "new Date()"],
  [/(?<!new\s)(?<![\w.])Date\s*\(/, "Date()"],
  [/\bperformance\s*\.\s*now\b/, "performance.now"],
  [/\bMath\s*\.\s*random\b/, "Math.random"],
  [/\brandomUUID\b/, "randomUUID"],
  [/\brandomBytes\b/, "randomBytes"],
  [/\bgetRandomValues\b/, "getRandomValues"],
  [/\bprocess\s*\.\s*env\b/, "process.env"],
  [/\bconsole\s*\./, "console"],
];

const dynamoDbPackage = /["']@aws-sdk\/(?:client-dynamodb|lib-dynamodb|util-dynamodb)["']/g;

const dynamoDbTerms =
  /\b(?:(?:Key|Condition|Update|Projection|Filter)Expression|TableName|attribute_(?:not_)?exists|begins_with)\b/g;

/** The table layer alone knows the commands, expressions and tables of DynamoDB. */
export const expressionsInTable: Rule = ({ path, text }) => {
  if (!/^(?:shared|functions)\/.*\.ts$/.test(path) || path.startsWith("shared/table/")) return [];
  const { withoutComments } = sourceText(text);
  const packages = withoutComments.match(dynamoDbPackage) ?? [];
  const terms = new Set(withoutComments.match(dynamoDbTerms));
  return [
    ...packages.map((name) => `imports ${name.slice(1, -1)} outside shared/table/`),
    ...[...terms].map((term) => `says ${term} outside shared/table/`),
  ];
};

/** The sandbox, and the place that hands its behaviour to the rest. */
const ofTheSandbox = ["shared/sandbox/", "shared/domain/sandbox/"];

const handsTheSandboxIn = "shared/table/context.ts";

/** Code of production imports nothing of the sandbox but types: the sandbox's behaviour is handed in. */
export const sandboxApart: Rule = (file) => {
  const free = [...ofTheSandbox, handsTheSandboxIn];
  if (!file.path.startsWith("shared/") || free.some((path) => covers(path, file.path))) return [];
  return importsOf(file)
    .filter(({ target, typeOnly }) => !typeOnly && ofTheSandbox.some((path) => covers(path, target)))
    .map(({ target }) => `imports ${target}, which only the sandbox has`);
};

/** Files whose numbers are the sizes of a format or the terms of a formula, and no bound of the service. */
const ofFormats = [
  "shared/oauth/refresh-token.ts",
  "shared/runtime/service-key.ts",
  "shared/table/cursor.ts",
  "shared/domain/sandbox/walk.ts",
  ...["margin", "partial-lots", "pricing/symbol", "pricing/zone-clock"].map(
    (name) => `shared/domain/trading/${name}.ts`,
  ),
  "shared/domain/webhooks/attempt.ts",
  "shared/domain/feed/source.ts",
  "infra/constructs/alarms/alarm-rule.ts",
  "infra/constructs/alarms/alarms.ts",
  "infra/constructs/alarms/table-alarms.ts",
];

/** A bound stands in shared/limits.ts, where an operator finds it with its unit and source. */
export const boundsInOnePlace: Rule = ({ path, text }) => {
  if (
    !/^(?:shared|functions|infra\/(?:background|constructs|stacks))\/.*\.ts$/.test(path) ||
    path === "shared/limits.ts"
  )
    return [];
  if (ofFormats.some((place) => path.startsWith(place))) return [];
  const found = sourceText(text).code.matchAll(/^(?:export )?const (\w+) = \d[\d_ *]*n?;/gm);
  return [...found].map(([, name]) => `holds the bound ${name}, which belongs into shared/limits.ts`);
};

/** Clock, randomness, environment and output are reached through shared/runtime/ alone. */
export const purity: Rule = ({ path, text }) => {
  if (!/^(?:shared|functions)\/.*\.ts$/.test(path) || path.startsWith("shared/runtime/")) return [];
  const { code } = sourceText(text);
  return impure.filter(([pattern]) => pattern.test(code)).map(([, name]) => `uses ${name} outside shared/runtime/`);
};

const longestHandlerFile = 40;

/** Records in the order of their numbers. */
const recordsOfDecisions = "shared/decisions";

const longestFunction = 70;

const longestLine = 120;

function lineOf(text: string, position: number): number {
  return text.slice(0, position).split("\n").length;
}

/** A file under functions/ only loads, decides and commits. */
export const handlerLength: Rule = ({ path, text }) => {
  const lines = text.trimEnd().split("\n").length;
  const tooLong = /^functions\/.*\.ts$/.test(path) && lines > longestHandlerFile;
  return tooLong ? [`has ${lines} lines, more than ${longestHandlerFile}`] : [];
};

/** No function is longer than a screen. */
export const functionLength: Rule = ({ path, text }) => {
  if (!/^(?:shared|functions|infra)\/.*\.(?:tsx?|mjs)$/.test(path)) return [];
  const spans = path.endsWith(".tsx") ? componentSpans(text) : functionSpans(sourceText(text).code);
  return spans.flatMap(([from, to]) => {
    const lines = lineOf(text, to) - lineOf(text, from) + 1;
    return lines > longestFunction ? [`line ${lineOf(text, from)}: a function of ${lines} lines`] : [];
  });
};

/** Start and end of every function with a body in a file whose markup only a parser can tell from its code. */
function componentSpans(text: string): [from: number, to: number][] {
  const spans: [number, number][] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, start, end, body } = node as Readonly<Record<string, unknown>>;
    const isFunction = /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(String(type));
    if (isFunction && typeof start === "number" && typeof end === "number" && body !== null) spans.push([start, end]);
    for (const child of Object.values(node)) walk(child);
  };
  walk(parseSync("component.tsx", text).program);
  return spans;
}

/** Start of the head and end of the body of every function, method and arrow function with a block. */
function functionSpans(code: string): [from: number, to: number][] {
  const spans: [number, number][] = [];
  const opened: number[] = [];
  for (let at = 0; at < code.length; at += 1) {
    if (code[at] === "(") opened.push(at);
    if (code[at] !== ")") continue;
    const from = opened.pop() ?? at;
    if (/\b(?:if|for|while|switch|catch|with)\s*(?:await\s*)?$/.test(code.slice(Math.max(0, from - 20), from)))
      continue;
    const body = bodyAfter(code, at + 1);
    if (body !== undefined) spans.push([from, closingBrace(code, body)]);
  }
  // An arrow function whose one parameter has no parentheses.
  for (const match of code.matchAll(/\b\w+\s*=>\s*\{/g)) {
    const from = match.index;
    spans.push([from, closingBrace(code, from + match[0].length - 1)]);
  }
  return spans;
}

/** Where the block of a function starts whose parameters end here, past a return type and an arrow. */
function bodyAfter(code: string, start: number): number | undefined {
  let at = start + (/^\s*/.exec(code.slice(start, start + 200))?.[0].length ?? 0);
  const typed = code[at] === ":";
  if (!typed && code[at] !== "{" && !code.startsWith("=>", at)) return undefined;
  for (; at < code.length; at += 1) {
    const char = code[at];
    if (char === ";" || char === ")" || (char === "=" && code[at + 1] !== ">")) return undefined;
    if (char === "=" && code[at + 1] === ">") {
      const next = /^\s*/.exec(code.slice(at + 2, at + 200))?.[0].length ?? 0;
      return code[at + 2 + next] === "{" ? at + 2 + next : undefined;
    }
    if (char !== "{") continue;
    // A brace after one of these opens a type literal of the return type.
    if (!typed || !/[:|&<,([]\s*$/.test(code.slice(start, at))) return at;
    at = closingBrace(code, at);
  }
  return undefined;
}

function closingBrace(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === "{") depth += 1;
    if (code[at] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  return code.length - 1;
}

/** Lines fit next to each other on a screen. */
export const lineLength: Rule = ({ path, text }) =>
  /(?:\.(?:tsx?|mjs|css|sh)|\/run)$/.test(path)
    ? text
        .split("\n")
        .flatMap((line, i) => (line.length > longestLine ? [`line ${i + 1} has ${line.length} characters`] : []))
    : [];

/** Work that is still to be done stands in an issue. */
export const noLeftovers: Rule = ({ text }) => {
  const words = new RegExp(`\\b(?:${["TO", "FIX"].map((half, i) => half + ["DO", "ME"][i]).join("|")})\\b`);
  return text.split("\n").flatMap((line, i) => (words.test(line) ? [`line ${i + 1} leaves work behind`] : []));
};

/** No path of somebody's machine. */
export const noMachinePaths: Rule = ({ text }) => {
  const folders = ["home", "Users", "root", "work", "tmp", "mnt"].join("|");
  const machinePath = new RegExp(`(?:^|[\\s"'\`(=:])(?:file://)?/(?:${folders})/[\\w.-]|\\b[A-Z]:\\\\\\w`);
  return text
    .split("\n")
    .flatMap((line, i) => (machinePath.test(line) ? [`line ${i + 1} holds a path of a machine`] : []));
};

const declaration =
  /^export\s+(?:(?:default|declare|async|abstract)\s+)*(?:function\*?|const|let|class|interface|type)\s+(\w+)/gm;

/** Everything exported says in a sentence what it is. */
export const docstrings: Rule = ({ path, text }) => {
  if (!/^(?:shared|functions|infra|test\/support)\/.*\.tsx?$/.test(path)) return [];
  const { code, raw } = sourceText(text);
  return [...code.matchAll(declaration)]
    .filter((match) => !hasDocstring(raw, match.index))
    .map((match) => `line ${lineOf(raw, match.index)}: ${match[1]} is exported without a docstring`);
};

function hasDocstring(raw: string, position: number): boolean {
  const before = raw.slice(0, position).trimEnd().split("\n");
  while (before.at(-1)?.trim().startsWith("//")) before.pop();
  const text = before.join("\n").trimEnd();
  const start = text.lastIndexOf("/**");
  return text.endsWith("*/") && start >= 0 && text.indexOf("*/", start) === text.length - 2;
}

/** Parts of the component library that inject styles, which a browser refuses under the content security policy. */
const injecting = ["AppShell", "Grid", "SimpleGrid", "Flex", "ActionBar", "ColorSchemeScript", "Drawer", "Menu"];

const unsafeInBrowser: readonly (readonly [RegExp, string])[] = [
  [/\bdangerouslySetInnerHTML\b/, "sets markup"],
  [/\.(?:inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdocument\.write\b/, "sets markup"],
  [/\blocalStorage\b/, "keeps something in localStorage"],
  [/\b(?:parseFloat|Number\.parseFloat)\b/, "takes a decimal for a float"],
  [/<style\b/, "has a style element"],
];

/** The theme and the last brokerage of a person are all that a device remembers. */
const remembering: readonly string[] = ["infra/dashboard/app/shell/theme.ts", "infra/dashboard/app/session/choice.ts"];

/** The dashboard runs under a policy without inline styles and with trusted types, and shows text as text. */
export const browserSafety: Rule = ({ path, text }) => {
  if (!/^infra\/dashboard\/app\/.*\.tsx?$/.test(path)) return [];
  const { withoutComments, code } = sourceText(text);
  const imported = [...withoutComments.matchAll(/import\s+\{([^}]*)\}\s+from\s+"@mantine\/core"/g)]
    .flatMap(([, names = ""]) => names.split(","))
    .map(
      (name) =>
        name
          .replace(/^\s*type\s/, "")
          .trim()
          .split(" ")[0] ?? "",
    );
  return [
    ...imported.filter((name) => injecting.includes(name)).map((name) => `imports ${name}, which injects styles`),
    ...unsafeInBrowser
      .filter(([pattern, what]) => pattern.test(code) && !(remembering.includes(path) && what.includes("localStorage")))
      .map(([, what]) => what),
  ];
};

/** Rules that look at one file alone. */
export const rules: Readonly<Record<string, Rule>> = {
  importDirection,
  expressionsInTable,
  sandboxApart,
  boundsInOnePlace,
  names,
  purity,
  handlerLength,
  functionLength,
  lineLength,
  noLeftovers,
  noMachinePaths,
  docstrings,
  browserSafety,
};

/** Entries of the root that have no place there. */
export function strangersAtRoot(entries: readonly string[]): string[] {
  const known = new Set<string>(rootEntries);
  return entries.filter((entry) => !known.has(entry) && !entry.startsWith("."));
}

/** Rows without a file and files under functions/ without a row or an event source. */
export function unmatchedFunctions(rowFiles: readonly string[], functionFiles: readonly string[]): string[] {
  const files = new Set(functionFiles.map((path) => path.replace(/^functions\//, "").replace(/\.ts$/, "")));
  const wanted = new Set<string>([...rowFiles, ...eventSourceFunctions]);
  return [
    ...[...wanted].filter((file) => !files.has(file)).map((file) => `functions/${file}.ts does not exist`),
    ...[...files]
      .filter((file) => !wanted.has(file))
      .map((file) => `functions/${file}.ts has no row and no event source`),
  ];
}

/** Decisions that a file names and no page of shared/decisions holds, and pages that the index does not list. */
export function unknownDecisions(files: readonly SourceFile[]): string[] {
  const names = files.map(({ path }) => /^shared\/decisions\/(\d{4}-[\w-]+\.md)$/.exec(path)?.[1] ?? "");
  const pages = names.filter((name) => name !== "");
  const numbers = new Set(pages.map((name) => name.slice(0, 4)));
  const index = files.find(({ path }) => path === `${recordsOfDecisions}/README.md`)?.text ?? "";
  return [
    ...files.flatMap(({ path, text }) =>
      // A comment may carry the number over to its next line.
      [...text.matchAll(/(?:\bADRs?[\s*/]+|\bdecisions\/)(\d{4})\b/g)]
        .filter(([, number = ""]) => !numbers.has(number))
        .map(([, number]) => `${path} names the decision ${number}, which has no page in ${recordsOfDecisions}`),
    ),
    ...pages
      .filter((name) => !index.includes(`](${name})`))
      .map((name) => `${recordsOfDecisions}/README.md does not list ${name}`),
  ];
}
