import { describe, expect, test } from "vitest";
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
      const concurrency = { sandbox: [4, 2], production: [20, 10] }[stage];
      for (const [place, name] of ["publish", "fan-out"].entries()) {
        const lambda = functionOf(synthesized(stage), `brokerage-${stage}-${name}`);
        expect(lambda.properties["ReservedConcurrentExecutions"]).toBe(concurrency[place]);
      }
      expect(functionOf(synthesized(stage), `brokerage-${stage}-publish`).properties["Timeout"]).toBe(5);
      const { properties: route } = functionOf(synthesized(stage), `brokerage-${stage}-route`);
      expect(at(route["Environment"], "Variables", "ROUTER_PAUSE_MS")).toBe("200");
    },
  );

  test("call a person for a commit that was parked, a dead letter, and a message that is 60 s or 300 s old", () => {
    const alarms = ofType(synthesized("production"), "AWS::CloudWatch::Alarm");
    const alarmOf = (name: string) =>
      only(alarms.filter(({ properties }) => properties["AlarmName"] === `brokerage-production-${name}`)).properties;
    expect(alarmOf("outbox-parked")).toMatchObject({ MetricName: "OutboxParked", Threshold: 0 });
    expect(alarmOf("publish-late")).toMatchObject({ MetricName: "ApproximateAgeOfOldestMessage", Threshold: 60 });
    expect(alarmOf("fan-out-late")).toMatchObject({ MetricName: "ApproximateAgeOfOldestMessage", Threshold: 300 });
    for (const name of ["publish-dead", "fan-out-dead", "route-failures"]) {
      expect(alarmOf(name)).toMatchObject({ MetricName: "ApproximateNumberOfMessagesVisible", Threshold: 0 });
    }
  });
});
