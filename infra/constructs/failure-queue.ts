import { Duration } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import { type StageConfig, serviceName } from "../stages.ts";
import { acknowledge } from "./acknowledge.ts";

/** A queue for what could not be done. Nothing reads it by itself: an alarm calls a person. */
export function failureQueue(scope: Construct, id: string, config: StageConfig, purpose: string, fifo = false): Queue {
  const queue = new Queue(scope, id, {
    queueName: `${serviceName}-${config.stage}-${purpose}${fifo ? ".fifo" : ""}`,
    ...(fifo && { fifo }),
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(limits.queues.dead_letter_days),
  });
  acknowledge(queue, "AwsSolutions-SQS3", "The queue is itself the place where failures end.");
  return queue;
}
