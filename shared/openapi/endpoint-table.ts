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
