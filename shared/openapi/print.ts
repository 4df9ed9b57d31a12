import { limits } from "../limits.ts";
import type { Route } from "../routes/route.ts";

const marked = /(<!-- endpoints -->\n)[\s\S]*?(<!-- \/endpoints -->)/;

/** `functions/README.md` with its table of endpoints, between the two markers, regenerated from the rows. */
export function withEndpointTable(page: string, rows: readonly Route[]): string {
  const lines = rows.map(({ method, path, scope, auth, stream, summary }) => {
    const token = stream === true ? "a scope of the stream" : "any token";
    const needs = scope ?? (auth === "token" ? token : "open");
    return `| \`${method} ${path}\` | ${needs} | ${summary} |`;
  });
  const table = ["| endpoint | scope | what it does |", "|---|---|---|", ...lines].join("\n");
  return page.replace(marked, `$1${table}\n$2`);
}

/** JSON for people: what fits on a line stands on one, so that a change is seen as the line that it is. */
export function printedJson(value: unknown): string {
  return `${printed(value, 0, 0)}\n`;
}

/** A value at a depth, behind so many characters of its own line. */
function printed(value: unknown, depth: number, before: number): string {
  const line = onOneLine(value);
  const indent = "  ".repeat(depth);
  if (typeof value !== "object" || value === null) return line;
  if (indent.length + before + line.length < limits.openapi.printed_columns) return line;
  const inner = `\n${indent}  `;
  if (Array.isArray(value))
    return `[${inner}${value.map((one) => printed(one, depth + 1, 0)).join(`,${inner}`)}\n${indent}]`;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  const lines = members.map(([name, one]) => {
    const label = `${JSON.stringify(name)}: `;
    return label + printed(one, depth + 1, label.length);
  });
  return `{${inner}${lines.join(`,${inner}`)}\n${indent}}`;
}

function onOneLine(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`;
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  if (members.length === 0) return "{}";
  return `{ ${members.map(([name, one]) => `${JSON.stringify(name)}: ${onOneLine(one)}`).join(", ")} }`;
}
