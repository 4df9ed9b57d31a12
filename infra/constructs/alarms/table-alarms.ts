import { MathExpression, Metric } from "aws-cdk-lib/aws-cloudwatch";
import { indexes } from "../../../shared/table/table-shape.ts";
import type { StageTable } from "../table.ts";
import { type AlarmRule, filledSum, fiveMinutes } from "./alarm-rule.ts";

/** Share of the transactions that may be lost to others, and how many must be lost for the share to mean anything. */
const conflictPercent = 20;
const fewConflicts = 50;

const throttles = ["ReadThrottleEvents", "WriteThrottleEvents"] as const;

/**
 * Alarms on what DynamoDB refuses: throttles of the business table and of each index, and transactions that met others.
 * Each metric costs 0.10 USD a month, so the other tables have none: every request counts itself in the volatile one,
 * and where that write is throttled `counter-failed-open` is raised; calls to the table of keys are few, and one that
 * fails is an error of its function.
 */
export function tableRules(main: StageTable): AlarmRule[] {
  const ofIndexes = Object.values(indexes).map(({ name }) => ({
    TableName: main.tableName,
    GlobalSecondaryIndexName: name,
  }));
  return [
    throttleRule("table-throttles", "DynamoDB throttles: a partition of the business table is hot.", [
      { TableName: main.tableName },
    ]),
    throttleRule(
      "index-throttles",
      "DynamoDB throttles an index: one that takes no writes stops the writes of its table as well.",
      ofIndexes,
    ),
    conflictRule(main),
  ];
}

function tableMetric(metricName: string, dimensionsMap: Record<string, string>, statistic = "Sum"): Metric {
  return new Metric({ namespace: "AWS/DynamoDB", metricName, dimensionsMap, statistic, period: fiveMinutes });
}

function throttleRule(id: string, description: string, places: readonly Record<string, string>[]): AlarmRule {
  const metrics = places.flatMap((place, n) =>
    throttles.map((metricName, m) => [`t${n}${m}`, tableMetric(metricName, place)] as const),
  );
  return {
    id,
    description,
    metric: new MathExpression({
      expression: filledSum(metrics.map(([name]) => name)),
      usingMetrics: Object.fromEntries(metrics),
      label: "throttled",
      period: fiveMinutes,
    }),
    threshold: 0,
    evaluationPeriods: 3,
    datapointsToAlarm: 2,
  };
}

/**
 * Percent of transactions that met another one. A few always do, and are tried again: many mean that commits follow
 * each other on one item faster than it can be written. DynamoDB counts the items of a transaction that met another
 * one and not the transaction (AWS docs: DynamoDB metrics), so the share is at most too high.
 */
function conflictRule({ tableName: TableName }: StageTable): AlarmRule {
  const operation = { TableName, Operation: "TransactWriteItems" };
  const lost = "FILL(conflicts, 0)";
  return {
    id: "transaction-conflicts",
    description: `More than ${conflictPercent} % of the transactions met another one on the same item.`,
    metric: new MathExpression({
      expression: `IF(${lost} > ${fewConflicts}, 100 * ${lost} / (${lost} + FILL(commits, 0)), 0)`,
      usingMetrics: {
        conflicts: tableMetric("TransactionConflict", { TableName }),
        commits: tableMetric("SuccessfulRequestLatency", operation, "SampleCount"),
      },
      label: "conflicts %",
      period: fiveMinutes,
    }),
    threshold: conflictPercent,
    evaluationPeriods: 3,
    datapointsToAlarm: 3,
  };
}
