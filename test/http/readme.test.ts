import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { limits } from "../../shared/limits.ts";
import { withEndpointTable } from "../../shared/openapi/print.ts";
import { routes } from "../../shared/routes/index.ts";
import { eventTypes, optInEventTypes } from "../../shared/schema/event-types.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const pages = ["README.md", ...["functions", "infra", "shared", "test"].flatMap(readmesUnder)];
const readme = read("README.md");
const all = [...pages, "CONTRIBUTING.md"].map(read).join("\n");
const words = all.replaceAll(/\s+/g, " ");
const { rate, webhooks, token } = limits;

function readmesUnder(folder: string): string[] {
  const files = readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" });
  return files.filter((file) => /(?:^|\/)README\.md$/.test(file)).map((file) => `${folder}/${file}`);
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading.toLowerCase());
  return headings.map((heading) => heading.replaceAll(/[^\w -]/g, "").replaceAll(" ", "-"));
}

/** Links of a page that lead to no file, or to no heading of it. */
function deadLinks(path: string): string[] {
  const links = [...read(path).matchAll(/(?:\]\(|src=")(?!https?:)([^)"]+)[)"]/g)].map(([, link = ""]) => link);
  return links.filter((link) => {
    const [file = "", anchor] = link.split("#");
    const url = new URL(file, new URL(path, root));
    if (!existsSync(url)) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(url, "utf8")).includes(anchor);
  });
}

it("functions/README.md lists every endpoint with its scope", () => {
  const page = read("functions/README.md");
  expect(withEndpointTable(page, routes)).toBe(page);
  for (const { method, path } of routes) expect(page).toContain(`\`${method} ${path}\``);
});

it("every npm script that a README or CONTRIBUTING names exists", () => {
  const { scripts } = JSON.parse(read("package.json"));
  const named = [...all.matchAll(/npm (?:run )?(start|test|[a-z][a-z:]*)(?=[`\s])/g)];
  const known = [...Object.keys(scripts), "run", "ci"];
  for (const [, name] of named) expect(known, name).toContain(name);
  expect(named.map(([, name]) => name)).toContain("bench:units");
});

/** `60` is `1 min`, `86_400` is `24 h`. */
function duration(seconds: number): string {
  if (seconds >= 3600) return `${seconds / 3600} h`;
  return seconds >= 60 ? `${seconds / 60} min` : `${seconds} s`;
}

describe("a limit that a README states is the one in shared/limits.ts", () => {
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

describe.each(pages)("what %s names exists", (path) => {
  const text = read(path).replace(/<!-- endpoints -->[\s\S]*?<!-- \/endpoints -->/, "");
  const named = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, one = ""]) => one);

  it("as an endpoint or an event type", () => {
    const served = routes.map((row) => `${row.method} ${row.path}`);
    const known: readonly string[] = [...eventTypes, ...optInEventTypes];
    const operations = named(/`((?:GET|POST|PATCH|DELETE) \/[^`]*)`/g);
    const events = named(/`((?:client|account|transaction|trade|margin|stop|owner|feed|command)\.[a-z_]+)`/g);
    expect(operations.filter((one) => !served.includes(one))).toEqual([]);
    expect(events.filter((one) => !known.includes(one))).toEqual([]);
  });

  it("as a folder, a file or a heading", () => {
    const folders = named(/`((?:shared|functions|infra|test)\/[\w./-]*)`/g);
    expect(folders.filter((one) => !existsSync(new URL(one, root)))).toEqual([]);
    expect(deadLinks(path)).toEqual([]);
  });
});

it("the README is read in four minutes", () => {
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(12_000);
});

it("the README's layout names every folder of shared/", () => {
  const [, table = ""] = readme.split("## Repository layout");
  const folders = readdirSync(new URL("shared/", root), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const unnamed = folders.map(({ name }) => `shared/${name}`).filter((one) => !table.includes(`\`${one}\``));
  expect(unnamed).toEqual([]);
});
