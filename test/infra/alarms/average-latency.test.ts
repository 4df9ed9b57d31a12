import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  averageLatencyMs,
  expectedDurationMs,
  gatewayMs,
  invokeMs,
  longestDurationMs,
  slowRoutes,
} from "../../../infra/latency.ts";
import { functionName } from "../../../infra/stages.ts";
import { mix } from "../../../infra/tools/cost/mix.ts";
import { routes } from "../../../shared/routes/index.ts";
import { chainOf } from "../../bench/units/published-times.ts";
import { at, list, type NamedResource, ofType, only } from "../assembly.ts";
import { synthesized } from "../stack-cases.ts";

const shipped = routes.filter(({ stages }) => stages.includes("production")).map(({ id }) => id);
const nameOf = (id: string) => functionName("production", id);

/** Names of the functions whose metrics an alarm reads, by their ids in its expression. */
function watchedBy({ properties }: NamedResource): ReadonlyMap<unknown, unknown> {
  const read = list(properties["Metrics"]).filter((each) => at(each, "MetricStat") !== undefined);
  return new Map(read.map((each) => [at(each, "Id"), at(each, "MetricStat", "Metric", "Dimensions", 0, "Value")]));
}

test("an alarm watches the average duration of every route, by its own figure where it has a reason to be slow", () => {
  const alarms = ofType(synthesized("production"), "AWS::CloudWatch::Alarm").filter(({ properties }) =>
    /-route-latency(?:-\d+)?$/.test(String(properties["AlarmName"])),
  );
  const bounds = new Map<unknown, number>();
  for (const alarm of alarms) {
    const { properties } = alarm;
    expect(properties).toMatchObject({ Threshold: 100, EvaluationPeriods: 6, DatapointsToAlarm: 5 });
    expect(String(properties["AlarmDescription"]).length).toBeLessThanOrEqual(1024);
    const watched = watchedBy(alarm);
    const expression = String(list(properties["Metrics"]).map((each) => at(each, "Expression"))[0]);
    for (const [, id, bound] of expression.matchAll(/100 \* FILL\((\w+), 0\) \/ (\d+)/g)) {
      bounds.set(watched.get(id), Number(bound));
    }
  }
  expect([...bounds.keys()].sort()).toEqual(shipped.map(nameOf).sort());
  for (const id of shipped.filter((each) => slowRoutes[each] === undefined)) expect(bounds.get(nameOf(id))).toBe(36);
  for (const id of shipped) expect([id, bounds.get(nameOf(id))]).toEqual([id, longestDurationMs(id)]);
  // 42.5 ms of calls and 2.2 ms of a processor at 1,024 of 1,769 MB, and a quarter more.
  expect(bounds.get(nameOf("create_token"))).toBe(58);
  expect(Object.keys(slowRoutes).filter((id) => !routes.some((row) => row.id === id))).toEqual([]);
});

test("what a slow route is compared with is the model of LATENCY.md, and is above 50 ms there", async () => {
  const text = await readFile(new URL("../../bench/LATENCY.md", import.meta.url), "utf8");
  const rows = text.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const average_ms = new Map(rows.map((cells) => [cells[1], Number(cells[7])]));
  for (const id of Object.keys(slowRoutes)) {
    expect([id, (average_ms.get(id) ?? 0) > averageLatencyMs]).toEqual([id, true]);
    // Counted in two runs: calls that overlap in one follow each other in the other, a read or two.
    expect(Math.abs(gatewayMs + invokeMs + expectedDurationMs(id) - (average_ms.get(id) ?? 0))).toBeLessThan(6);
  }
});

test("the dashboard draws the average duration of every route", () => {
  const dashboard = JSON.stringify(only(ofType(synthesized("production"), "AWS::CloudWatch::Dashboard")).properties);
  for (const id of shipped) expect(dashboard).toContain(nameOf(id));
});

test("the stated mix names a hundred requests of routes that are there", () => {
  const ids = new Set(routes.map(({ id }) => id));
  expect(Object.keys(mix).filter((id) => !ids.has(id))).toEqual([]);
  expect(Object.values(mix).reduce((sum, share) => sum + share, 0)).toBe(100);
});

test("calls that overlap count once, and those that follow each other count together", () => {
  const call = (operation: string, began_ms: number, ended_ms: number) => ({ operation, began_ms, ended_ms });
  const reads = [call("BatchGetItem", 0, 20), call("BatchGetItem", 21, 41)];
  expect(chainOf([])).toEqual({ calls: 0, published_ms: 0 });
  expect(chainOf([call("UpdateItem", 1, 31), call("BatchGetItem", 0, 20)])).toEqual({ calls: 1, published_ms: 7.5 });
  const commit = [...reads, call("UpdateItem", 0, 30), call("TransactWriteItems", 42, 142)];
  expect(chainOf(commit)).toEqual({ calls: 3, published_ms: 35 });
  expect(() => chainOf([call("Scan", 0, 1)])).toThrow("Scan");
});
