import type { Route } from "../routes/route.ts";

const marked = /(<!-- endpoints -->\n)[\s\S]*?(<!-- \/endpoints -->)/;

/** The README with its table of endpoints, between the two markers, regenerated from the rows. */
export function withEndpointTable(readme: string, rows: readonly Route[]): string {
  const lines = rows.map(({ method, path, scope, auth, stream, summary }) => {
    const token = stream === true ? "a scope of the stream" : "any token";
    const needs = scope ?? (auth === "token" ? token : "open");
    return `| \`${method} ${path}\` | ${needs} | ${summary} |`;
  });
  const table = ["| endpoint | scope | what it does |", "|---|---|---|", ...lines].join("\n");
  return readme.replace(marked, `$1${table}\n$2`);
}
