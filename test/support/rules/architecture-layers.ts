import { posix } from "node:path";
import type { Rule, SourceFile } from "./source-file.ts";
import { sourceText } from "./source-text.ts";

interface Layer {
  /** Files of the layer start with this. */
  readonly path: string;
  /** Our own files that they may import; a path ends with a slash when it means all below it. */
  readonly values: readonly string[];
  /** Files that they may import for their types alone. */
  readonly types?: readonly string[];
}

/** Open to every feature: words, rules, limits, and clock, identifiers, log and queues. */
const rulesOfTheBusiness = [
  "shared/schema/",
  "shared/domain/",
  "shared/runtime/",
  "shared/limits.ts",
  "shared/currencies.ts",
  "shared/roles.ts",
  "shared/event-scopes.ts",
  "shared/personal-members.ts",
];

/** The layers; the first that matches a file is its layer. Files of one layer import each other freely. */
const layers: readonly Layer[] = [
  { path: "shared/limits.ts", values: [] },
  { path: "shared/text.ts", values: [] },
  { path: "shared/csv.ts", values: [] },
  { path: "shared/calendar.ts", values: [] },
  { path: "shared/currencies.ts", values: [] },
  { path: "shared/hosts.ts", values: [], types: ["shared/routes/"] },
  // The list of scopes is data that imports nothing; the role of an owner is all of it.
  { path: "shared/roles.ts", values: ["shared/schema/scope.ts"] },
  { path: "shared/event-scopes.ts", values: [], types: ["shared/schema/"] },
  { path: "shared/personal-members.ts", values: [] },
  { path: "shared/runtime/", values: ["shared/limits.ts"] },
  {
    path: "shared/schema/",
    values: ["shared/limits.ts", "shared/text.ts", "shared/currencies.ts", "shared/roles.ts"],
  },
  {
    path: "shared/domain/",
    values: [
      ...["shared/limits.ts", "shared/text.ts", "shared/calendar.ts", "shared/currencies.ts", "shared/roles.ts"],
      ...["shared/event-scopes.ts", "shared/personal-members.ts"],
    ],
    types: ["shared/schema/"],
  },
  { path: "shared/routes/", values: ["shared/schema/", "shared/limits.ts"] },
  { path: "shared/table/", values: [...rulesOfTheBusiness, "shared/text.ts"] },
  {
    path: "shared/http/",
    values: [...rulesOfTheBusiness, "shared/text.ts", "shared/csv.ts", "shared/table/", "shared/routes/"],
  },
  { path: "shared/events/", values: [...rulesOfTheBusiness, "shared/table/"] },
  { path: "shared/oauth/", values: [...rulesOfTheBusiness, "shared/table/"] },
  { path: "shared/webhooks/", values: [...rulesOfTheBusiness, "shared/table/", "shared/events/"] },
  { path: "shared/trading/", values: [...rulesOfTheBusiness, "shared/table/", "shared/http/"] },
  { path: "shared/books/", values: [...rulesOfTheBusiness, "shared/table/", "shared/http/", "shared/sums/"] },
  { path: "shared/clients/", values: [...rulesOfTheBusiness, "shared/table/", "shared/trading/"] },
  { path: "shared/money/", values: [...rulesOfTheBusiness, "shared/table/", "shared/http/", "shared/trading/"] },
  {
    path: "shared/feed/",
    values: [...rulesOfTheBusiness, "shared/table/", "shared/http/", "shared/trading/", "shared/money/"],
  },
  {
    path: "shared/sandbox/",
    values: [...rulesOfTheBusiness, "shared/table/", "shared/http/", "shared/trading/", "shared/money/"],
  },
  {
    path: "shared/stream/",
    values: [
      ...rulesOfTheBusiness,
      ...["shared/table/", "shared/http/", "shared/oauth/", "shared/trading/", "shared/events/"],
    ],
  },
  { path: "shared/sums/", values: [...rulesOfTheBusiness, "shared/table/", "shared/http/"] },
  { path: "shared/usage/", values: [...rulesOfTheBusiness, "shared/table/", "shared/http/"] },
  {
    path: "shared/jobs/",
    values: [
      ...[...rulesOfTheBusiness, "shared/csv.ts", "shared/table/", "shared/http/", "shared/routes/"],
      ...["shared/trading/", "shared/money/", "shared/clients/"],
    ],
  },
  // The functions get the committed document; the builder would bring every schema into their bundles.
  { path: "shared/openapi/document.ts", values: [] },
  { path: "shared/openapi/lean.ts", values: ["shared/openapi/document.ts"] },
  { path: "shared/openapi/event-kinds.ts", values: ["shared/openapi/document.ts"] },
  {
    path: "shared/openapi/",
    values: [
      ...["shared/routes/", "shared/schema/", "shared/limits.ts", "shared/hosts.ts"],
      ...["shared/event-scopes.ts", "shared/personal-members.ts"],
      // The scopes of the channels are data of a rule.
      "shared/domain/stream/subscription.ts",
      "shared/runtime/command-line.ts",
    ],
  },
  {
    path: "functions/",
    values: [
      "shared/schema/",
      "shared/domain/",
      "shared/table/",
      "shared/http/",
      "shared/events/",
      "shared/oauth/",
      "shared/webhooks/",
      "shared/trading/",
      "shared/money/",
      "shared/books/",
      "shared/clients/",
      "shared/feed/",
      "shared/sandbox/",
      "shared/stream/",
      "shared/sums/",
      "shared/usage/",
      "shared/jobs/",
      "shared/routes/",
      "shared/runtime/",
      "shared/limits.ts",
      "shared/openapi/openapi.json",
      "shared/openapi/stream/async-document.ts",
      "shared/openapi/stream/asyncapi.json",
      "shared/openapi/document.ts",
      "shared/openapi/lean.ts",
      "shared/openapi/published-kinds.ts",
    ],
  },
  {
    path: "infra/",
    // The responses that the gateway makes itself carry the titles and types of the same problems. Rights are bound to
    // partitions as the key builders name them. The local runner shows the reference of what it runs. Bundling reads
    // the order of replies from their schemas, and the kinds of events from the description. The operator's command
    // checks its request before it sends it. The simulated venue keeps money in the digits of its currency. The
    // dashboard's distribution shows what the API looks for. Stages have the published hosts. An export of the audit is
    // checked by the rules that made its chain. The cost of a stage is calculated with the prices of usage. The
    // events of a restored table are numbered on before any function uses it.
    values: [
      "shared/routes/",
      "shared/currencies.ts",
      "shared/hosts.ts",
      "shared/runtime/command-line.ts",
      "shared/runtime/origin.ts",
      "shared/table/table-shape.ts",
      "shared/table/entities.ts",
      "shared/events/resume.ts",
      "shared/schema/problem.ts",
      "shared/schema/member-order.ts",
      "shared/schema/provision.ts",
      "shared/openapi/document.ts",
      "shared/openapi/published-kinds.ts",
      "shared/openapi/reference.ts",
      "shared/limits.ts",
      "shared/calendar.ts",
      "shared/domain/audit/",
      "shared/domain/usage/event-cost.ts",
      "shared/domain/usage/prices.ts",
      "shared/runtime/digest.ts",
    ],
    // The dashboard takes the types of the API from the document; alarms are on metrics that functions count.
    types: ["shared/schema/", "shared/runtime/log.ts", ".build/dashboard-types/"],
  },
];

