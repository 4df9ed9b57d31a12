import { Duration } from "aws-cdk-lib";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";

/** An alarm: it is raised when its metric is above the threshold in enough of the last periods. */
export interface AlarmRule {
  /** With hyphens; it is the end of the alarm's name. */
  readonly id: string;
  readonly description: string;
  readonly metric: IMetric;
  readonly threshold: number;
  /** Periods that are looked at, when not one. */
  readonly evaluationPeriods?: number;
  /** How many of them must be above the threshold, when not all. */
  readonly datapointsToAlarm?: number;
}

/** The period of most metrics that alarms look at. */
export const fiveMinutes = Duration.minutes(5);

/** The sum of metrics; one that has no data point counts as 0 and does not take the value of the others away. */
export function filledSum(names: readonly string[]): string {
  return names.map((name) => `FILL(${name}, 0)`).join(" + ");
}

/** Metrics that one alarm may calculate with (AWS docs: CloudWatch alarm based on a metric math expression). */
const metricsPerAlarm = 10;

/** As many rules as it takes for an alarm to calculate with all functions, named `<id>`, `<id>-2` and so on. */
export function byAlarm(
  id: string,
  functionIds: readonly string[],
  ruleOf: (id: string, functionIds: readonly string[]) => AlarmRule,
): AlarmRule[] {
  return Array.from({ length: Math.ceil(functionIds.length / metricsPerAlarm) }, (_, n) => {
    const some = functionIds.slice(n * metricsPerAlarm, (n + 1) * metricsPerAlarm);
    return ruleOf(n === 0 ? id : `${id}-${n + 1}`, some);
  });
}
