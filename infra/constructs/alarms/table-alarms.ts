import { MathExpression, Metric } from "aws-cdk-lib/aws-cloudwatch";
import { indexes } from "../../../shared/table/table-shape.ts";
import type { StageTable } from "../table.ts";
import { type AlarmRule, filledSum, fiveMinutes } from "./alarm-rule.ts";

/** The tables of a stage; `main` has the indexes, and all transactions. */
export interface WatchedTables {
  readonly main: StageTable;
  readonly volatile: StageTable;
}

/** Share of the transactions that may be lost to others, and how many must be lost for the share to mean anything. */
const conflictPercent = 20;
const fewConflicts = 50;

const throttles = ["ReadThrottleEvents", "WriteThrottleEvents"] as const;

/** Alarms on what DynamoDB refuses: throttles of the tables and of each index, and transactions that met others. */
export function tableRules({ main, volatile }: WatchedTables): AlarmRule[] {
  // The keys of persons have a partition each and few calls: what fails with them is an error of its function.
  const ofTables = [main, volatile].map((table) => ({ TableName: table.tableName }));
  const ofIndexes = Object.values(indexes).map(({ name }) => ({
    TableName: main.tableName,
    GlobalSecondaryIndexName: name,
  }));
  return [
    throttleRule("table-throttles", "DynamoDB throttles: a partition of a table is hot.", ofTables),
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
