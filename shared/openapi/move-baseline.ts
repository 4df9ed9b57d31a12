import { readFileSync, writeFileSync } from "node:fs";
import { helpAsked, readArguments, runCommand } from "../runtime/command-line.ts";
import { printedJson } from "./print.ts";

const help = `Makes the OpenAPI document of now the baseline that later ones may not break: when a version
is published, and before that for a break that is meant. CONTRIBUTING says when that is allowed.

npm run openapi:baseline -- [options]
  --help             this text`;

function moveBaseline(): void {
  if (helpAsked(help)) return;
  readArguments({});
  const document = readFileSync(new URL("openapi.json", import.meta.url), "utf8");
  writeFileSync(new URL("baseline.json", import.meta.url), printedJson(withoutTexts(JSON.parse(document))));
}

/** Descriptions and examples are not part of the contract, and would be most of the file. */
function withoutTexts(node: unknown): unknown {
  const silent = new Set([
    "description",
    "summary",
    "example",
    "examples",
    "x-codes",
    "links",
    "tags",
    "servers",
    "info",
  ]);
  if (Array.isArray(node)) return node.map(withoutTexts);
  if (typeof node !== "object" || node === null) return node;
  // A member of a schema may have the name of an OpenAPI keyword: it is a schema, not a description.
  const kept = Object.entries(node).filter(([name, value]) => !silent.has(name) || isSchema(value));
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutTexts(value)]));
}

function isSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null && ("type" in value || "$ref" in value || "allOf" in value);
}

await runCommand(moveBaseline);
