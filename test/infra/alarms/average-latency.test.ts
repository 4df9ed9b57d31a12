import { expect, test } from "vitest";
import { slowRoutes } from "../../../infra/latency.ts";
import { functionName } from "../../../infra/stages.ts";
import { mix } from "../../../infra/tools/cost/mix.ts";
import { routes } from "../../../shared/routes/index.ts";
import { chainOf } from "../../bench/units/published-times.ts";
import { at, list, ofType, only } from "../assembly.ts";
import { synthesized } from "../stack-cases.ts";

test("an alarm watches the average duration of every route, unless a reason says why it may take longer", () => {
  const stage = synthesized("production");
  const alarms = ofType(stage, "AWS::CloudWatch::Alarm").filter(({ properties }) =>
    /-route-latency(?:-\d+)?$/.test(String(properties["AlarmName"])),
  );
  for (const { properties } of alarms) {
    expect(properties).toMatchObject({ Threshold: 36, EvaluationPeriods: 6, DatapointsToAlarm: 5 });
  }
  const stats = alarms.flatMap(({ properties }) => list(properties["Metrics"]).map((each) => at(each, "MetricStat")));
  const watched = stats.flatMap((each) => list(at(each, "Metric", "Dimensions", 0, "Value")));
  const shipped = routes.filter(({ stages }) => stages.includes("production")).map(({ id }) => id);
  const expected = shipped.filter((id) => slowRoutes[id] === undefined);
  const nameOf = (id: string) => functionName("production", id);
  expect(watched.sort()).toEqual(expected.map(nameOf).sort());
  expect(Object.keys(slowRoutes).filter((id) => !routes.some((row) => row.id === id))).toEqual([]);
  const dashboard = JSON.stringify(only(ofType(stage, "AWS::CloudWatch::Dashboard")).properties);
  for (const id of expected) expect(dashboard).toContain(nameOf(id));
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
