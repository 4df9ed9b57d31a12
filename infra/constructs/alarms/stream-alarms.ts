import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import { type AlarmRule, fiveMinutes } from "./alarm-rule.ts";

/** A failure that is repeated by itself, of which single ones are no reason to wake a person. */
const lasting = { threshold: 0, evaluationPeriods: 3, datapointsToAlarm: 2 } as const;

/** Alarms on the stream by the metrics of the functions. */
export const streamAlarms = [
  {
    id: "stream-wake-failed",
    description: "The worker of the stream could not be woken; events reach connections up to a minute late.",
    metricName: "StreamWakeFailed",
    ...lasting,
  },
  {
    id: "stream-post-failed",
    description: "API Gateway refuses messages for open connections as not allowed or too large.",
    metricName: "StreamPostFailed",
    ...lasting,
  },
] as const;

/**
 * Alarm on handshakes and messages that failed before or in the function: to its clients, 5xx and "Internal server
 * error". Neither refusals by the functions nor expired tokens are counted.
 */
export function streamErrorRule(dimensionsMap: { readonly ApiId: string; readonly Stage: string }): AlarmRule {
  return {
    id: "stream-errors",
    description: "Clients cannot connect to the stream, or their messages fail.",
    metric: new Metric({
      namespace: "AWS/ApiGateway",
      metricName: "ExecutionError",
      dimensionsMap: { ...dimensionsMap },
      statistic: "Sum",
      period: fiveMinutes,
    }),
    ...lasting,
  };
}
