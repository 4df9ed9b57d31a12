import { Logger } from "@aws-lambda-powertools/logger";

/**
 * The logger of a function: one JSON line per entry. Callers pass identifiers, codes and durations, never bodies,
 * tokens or personal data; a test plants canaries and searches every line.
 */
export const log = new Logger();

/** A metric in CloudWatch's embedded metric format: one log line, no call, no library. */
export function countMetric(
  name: "RateCounterFailedOpen" | "EventPublishFailed" | "DeliveryMessageFailed",
  value = 1,
): void {
  const metric = { Namespace: "Brokerage", Dimensions: [["stage"]], Metrics: [{ Name: name, Unit: "Count" }] };
  const line = {
    _aws: { Timestamp: Date.now(), CloudWatchMetrics: [metric] },
    stage: process.env["STAGE"],
    [name]: value,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
