import { readFileSync } from "node:fs";
import type { Plugin } from "esbuild";
import { limits } from "../shared/limits.ts";
import { routes } from "../shared/routes/index.ts";
import type { Route } from "../shared/routes/route.ts";
import { memberOrder } from "../shared/schema/member-order.ts";

const ours = /\/(?:shared|functions)\/.*\.ts$/;

/** Folders whose files only declare, which nobody but their importers notices. */
const rows = /\/shared\/routes\/[^/]+\.ts$/;
const schemas = /\/shared\/(?:schema\/[^/]+|limits)\.ts$/;

/** `const a = …;` at the start of a line, to the semicolon before the next line that starts there. */
const constant = /^((?:export )?const \w+(?:: [^=\n]+)? = )([\s\S]*?);$(?=\n(?:\S|\n|$))/gm;

/** What follows the value of a member: the next member, a comment before it, or the end of the row. */
const next = String.raw`(?= {2}(?:\w|\/[/*])|\}\))`;

/** What only the description of the API says of a row, with its value. */
const described = new RegExp(
  String.raw`^ {2}(?:tag|summary|description|example|grants|stages):\s[\s\S]*?,\n${next}`,
  "gm",
);

/** The name of a member of a row, and those that {@link undescribed} takes away. */
const member = /^ {2}(\w+)[:,]/gm;
const describing = new Set(["tag", "summary", "description", "example", "grants", "stages"]);

/** A row, and in it its id and its reply. */
const row = /^export const \w+ = route\(\{\n[\s\S]*?^\}\);$/gm;
const identifier = /^ {2}id: "(\w+)",$/m;
const reply = new RegExp(String.raw`^ {2}reply:\s[\s\S]*?,\n${next}`, "m");

/**
 * A file of rows with the order of each reply's members in the place of its schema, of which functions ask nothing
 * else: to make the schemas is a fifth of what a function loads.
 * @throws Error when a row has no reply that can be found
 */
export function ordered(source: string, known: readonly Pick<Route, "id" | "reply">[] = routes): string {
  return source.replace(row, (text) => {
    const id = identifier.exec(text)?.[1];
    const schema = known.find((each) => each.id === id)?.reply;
    if (schema === undefined || !reply.test(text)) throw new Error(`The row ${id} has no reply that can be read.`);
    return text.replace(reply, () => `  reply: { order: ${JSON.stringify(memberOrder(schema))} },\n`);
  });
}

/**
 * A file of rows without what only the description and the stacks read of them.
 * @throws Error when a member that functions read would go with it: a row without its `body` would check nothing
 */
export function undescribed(source: string): string {
  return source.replace(row, (text) => {
    const left = text.replace(described, "");
    const kept = membersOf(left);
    const lost = [...membersOf(text)].filter((name) => !describing.has(name) && !kept.has(name));
    if (lost.length > 0) throw new Error(`The row ${identifier.exec(text)?.[1]} would lose ${lost.join(", ")}.`);
    return left;
  });
}

function membersOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(member)].map(([, name = ""]) => name));
}

/** Marks each constant as free of side effects. */
export function marked(source: string): string {
  return source.replace(constant, (_statement, start: string, value: string) => {
    return `${start}/* @__PURE__ */ (() => (${value}))();`;
  });
}

/** A file with each limit that it names by its path in place of the path: else every function carries all of them. */
export function inlined(source: string, values: object = limits): string {
  if (!/^import .*\blimits\b.* from "(?:\.\.?\/)+(?:shared\/)?limits\.ts";$/m.test(source)) return source;
  return source.replace(/(?<![\w.$])limits((?:\.\w+)+)/g, (path, members: string) => {
    let value: unknown = values;
    for (const name of members.slice(1).split(".")) value = (value as Record<string, unknown> | undefined)?.[name];
    return value === undefined ? path : `(${literal(value)})`;
  });
}

function literal(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${literal(member)}`)}}`;
}

/**
 * Lets the bundler leave out the rows, schemas and limits that a function does not use. esbuild sees no further than
 * one file when it asks whether a call may be dropped, so the annotations at `route` and at zod's functions do not help
 * where they are called: a function that gets one client would carry every row about clients and all their schemas,
 * 13 KB.
 */
export function declarations(): Plugin {
  return {
    name: "declarations",
    setup(context) {
      context.onLoad({ filter: ours }, ({ path }) => {
        const source = inlined(readFileSync(path, "utf8"));
        if (rows.test(path)) return { contents: marked(undescribed(ordered(source))), loader: "ts" };
        return { contents: schemas.test(path) ? marked(source) : source, loader: "ts" };
      });
    },
  };
}
