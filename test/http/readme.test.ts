import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { withEndpointTable } from "../../shared/openapi/endpoint-table.ts";
import { routes } from "../../shared/routes/index.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

it("the README lists every endpoint with its scope", () => {
  expect(withEndpointTable(readme, routes)).toBe(readme);
  for (const { method, path } of routes) expect(readme).toContain(`\`${method} ${path}\``);
});

it("every npm script that the README names exists", () => {
  const { scripts } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const named = [...readme.matchAll(/npm (?:run )?(start|test|[a-z]+)(?=[`\s])/g)].map(([, name]) => name ?? "");
  const known = [...Object.keys(scripts), "run", "ci"];
  for (const name of named) expect(known, name).toContain(name);
});
