import type { Template } from "../../checks/assembly.ts";
import { serviceName } from "../../stages.ts";
import { type Aws, elementOf } from "./aws.ts";

/**
 * Alarms that a version raises which is at fault: failing and slow requests, the authorizer's among them, functions
 * behind queues and streams that fail, events that are not published or late. CloudFormation takes five at most
 * (AWS docs: rollback triggers; ADR 0065).
 */
export const watchedAlarms = [
  "errors-fast-burn",
  "latency",
  "background-errors",
  "publish-failed",
  "iterator-age",
] as const;

/** How a deployment is watched. */
export interface Watch {
  /** ARNs of the alarms on which CloudFormation rolls it back. */
  readonly alarms: readonly string[];
  /** Names of those that are in alarm already, on which it does not. */
  readonly ringing: readonly string[];
}

/**
 * The alarms on which an update of a stage is rolled back. CloudFormation fails an update at once by an alarm that does
 * not exist, or that this update removes, and rolls back by one that was raised before, which would keep a repair from
 * being deployed.
 * @param stage name of the stage
 * @param next the template to deploy
 */
export async function alarmsToWatch(aws: Aws, stage: string, { Resources = {} }: Partial<Template>): Promise<Watch> {
  const kept = Object.values(Resources).map(({ Properties }) => Properties?.["AlarmName"]);
  const alarms: string[] = [];
  const ringing: string[] = [];
  for (const name of watchedAlarms.map((id) => `${serviceName}-${stage}-${id}`)) {
    const xml = await aws.query("monitoring", "DescribeAlarms", { "AlarmNames.member.1": name });
    const arn = elementOf(xml, "AlarmArn");
    if (arn === undefined || !kept.includes(name)) continue;
    if (elementOf(xml, "StateValue") === "ALARM") ringing.push(name);
    else alarms.push(arn);
  }
  return { alarms, ringing };
}

/**
 * Options of `cdk deploy` for what is watched and for how long after the last resource. Alarms of an earlier
 * deployment would stay with the stack, so none are said as well.
 */
export function watchOptions({ alarms }: Watch, minutes: number): string[] {
  const triggers = alarms.length === 0 ? ["none"] : alarms;
  return [
    ...(alarms.length === 0 ? [] : ["--monitoring-time-minutes", String(minutes)]),
    // One option for each: the CDK takes a second word after one for the name of a stack.
    ...triggers.flatMap((trigger) => ["--rollback-trigger-alarm-arns", trigger]),
  ];
}
