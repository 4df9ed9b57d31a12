import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { withEndpointTable } from "../../shared/openapi/endpoint-table.ts";
import { routes } from "../../shared/routes/index.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";

const root = new URL("../../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");
const contributing = readFileSync(new URL("CONTRIBUTING.md", root), "utf8");
const words = readme.replaceAll(/\s+/g, " ");
const { rate, webhooks, token } = limits;

it("the README lists every endpoint with its scope", () => {
  expect(withEndpointTable(readme, routes)).toBe(readme);
  for (const { method, path } of routes) expect(readme).toContain(`\`${method} ${path}\``);
});

it("every npm script that the README or CONTRIBUTING names exists", () => {
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const named = [...`${readme}${contributing}`.matchAll(/npm (?:run )?(start|test|[a-z][a-z:]*)(?=[`\s])/g)];
  const known = [...Object.keys(scripts), "run", "ci"];
  for (const [, name] of named) expect(known, name).toContain(name);
  expect(named.map(([, name]) => name)).toContain("bench:lanes");
});

/** `60` is `1 min`, `86_400` is `24 h`. */
function duration(seconds: number): string {
  if (seconds >= 3600) return `${seconds / 3600} h`;
  return seconds >= 60 ? `${seconds / 60} min` : `${seconds} s`;
}

describe("a limit that the README states is the one in shared/limits.ts", () => {
  const [last = 0, ...others] = webhooks.retry_delays_seconds.toReversed();
  const ladder = `${others.toReversed().map(duration).join(", ")} and ${duration(last)}`;
  it.each([
    `${rate.per_minute.toLocaleString("en")} requests per minute and ${rate.burst_per_second} per second`,
    `Quotes (${rate.quotes_per_second} per second)`,
    `feed requests and feed prices (${rate.feed_per_second} per second each)`,
    `Operators have ${rate.operator_per_second} requests per second in total`,
    `A 2xx response within ${duration(webhooks.attempt_timeout_ms / 1000)} is success`,
    `is retried after ${ladder}`,
    `${{ 5: "five" }[webhooks.auto_disable_after_seconds / 86_400]} days of failures only`,
    `wait for ${duration(webhooks.closed_min_seconds)}, then longer, up to ${
      { 5: "five" }[webhooks.closed_max_seconds / 60]
    } minutes`,
    `# A token for ${{ 1: "an hour" }[token.access_lifetime_seconds / 3600]}`,
    `six tries in ${Math.floor(webhooks.retry_delays_seconds.reduce((sum: number, one) => sum + one, 0) / 3600)} hours`,
  ])("%s", (sentence) => {
    expect(words).toContain(sentence);
  });
});

it("every endpoint, event type, folder and file that the README names outside its table exists", () => {
  const text = readme.replace(/<!-- endpoints -->[\s\S]*?<!-- \/endpoints -->/, "");
  const served = routes.map(({ method, path }) => `${method} ${path}`);
  const operations = [...text.matchAll(/`((?:GET|POST|PATCH|DELETE) \/[^`]*)`/g)].map(([, one]) => one);
  expect(operations.filter((one) => !served.includes(one ?? ""))).toEqual([]);
  const known: readonly string[] = [...eventTypes, ...optInEventTypes];
  const events = [...text.matchAll(/`((?:client|account|transaction|trade|margin|stop)\.[a-z]+)`/g)].map(
    ([, one]) => one,
  );
  expect(events.filter((one) => !known.includes(one ?? ""))).toEqual([]);
  const linked = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)\)/g)].map(([, one]) => one ?? "");
  const folders = [...text.matchAll(/`((?:shared|functions|infra|test)\/[\w./-]*)`/g)].map(([, one]) => one ?? "");
  expect([...linked, ...folders].filter((one) => !existsSync(new URL(one, root)))).toEqual([]);
  expect(operations.length * events.length * linked.length * folders.length).toBeGreaterThan(0);
});

it("the README's layout names every folder of shared/", () => {
  const [, table = ""] = readme.split("## Repository layout");
  const folders = readdirSync(new URL("shared/", root), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const unnamed = folders.map(({ name }) => `shared/${name}`).filter((one) => !table.includes(`\`${one}\``));
  expect(unnamed).toEqual([]);
});
