import type { Resource } from "../../../infra/local/template/assembly.ts";
import { type Metric, type MetricData, minutesOfSlot, statistic } from "./metric-data.ts";
import { calculate } from "./metric-math.ts";

interface Watched {
  readonly id: string;
  readonly metric: Metric;
  readonly statistic: string;
}

/** An alarm of a template, as far as its state depends on it. */
export interface Alarm {
  /** Its name without those of the service and the stage. */
  readonly id: string;
  readonly watched: readonly Watched[];
  /** Metric math over the ids of what is watched. */
  readonly expression: string;
  readonly slotsOfPeriod: number;
  readonly threshold: number;
  readonly evaluationPeriods: number;
  readonly datapointsToAlarm: number;
}

interface NamedMetric {
  readonly MetricName: string;
  readonly Namespace: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
}

interface Query {
  readonly Id: string;
  readonly Expression?: string;
  readonly MetricStat?: { readonly Metric: NamedMetric; readonly Period: number; readonly Stat: string };
}

interface AlarmProperties extends NamedMetric {
  readonly AlarmName: string;
  readonly ComparisonOperator: string;
  readonly TreatMissingData: string;
  readonly Threshold: number;
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm: number;
  readonly Period?: number;
  readonly Statistic?: string;
  readonly ExtendedStatistic?: string;
  readonly Metrics?: readonly Query[];
}

function metricOf({ Namespace, MetricName, Dimensions = [] }: NamedMetric): Metric {
  const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value]));
  return { namespace: Namespace, name: MetricName, dimensions };
}

/** The only one of these; an alarm has one expression and one period. */
function one<T>(values: readonly T[], what: string): T {
  const [first, ...others] = new Set(values);
  if (first === undefined || others.length > 0) throw new Error(`${what} is not one value: ${values}.`);
  return first;
}

/** Reads an alarm from a resource of a template. */
export function alarmOf(stage: string, { properties }: Resource): Alarm {
  const alarm = properties as unknown as AlarmProperties;
  const { AlarmName, ComparisonOperator, TreatMissingData } = alarm;
  if (ComparisonOperator !== "GreaterThanThreshold" || TreatMissingData !== "notBreaching") {
    throw new Error(`${AlarmName} compares by ${ComparisonOperator} and ${TreatMissingData}, which is not known here.`);
  }
  const single = { Metric: alarm, Period: alarm.Period ?? 0, Stat: alarm.Statistic ?? alarm.ExtendedStatistic ?? "" };
  const queries: readonly Query[] = alarm.Metrics ?? [
    { Id: "all", Expression: "m" },
    { Id: "m", MetricStat: single },
  ];
  const read = queries.flatMap(({ Id, MetricStat }) => (MetricStat === undefined ? [] : [{ Id, ...MetricStat }]));
  const seconds = one(
    read.map(({ Period }) => Period),
    `The period of ${AlarmName}`,
  );
  return {
    id: AlarmName.replace(`brokerage-${stage}-`, ""),
    watched: read.map(({ Id, Metric: metric, Stat }) => ({ id: Id, metric: metricOf(metric), statistic: Stat })),
    expression: one(
      queries.flatMap(({ Expression }) => Expression ?? []),
      `The expression of ${AlarmName}`,
    ),
    slotsOfPeriod: seconds / 60 / minutesOfSlot,
    threshold: alarm.Threshold,
    evaluationPeriods: alarm.EvaluationPeriods,
    datapointsToAlarm: alarm.DatapointsToAlarm,
  };
}

/** Whether the value of a period is above the threshold; without a value it is not. */
function breaches(alarm: Alarm, data: MetricData, period: number): boolean {
  const slots = Array.from({ length: alarm.slotsOfPeriod }, (_, n) => period * alarm.slotsOfPeriod + n);
  const values = alarm.watched.map(({ id, metric, statistic: name }) => {
    const samples = slots.flatMap((slot) => data(metric, slot));
    return [id, statistic(name, samples)] as const;
  });
  const value = calculate(alarm.expression, Object.fromEntries(values));
  return typeof value === "number" && value > alarm.threshold;
}

/** When an alarm changes its state, in minutes from the beginning of the data: it is raised, ends, and so on. */
export function changesOf(alarm: Alarm, data: MetricData, slots: number): readonly number[] {
  const found: boolean[] = [];
  const changes: number[] = [];
  for (let period = 0; (period + 1) * alarm.slotsOfPeriod <= slots; period += 1) {
    found.push(breaches(alarm, data, period));
    const breaching = found.slice(-alarm.evaluationPeriods).filter(Boolean).length;
    const isRaised = breaching >= alarm.datapointsToAlarm;
    if (isRaised !== (changes.length % 2 === 1)) {
      changes.push((period + 1) * alarm.slotsOfPeriod * minutesOfSlot);
    }
  }
  return changes;
}
