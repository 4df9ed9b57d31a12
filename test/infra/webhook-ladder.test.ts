import { describe, expect, test } from "vitest";
import { routes } from "../../shared/routes/index.ts";
import type { Stage } from "../../shared/routes/route.ts";
import { at, functionOf, ofType, only } from "./assembly.ts";
import { synthesized } from "./stack-cases.ts";

describe("the webhook ladder", () => {
  /** Concurrency of both lanes and of each queue of retries, written out a second time on purpose. */
  const concurrency = { sandbox: [6, 2, 2, 2, 2], production: [35, 5, 10, 10, 10] } as const;
  const names = ["deliver", "deliver-unproven", "retry-1m", "retry-5m", "retry-long"] as const;

  function queueOf(stage: Stage, name: string) {
    const queues = ofType(synthesized(stage), "AWS::SQS::Queue");
    return only(queues.filter(({ properties }) => properties["QueueName"] === `brokerage-${stage}-${name}`));
  }

  /** The mapping that reads a queue. */
  function mappingOf(stage: Stage, name: string) {
    const source = new RegExp(`Ladder${name.replaceAll("-", "")}[0-9A-F]{8}Arn`);
    const mappings = ofType(synthesized(stage), "AWS::Lambda::EventSourceMapping");
    return only(mappings.filter(({ properties }) => source.test(JSON.stringify(properties["EventSourceArn"]))));
  }

  test.each(["sandbox", "production"] as const)("of %s hides messages for six timeouts of the deliverer", (stage) => {
    const deliver = functionOf(synthesized(stage), `brokerage-${stage}-deliver`);
    expect(deliver.properties["Timeout"]).toBe(20);
    for (const name of names) expect(queueOf(stage, name).properties["VisibilityTimeout"]).toBe(120);
  });

  test("delays each message for itself: no queue has a delay of its own", () => {
    for (const name of names) expect(queueOf("production", name).properties["DelaySeconds"]).toBeUndefined();
  });

  test("sends a message to the dead letters after five receives, which tell of poison and nothing else", () => {
    const dead = queueOf("production", "deliver-dead");
    for (const name of names) {
      expect(queueOf("production", name).properties["RedrivePolicy"]).toEqual({
        deadLetterTargetArn: { "Fn::GetAtt": [dead.logicalId, "Arn"] },
        maxReceiveCount: 5,
      });
    }
    expect(dead.properties["RedrivePolicy"]).toBeUndefined();
  });

  test.each(["sandbox", "production"] as const)("of %s bounds each queue and reserves what they need", (stage) => {
    const found = names.map((name) => mappingOf(stage, name).properties);
    expect(found.map((mapping) => at(mapping["ScalingConfig"], "MaximumConcurrency"))).toEqual(concurrency[stage]);
    for (const mapping of found) {
      expect(mapping).toMatchObject({
        BatchSize: 10,
        MaximumBatchingWindowInSeconds: 0,
        FunctionResponseTypes: ["ReportBatchItemFailures"],
      });
    }
    const deliver = functionOf(synthesized(stage), `brokerage-${stage}-deliver`);
    const needed = concurrency[stage].reduce((sum, one) => sum + one, 0);
    expect(deliver.properties["ReservedConcurrentExecutions"]).toBe(needed);
  });

  test("calls a person for a dead letter, and for a message that is 300 s older than its delay can be", () => {
    const alarms = ofType(synthesized("production"), "AWS::CloudWatch::Alarm");
    const alarmOf = (name: string) =>
      only(alarms.filter(({ properties }) => properties["AlarmName"] === `brokerage-production-${name}`)).properties;
    expect(alarmOf("deliver-dead")).toMatchObject({
      MetricName: "ApproximateNumberOfMessagesVisible",
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
    });
    const ages = names.map((name) => alarmOf(`${name}-late`));
    expect(ages.map(({ Threshold: threshold }) => threshold)).toEqual([300, 600, 366, 630, 1200]);
    for (const { MetricName: metric } of ages) expect(metric).toBe("ApproximateAgeOfOldestMessage");
  });

  test("gives its addresses to the functions that send, and to no other", () => {
    const addresses = (id: string) => {
      const lambda = functionOf(synthesized("sandbox"), `brokerage-sandbox-${id}`);
      const variables = Object.entries(Object(at(lambda.properties["Environment"], "Variables")));
      return variables.flatMap(([name, value]) => {
        const queue = /Ladder([a-z0-9]+?)[0-9A-F]{8}Ref/.exec(JSON.stringify(value))?.[1];
        return queue === undefined ? [] : [`${name} ${queue}`];
      });
    };
    const [deliver, ...retries] = [
      "DELIVER_QUEUE_URL deliver",
      "DELIVER_UNPROVEN_QUEUE_URL deliverunproven",
      "RETRY_1M_QUEUE_URL retry1m",
      "RETRY_5M_QUEUE_URL retry5m",
      "RETRY_LONG_QUEUE_URL retrylong",
    ];
    expect(addresses("publish")).toEqual([deliver]);
    expect(addresses("sweep-events")).toEqual([deliver, "RETRY_LONG_QUEUE_URL retrylong"]);
    expect(addresses("deliver")).toEqual([deliver, ...retries]);
    const senders = routes.filter(({ queues }) => queues !== undefined).map(({ id }) => id.replaceAll("_", "-"));
    for (const id of senders) expect(addresses(id)).toEqual([deliver]);
    const others = ["provision", "authorize", "get-me", "create-client"];
    expect(others.flatMap(addresses)).toEqual([]);
  });
});
