import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { UsageError } from "../../../shared/runtime/command-line.ts";
import { type Resource, readAssembly } from "../../local/template/assembly.ts";
import { charges } from "./resource-types.ts";

/** A function that is invoked by the clock. */
export interface ScheduledRun {
  /** Id of the function. */
  readonly id: string;
  readonly runs_per_minute: number;
}

/** The function that keeps others warm; the schedule says which. */
const warmer = "keep-warm";

/** Parts of a synthesized stage that cost. */
export interface CostedStage {
  /** Memory of each function, MB, by its id with hyphens. */
  readonly memory_mb: ReadonlyMap<string, number>;
  /** Metrics of all alarms; one that calculates counts each metric that it reads. */
  readonly alarm_metrics: number;
  readonly alarms: number;
  readonly dashboards: number;
  readonly secrets: number;
  readonly keys: number;
  readonly schedules: readonly ScheduledRun[];
  /** Functions of which an environment is kept warm, by their ids with hyphens. */
  readonly warmed: ReadonlySet<string>;
  /** Functions that wait at a queue, by the kind of the queue. */
  readonly polled: { readonly standard: number; readonly fifo: number };
  /** Whether a table can be restored to any second. */
  readonly recovery: boolean;
  /** Regions with a copy of a table. */
  readonly copies: number;
  readonly log_days: number;
}

/**
 * Reads what costs from the folder of a synthesized stage.
 * @throws UsageError where there is no such folder, or the template has a type that has no price
 */
export function costedStage(place: string): CostedStage {
  const directory = place.endsWith(".json") ? dirname(place) : place;
  if (!existsSync(join(directory, "manifest.json"))) {
    throw new UsageError(`There is no synthesized stage in ${directory}; npm run synth makes cdk.out/<stage>.`);
  }
  return costOf(readAssembly(directory).resources);
}

/**
 * The charged parts of these resources.
 * @throws UsageError for a type without a price
 */
export function costOf(resources: readonly Resource[]): CostedStage {
  const unknown = [...new Set(resources.map(({ type }) => type))].filter((type) => charges[type] === undefined);
  if (unknown.length > 0) {
    throw new UsageError(`No price is known of ${unknown.join(", ")}; see infra/tools/cost/resource-types.ts.`);
  }
  const of = (type: string) => resources.filter((resource) => resource.type === type);
  const alarms = of("AWS::CloudWatch::Alarm");
  const functions = of("AWS::Lambda::Function").filter(({ properties }) => properties["FunctionName"] !== undefined);
  const idOf = ({ physical_id }: Resource) => physical_id.split("-").slice(2).join("-");
  const warmed = new Set<string>();
  const runs = of("AWS::Scheduler::Schedule").map(({ properties, path }) => {
    const { Arn: target, Input: input = "{}" } = properties["Target"] as { readonly Arn: string; Input?: string };
    const run = functions.find(({ attributes }) => attributes["Arn"] === target);
    if (run === undefined) throw new UsageError(`${path} invokes no function of the stage.`);
    if (idOf(run) === warmer) for (const id of String(JSON.parse(input).functions).split(" ")) warmed.add(id);
    return { id: idOf(run), runs_per_minute: ratePerMinute(String(properties["ScheduleExpression"])) };
  });
  const sources = of("AWS::Lambda::EventSourceMapping").map(({ properties }) => String(properties["EventSourceArn"]));
  const queues = sources.filter((arn) => arn.includes(":sqs:"));
  const [log] = of("AWS::Logs::LogGroup");
  return {
    memory_mb: new Map(functions.map((one) => [idOf(one), Number(one.properties["MemorySize"])])),
    alarm_metrics: alarms.reduce((sum, { properties }) => sum + metricsOf(properties), 0),
    alarms: alarms.length,
    dashboards: of("AWS::CloudWatch::Dashboard").length,
    secrets: of("AWS::SecretsManager::Secret").length,
    keys: of("AWS::KMS::Key").length,
    ...{ schedules: runs, warmed },
    polled: {
      standard: queues.filter((arn) => !arn.endsWith(".fifo")).length,
      fifo: queues.filter((arn) => arn.endsWith(".fifo")).length,
    },
    recovery: of("AWS::DynamoDB::GlobalTable").some(({ properties }) => hasRecovery(properties)),
    copies: of("AWS::DynamoDB::GlobalTable").reduce((sum, { properties }) => sum + replicasOf(properties) - 1, 0),
    log_days: Number(log?.properties["RetentionInDays"] ?? 0),
  };
}

function replicasOf({ Replicas: replicas }: Resource["properties"]): number {
  return Array.isArray(replicas) ? replicas.length : 1;
}

function hasRecovery({ Replicas: replicas }: Resource["properties"]): boolean {
  return JSON.stringify(replicas).includes('"PointInTimeRecoveryEnabled":true');
}

/** Metrics that an alarm reads: its own one, or those of its expression. */
function metricsOf(properties: Resource["properties"]): number {
  const { Metrics: list } = properties as { readonly Metrics?: readonly { readonly MetricStat?: object }[] };
  return list === undefined ? 1 : list.filter(({ MetricStat }) => MetricStat !== undefined).length;
}

const minutesOf: Readonly<Record<string, number>> = { minute: 1, hour: 60, day: 1440 };

/** How often `rate(5 minutes)` is, per minute. */
function ratePerMinute(expression: string): number {
  const [, count, unit = ""] = /^rate\((\d+) (\w+?)s?\)$/.exec(expression) ?? [];
  const minutes = Number(count) * (minutesOf[unit] ?? Number.NaN);
  if (!(minutes > 0)) throw new UsageError(`The schedule "${expression}" is no rate whose price is known.`);
  return 1 / minutes;
}
