import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { routes } from "../../shared/routes/index.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

it("the README lists every endpoint with its scope", () => {
  const rows = routes.map(({ method, path, scope, auth, summary }) => {
    const needs = scope ?? (auth === "token" ? "any token" : "open");
    return `| \`${method} ${path}\` | ${needs} | ${summary} |`;
  });
  const [, table = ""] = /<!-- endpoints -->\n([\s\S]*?)<!-- \/endpoints -->/.exec(readme) ?? [];
  expect(table.trim().split("\n").slice(2)).toEqual(rows);
});

it("every npm script that the README names exists", () => {
  const { scripts } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const named = [...readme.matchAll(/npm (?:run )?(start|test|[a-z]+)(?=[`\s])/g)].map(([, name]) => name ?? "");
  for (const name of named) if (name !== "run") expect(Object.keys(scripts), name).toContain(name);
});