interface Import {
  readonly target: string;
  readonly typeOnly: boolean;
  /** The names that it takes, as they are written. */
  readonly names: string;
}

/** Whether a layer, named by a file or a folder with a slash at its end, holds this file. */
export function covers(path: string, target: string): boolean {
  return path.endsWith("/") ? target.startsWith(path) : target === path;
}

/** Imports of our own files: static ones, re-exports and `import()`. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const { withoutComments } = sourceText(text);
  const found: Import[] = [];
  const statement = /^(?:import|export)\s+(?:(type)\s+)?(?:([\w*{}\s,$]*?)\s*from\s*)?["']([^"']+)["']/gm;
  for (const [, type, clause = "", target = ""] of withoutComments.matchAll(statement)) {
    const names = clause
      .replaceAll(/[{}\n]|\btype /g, "")
      .replaceAll(/\s+/g, " ")
      .replace(/,? *$/, "")
      .trim();
    found.push({ target, typeOnly: type === "type" || onlyTypes(clause), names });
  }
  for (const [, target = ""] of withoutComments.matchAll(/\bimport\(\s*["']([^"']+)["']/g)) {
    found.push({ target, typeOnly: false, names: "all" });
  }
  return found
    .filter(({ target }) => target.startsWith("."))
    .map((one) => ({ ...one, target: posix.join(posix.dirname(path), one.target) }));
}

/** `{ type A, type B }`: every member is a type. */
function onlyTypes(clause: string): boolean {
  const members = /^\{([\s\S]*)\}$/
    .exec(clause.trim())?.[1]
    ?.split(",")
    .map((member) => member.trim());
  return members?.filter(Boolean).every((member) => member.startsWith("type ")) ?? false;
}

const functionsImportNoFunction = "functions/ import nothing of each other";

/** Imports go down the layers only: schema, domain, data, http, functions; and beside them routes, openapi, infra. */
export const importDirection: Rule = (file) => {
  const layer = layers.find(({ path }) => covers(path, file.path));
  if (layer === undefined) return [];
  return importsOf(file).flatMap(({ target, typeOnly }) => {
    const inside = layer.path.endsWith("/") && target.startsWith(layer.path);
    if (inside && layer.path === "functions/") return [`imports ${target}; ${functionsImportNoFunction}`];
    if (inside || layer.values.some((path) => covers(path, target))) return [];
    const allowedAsType = (layer.types ?? []).some((path) => covers(path, target));
    if (allowedAsType && typeOnly) return [];
    return [`imports ${target}${allowedAsType ? ", of which it may use types only" : ""}`];
  });
};
