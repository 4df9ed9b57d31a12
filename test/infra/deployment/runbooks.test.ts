import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runbookFolder, runbookOf } from "../../../infra/constructs/alarms/runbooks.ts";
import { routes } from "../../../shared/routes/index.ts";
import { keptStage } from "../assembly.ts";

const root = new URL("../../../", import.meta.url);
const folder = new URL(`${runbookFolder}/`, root);
const pages = readdirSync(folder);
const textOf = (page: string) => readFileSync(new URL(page, folder), "utf8");
const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
  scripts: Record<string, string>;
};

/** The longest description that CloudWatch takes (AWS docs: PutMetricAlarm). */
const maxCharacters = 1024;

describe("alarms", () => {
  test.each(["sandbox", "production"] as const)("of %s each name a runbook, which names the alarm", async (stage) => {
    const { resources } = await keptStage({ stage });
    const alarms = resources.filter(({ type }) => type === "AWS::CloudWatch::Alarm");
    expect(alarms.length).toBeGreaterThan(40);
    for (const { properties } of alarms) {
      const id = String(properties["AlarmName"]).replace(`brokerage-${stage}-`, "");
      const description = String(properties["AlarmDescription"]);
      const page = /Runbook: infra\/runbooks\/([a-z-]+\.md)$/.exec(description)?.[1] ?? "";
      expect([id, pages.includes(page)]).toEqual([id, true]);
      expect(description.length).toBeLessThanOrEqual(maxCharacters);
      // Those that have too many functions for one alarm are named by the first.
      expect(textOf(page)).toContain(`\`${id.replace(/-\d+$/, "")}\``);
    }
  });

  test("without a runbook are refused at synthesis", () => {
    expect(() => runbookOf("something-new")).toThrow("The alarm something-new has no runbook");
  });
});

describe.each(pages)("the runbook %s", (page) => {
  const text = textOf(page);

  test("is one page with a title", () => {
    expect(text).toMatch(/^# [A-Z]/);
    expect(text.split("\n").length).toBeLessThanOrEqual(60);
  });

  test("names scripts, files, pages and endpoints that there are", () => {
    for (const [, script = ""] of text.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(script);
    for (const [, link = ""] of text.matchAll(/\]\(([^)]+)\)/g)) {
      expect(() => readFileSync(new URL(link, folder))).not.toThrow();
    }
    for (const [, file = ""] of text.matchAll(/`(infra\/[\w./-]+\.(?:json|ts|md))`/g)) {
      expect(() => readFileSync(new URL(file, root))).not.toThrow();
    }
    for (const [, method, path = ""] of text.matchAll(/`(GET|POST|PATCH|DELETE) (\/[^`?]*)/g)) {
      expect(routes.map((route) => `${route.method} ${route.path}`)).toContain(`${method} ${path}`);
    }
  });

  test("asks the smoke test and drills for what they have", async () => {
    const { checks } = await import("../../../infra/tools/smoke/smoke.ts");
    const { drills } = await import("../../../infra/tools/drill/drills.ts");
    for (const [, names = ""] of text.matchAll(/--only ([a-z,-]+)/g)) {
      for (const name of names.split(",")) expect(checks.map((check) => check.name)).toContain(name);
    }
    for (const [, name = ""] of text.matchAll(/npm run drill -- ([a-z-]+)/g))
      expect(Object.keys(drills)).toContain(name);
  });
});
