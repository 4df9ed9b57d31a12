import { readFileSync } from "node:fs";
import type { Plugin } from "esbuild";
import { limits } from "../shared/limits.ts";

const ours = /\/(?:shared|functions)\/.*\.ts$/;

/** Folders whose files only declare, which nobody but their importers notices. */
const rows = /\/shared\/routes\/[^/]+\.ts$/;
const schemas = /\/shared\/(?:schema\/[^/]+|limits)\.ts$/;

/** `const a = …;` at the start of a line, to the semicolon before the next line that starts there. */
const constant = /^((?:export )?const \w+(?:: [^=\n]+)? = )([\s\S]*?);$(?=\n(?:\S|\n|$))/gm;

/** What only the description of the API says of a row, with its value to the next member or the end of the row. */
const described = /^ {2}(?:tag|summary|description|example|grants|stages):\s[\s\S]*?,\n(?= {2}\w|\}\))/gm;

/** A file of rows without what only the description and the stacks read of them. */
export function undescribed(source: string): string {
  return source.replace(described, "");
}

/** Marks each constant as free of side effects. */
export function marked(source: string): string {
  return source.replace(constant, (_statement, start: string, value: string) => {
    return `${start}/* @__PURE__ */ (() => (${value}))();`;
  });
}

/** A file with each limit that it names by its path in place of the path: else every function carries all of them. */
export function inlined(source: string, values: object = limits): string {
  if (!/^import .*\blimits\b.* from "(?:\.\.?\/)+limits\.ts";$/m.test(source)) return source;
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
        if (rows.test(path)) return { contents: marked(undescribed(source)), loader: "ts" };
        return { contents: schemas.test(path) ? marked(source) : source, loader: "ts" };
      });
    },
  };
}
