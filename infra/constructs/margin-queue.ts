import { Duration } from "aws-cdk-lib";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import { type StageConfig, serviceName } from "../stages.ts";
import { failureQueue } from "./failure-queue.ts";
import { allow } from "./grants.ts";
import type { ServiceFunction } from "./service-function.ts";

/** A message only wakes: prices and accounts are read when it is seen, so an old one does no harm and little good. */
const retention = Duration.hours(1);

/** Settings of the queue. */
export interface MarginQueueProps {
  readonly config: StageConfig;
  /** Timeout of the function that reads the queue. */
  readonly timeoutSeconds: number;
}

/** The queue between a price and the accounts that it must be judged for, and where messages end that crash. */
export class MarginQueue extends Construct {
  readonly deadLetters: Queue;
  private readonly queue: Queue;
  private readonly config: StageConfig;

  constructor(scope: Construct, id: string, { config, timeoutSeconds }: MarginQueueProps) {
    super(scope, id);
    this.config = config;
    this.deadLetters = failureQueue(this, "margin-dead", config, "margin-dead");
    this.queue = new Queue(this, "margin", {
      queueName: `${serviceName}-${config.stage}-margin`,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: retention,
      visibilityTimeout: Duration.seconds(limits.queues.visibility_timeouts * timeoutSeconds),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: limits.queues.max_receives },
    });
  }

  /** The queue and the age of a message, in seconds, at which a person has to look. */
  get workQueues(): { readonly queue: Queue; readonly lateAfterSeconds: number }[] {
    return [{ queue: this.queue, lateAfterSeconds: limits.queues.late_evaluation_seconds }];
  }

  /** Invocations that the queue starts at the same time. */
  get concurrency(): number {
    return this.config.evaluations.concurrency;
  }

  /** Address of the queue for a function that sends to it. */
  get environment(): Record<string, string> {
    return { MARGIN_QUEUE_URL: this.queue.queueUrl };
  }

  /** May ask for evaluations. */
  sendStatement(): PolicyStatement {
    return allow("SendAccounts", ["sqs:SendMessage"], [this.queue.queueArn]);
  }

  /** Rights of Lambda in the name of the function that reads the queue. */
  receiveStatement(): PolicyStatement {
    const actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
    return allow("ReceiveAccounts", actions, [this.queue.queueArn]);
  }

  /** Lets a function work on what the queue holds. */
  connect(evaluate: ServiceFunction): void {
    new CfnEventSourceMapping(evaluate, "FromMargin", {
      functionName: evaluate.lambda.functionName,
      eventSourceArn: this.queue.queueArn,
      batchSize: limits.queues.messages_per_invocation,
      maximumBatchingWindowInSeconds: 0,
      // One account that fails does not bring back the nine others.
      functionResponseTypes: ["ReportBatchItemFailures"],
      scalingConfig: { maximumConcurrency: this.concurrency },
    });
  }
}
