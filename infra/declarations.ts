import { readFileSync } from "node:fs";
import type { Plugin } from "esbuild";
import { parseSync } from "oxc-parser";
import { limits } from "../shared/limits.ts";
import { literal } from "./literal.ts";
import { shippedRows } from "./shipped-rows.ts";

const ours = /\/(?:shared|functions)\/.*\.ts$/;

/** Files of rows. */
const rows = /\/shared\/routes\/(?!(?:route|index)\.ts$)[^/]+\.ts$/;
/** Files that only declare constants, of which a bundle includes those that it uses. */
const declaring = /\/shared\/(?:schema\/.+|limits|routes\/(?:route|index))\.ts$/;

/** A node of the syntax tree (ESTree): its kind, where it is in the text, and its parts. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
}

/** A text that replaces a range of a source. */
interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string";
}

/** The parts of a node that are nodes. */
function partsOf(node: SyntaxNode): SyntaxNode[] {
  return Object.values(node).flat().filter(isNode);
}

/** @throws Error when the source is not TypeScript */
function parsed(source: string): readonly SyntaxNode[] {
  const { program, errors } = parseSync("source.ts", source);
  const [fault] = errors;
  if (fault !== undefined) throw new Error(fault.message);
  return program.body as unknown as SyntaxNode[];
}

function replaced(source: string, replacements: readonly Replacement[]): string {
  const fromTheEnd = replacements.toSorted((one, other) => other.start - one.start);
  return fromTheEnd.reduce((text, { start, end, text: put }) => text.slice(0, start) + put + text.slice(end), source);
}

/** Marks the value of each constant of a module as free of side effects. */
export function marked(source: string): string {
  const statements = parsed(source).map((node) =>
    node.type === "ExportNamedDeclaration" && isNode(node["declaration"]) ? node["declaration"] : node,
  );
  const values = statements
    .filter(({ type, kind }) => type === "VariableDeclaration" && kind === "const")
    .flatMap(partsOf)
    .map(({ init }) => init)
    .filter(isNode);
  return replaced(
    source,
    values.flatMap(({ start, end }) => [
      { start, end, text: `/* @__PURE__ */ (() => (${source.slice(start, end)}))()` },
    ]),
  );
}

/**
 * A file of schemas without the descriptions of their members: `described(schema, "…")` becomes `schema`. Only the
 * description of the API reads them, and `described.ts` itself is then no longer used.
 */
export function undescribed(source: string): string {
  if (!source.includes("/described.ts")) return source;
  const removed: Replacement[] = [];
  const visit = (node: SyntaxNode): void => {
    const schema = describedSchema(node);
    if (schema !== undefined) {
      removed.push({ start: node.start, end: schema.start, text: "" }, { start: schema.end, end: node.end, text: "" });
    }
    for (const part of partsOf(node)) visit(part);
  };
  for (const node of parsed(source)) visit(node);
  return replaced(source, removed);
}

/** The first argument of a call of `described`. */
function describedSchema({ type, callee, arguments: given }: SyntaxNode): SyntaxNode | undefined {
  const named = type === "CallExpression" && isNode(callee) && callee["name"] === "described";
  return named ? (given as SyntaxNode[])[0] : undefined;
}

/**
 * A file in which the value of each limit replaces its path: otherwise every bundle would include all limits.
 * @throws Error if the file binds the name `limits` to another value as well
 */
export function inlined(source: string, values: object = limits): string {
  if (!source.includes("limits.ts")) return source;
  const body = parsed(source);
  if (!body.some(importsLimits)) return source;
  const replacements: Replacement[] = [];
  const visit = (node: SyntaxNode): void => {
    if (boundBy(node).some(bindsLimits))
      throw new Error("Another value is named limits, whose members would be inlined.");
    const found = limitAt(node, values);
    if (found === undefined) for (const part of partsOf(node)) visit(part);
    else replacements.push({ start: node.start, end: node.end, text: `(${literal(found.value)})` });
  };
  for (const node of body) visit(node);
  return replaced(source, replacements);
}

/** `import { limits } from "<where>/limits.ts"` */
function importsLimits({ type, source, specifiers = [] }: SyntaxNode): boolean {
  if (
    type !== "ImportDeclaration" ||
    !isNode(source) ||
    !/^[./]+(?:\/shared)?\/limits\.ts$/.test(String(source["value"]))
  )
    return false;
  return (specifiers as SyntaxNode[]).some(({ local }) => isNode(local) && local["name"] === "limits");
}

/** The patterns that a node binds: a declaration, the parameters of a function, a caught error. */
function boundBy({ type, id, params = [], param }: SyntaxNode): SyntaxNode[] {
  const named = type === "VariableDeclarator" ? [id] : [];
  return [...named, ...[params].flat(), param].filter(isNode);
}

/** Whether a pattern binds the name `limits`; default values are ignored. */
function bindsLimits(pattern: SyntaxNode): boolean {
  if (pattern.type === "Identifier") return pattern["name"] === "limits";
  const { left, value, argument, parameter, elements, properties, items } = pattern;
  return [left, value, argument, parameter, elements, properties, items].flat().filter(isNode).some(bindsLimits);
}

/** The limit whose whole path a node is: `limits.<group>.<name>`, or a group. */
function limitAt(node: SyntaxNode, values: object): { readonly value: unknown } | undefined {
  if (node.type !== "MemberExpression" || node["computed"] === true) return undefined;
  const { object, property } = node as unknown as { object: SyntaxNode; property: SyntaxNode };
  const root = object.type === "Identifier" && object["name"] === "limits";
  const inner = root ? { value: values } : limitAt(object, values);
  const name = String(property["name"]);
  if (inner === undefined || typeof inner.value !== "object" || inner.value === null) return undefined;
  return Object.hasOwn(inner.value, name) ? { value: (inner.value as Record<string, unknown>)[name] } : undefined;
}

/**
 * Lets the bundler omit the rows, schemas and limits that a function does not use. esbuild looks at one file only when
 * it decides whether it may drop a call, so the annotations of `route` and of zod's functions have no effect where they
 * are called: the function of `GET /clients/{id}` would include every row of the clients and all their schemas, 13 KB.
 * Rows are made from their values, and limits and schemas are found in the syntax tree, so neither a comment nor the
 * layout of a source changes what is shipped (ADR 0017).
 */
export function declarations(): Plugin {
  return {
    name: "declarations",
    setup(context) {
      context.onLoad({ filter: ours }, async ({ path }) => {
        if (rows.test(path)) return { contents: await shippedRows(path), loader: "ts" };
        const source = inlined(readFileSync(path, "utf8"));
        return { contents: declaring.test(path) ? marked(undescribed(source)) : source, loader: "ts" };
      });
    },
  };
}
