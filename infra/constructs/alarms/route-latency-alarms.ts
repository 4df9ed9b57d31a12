import { type IMetric, MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import { longestDurationMs, slowRoutes } from "../../latency.ts";
import { type AlarmRule, byAlarm, fiveMinutes } from "./alarm-rule.ts";

/** The metric with the average duration of a function, ms. */
type DurationOf = (functionId: string) => IMetric;

/**
 * Alarms on the average duration of the functions of routes, each in percent of what it may take, so that one alarm
 * compares routes of different bounds: those that have a reason to be slow come last. The gateway's own metrics of a
 * route would cost 0.30 USD a month each; the duration of a function costs nothing but its place in the alarm.
 */
export function routeLatencyRules(routeIds: readonly string[], durationOf: DurationOf): AlarmRule[] {
  const isSlow = (id: string) => slowRoutes[id] !== undefined;
  const ordered = [...routeIds.filter((id) => !isSlow(id)), ...routeIds.filter(isSlow)];
  return byAlarm("route-latency", ordered, (id, some) => ruleOf(id, some, durationOf));
}

function ruleOf(id: string, functionIds: readonly string[], durationOf: DurationOf): AlarmRule {
  const named = functionIds.map((each, n) => ({ id: each, name: `f${n}`, duration: durationOf(each) }));
  const bounds = functionIds.map((each) => `${each} ${longestDurationMs(each)} ms`);
  return {
    id,
    description: `The function of one of these routes takes longer than this on average: ${bounds.join(", ")}.`,
    metric: new MathExpression({
      expression: `MAX([${named.map((each) => percentOf(each.id, `FILL(${each.name}, 0)`)).join(", ")}])`,
      usingMetrics: Object.fromEntries(named.map(({ name, duration }) => [name, duration])),
      label: "slowest, %",
      period: fiveMinutes,
    }),
    threshold: 100,
    evaluationPeriods: 6,
    datapointsToAlarm: 5,
    drawn: named.map(
      ({ id: functionId, name, duration }) =>
        new MathExpression({
          expression: percentOf(functionId, name),
          usingMetrics: { [name]: duration },
          label: `${functionId}, % of ${longestDurationMs(functionId)} ms`,
          period: fiveMinutes,
        }),
    ),
  };
}

function percentOf(functionId: string, duration: string): string {
  return `100 * ${duration} / ${longestDurationMs(functionId)}`;
}
