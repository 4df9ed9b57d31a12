import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readAssembly } from "../../../infra/local/template/assembly.ts";
import { metricNames } from "../../../shared/runtime/log.ts";
import { alarmOf } from "../../support/alarms/alarm.ts";
import { synthesized } from "../stack-cases.ts";

const root = new URL("../../..", import.meta.url).pathname;

/** The sources of all functions. */
const sources = ["functions", "shared"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({ name: join(folder, name), text: readFileSync(join(root, folder, name), "utf8") })),
);

const counted = sources.flatMap(({ text }) => [...text.matchAll(/\bcountMetric\(\s*"(\w+)"/g)].map(([, name]) => name));

describe("a counted metric", () => {
  test("is counted by a function", () => {
    expect([...new Set(counted)].sort()).toEqual([...metricNames].sort());
  });

  test("is written in one place alone, under a name that stands in its call", () => {
    const calls = sources.flatMap(({ name, text }) => {
      const all = text.match(/\bcountMetric\(/g)?.length ?? 0;
      return Array<string>(name === "shared/runtime/log.ts" ? all - 1 : all).fill(name);
    });
    expect(calls.length).toBe(counted.length);
    expect(sources.filter(({ text }) => text.includes("CloudWatchMetrics")).map(({ name }) => name)).toEqual([
      "shared/runtime/log.ts",
    ]);
  });

  test.each(["sandbox", "production"] as const)(
    "has an alarm in %s, and each alarm on one is on a counted one",
    (stage) => {
      const { resources } = readAssembly(synthesized(stage).directory);
      const alarms = resources
        .filter(({ type }) => type === "AWS::CloudWatch::Alarm")
        .map((each) => alarmOf(stage, each));
      const watched = alarms.flatMap(({ watched: inputs }) => inputs.map(({ metric }) => metric));
      const own = watched.filter(({ namespace }) => namespace === "Brokerage");
      expect(own.map(({ namespace, dimensions }) => ({ namespace, dimensions }))).toEqual(
        metricNames.map(() => ({ namespace: "Brokerage", dimensions: { stage } })),
      );
      expect(own.map(({ name }) => name).sort()).toEqual([...metricNames].sort());
    },
  );
});
