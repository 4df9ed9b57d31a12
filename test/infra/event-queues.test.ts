import { describe, expect, test } from "vitest";
import { limits } from "../../shared/limits.ts";
import { at, functionOf, ofType, only } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

describe("the queues of events", () => {
  test.each(["sandbox", "production"] as const)(
    "of %s: a FIFO queue with limits by brokerage, visible again after 7 s, and a queue of many deliveries",
    (stage) => {
      const queueOf = (name: string) =>
        only(
          ofType(synthesized(stage), "AWS::SQS::Queue").filter(
            ({ properties }) => properties["QueueName"] === `brokerage-${stage}-${name}`,
          ),
        );
      const fifo = { FifoQueue: true, DeduplicationScope: "messageGroup", FifoThroughputLimit: "perMessageGroupId" };
      expect(queueOf("publish.fifo").properties).toMatchObject({ ...fifo, VisibilityTimeout: 7 });
      expect(queueOf("publish.fifo").properties["ContentBasedDeduplication"]).toBeUndefined();
      expect(queueOf("publish-dead.fifo").properties).toMatchObject({ FifoQueue: true });
      expect(queueOf("fan-out").properties["FifoQueue"]).toBeUndefined();
      const concurrency = { sandbox: [4, 2, 2], production: [20, 10, 2] }[stage];
      for (const [place, name] of ["publish", "fan-out", "record-refusals"].entries()) {
        const lambda = functionOf(synthesized(stage), `brokerage-${stage}-${name}`);
        expect(lambda.properties["ReservedConcurrentExecutions"]).toBe(concurrency[place]);
      }
      expect(functionOf(synthesized(stage), `brokerage-${stage}-publish`).properties["Timeout"]).toBe(5);
      const { properties: route } = functionOf(synthesized(stage), `brokerage-${stage}-route`);
      expect(at(route["Environment"], "Variables", "ROUTER_PAUSE_MS")).toBe("200");
    },
  );

  test("of refusals hands over 90 in a second, so that a flood of one actor is a few transactions", () => {
    const mappings = ofType(synthesized("production"), "AWS::Lambda::EventSourceMapping");
    const mapping = only(
      mappings.filter(({ properties }) => /Refusalsrefusals/.test(JSON.stringify(properties["EventSourceArn"]))),
    );
    expect(mapping.properties).toMatchObject({
      ...{ BatchSize: 90, MaximumBatchingWindowInSeconds: 1, FunctionResponseTypes: ["ReportBatchItemFailures"] },
      ScalingConfig: { MaximumConcurrency: 2 },
    });
  });

  test("of refusals shows a batch that failed again before what it is counted with has its entry", () => {
    const queues = ofType(synthesized("production"), "AWS::SQS::Queue");
    const queue = only(queues.filter(({ properties }) => properties["QueueName"] === "brokerage-production-refusals"));
    const hidden = Number(queue.properties["VisibilityTimeout"]);
    expect([hidden, hidden < limits.audit.refusals_settle_seconds]).toEqual([180, true]);
  });

  test("call a person for a commit that was parked, a dead letter, and a message that is 60 s or 300 s old", () => {
    const alarms = ofType(synthesized("production"), "AWS::CloudWatch::Alarm");
    const alarmOf = (name: string) =>
      only(alarms.filter(({ properties }) => properties["AlarmName"] === `brokerage-production-${name}`)).properties;
    expect(alarmOf("outbox-parked")).toMatchObject({ MetricName: "OutboxParked", Threshold: 0 });
    expect(alarmOf("publish-late")).toMatchObject({ MetricName: "ApproximateAgeOfOldestMessage", Threshold: 60 });
    expect(alarmOf("fan-out-late")).toMatchObject({ MetricName: "ApproximateAgeOfOldestMessage", Threshold: 300 });
    expect(alarmOf("refusals-late")).toMatchObject({ MetricName: "ApproximateAgeOfOldestMessage", Threshold: 900 });
    expect(alarmOf("refusal-not-reported")).toMatchObject({ MetricName: "RefusalNotReported", Threshold: 0 });
    for (const name of ["publish-dead", "fan-out-dead", "refusals-dead", "route-failures"]) {
      expect(alarmOf(name)).toMatchObject({ MetricName: "ApproximateNumberOfMessagesVisible", Threshold: 0 });
    }
  });
});
