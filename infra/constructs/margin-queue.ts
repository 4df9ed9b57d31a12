import { Duration } from "aws-cdk-lib";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { type StageConfig, serviceName } from "../stages.ts";
import { failureQueue } from "./failure-queue.ts";
import { allow } from "./grants.ts";
import type { ServiceFunction } from "./service-function.ts";

/** Accounts that one invocation evaluates side by side. Ten is the most that a mapping takes without waiting. */
const batchSize = 10;
/** AWS docs: a queue that a function reads hides a message for six timeouts of the function. */
const visibilityTimeouts = 6;
/** AWS docs: fewer than five receives may send a message away although only Lambda itself was too busy for it. */
const maxReceives = 5;
/** A message only wakes: prices and accounts are read when it is seen, so an old one does no harm and little good. */
const retention = Duration.hours(1);
/** An account that a price has put below its level must not wait for long. */
const lateSeconds = 60;

/** What the queue is built for. */
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
      visibilityTimeout: Duration.seconds(visibilityTimeouts * timeoutSeconds),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: maxReceives },
    });
  }

  /** The queue and the age of a message, in seconds, at which a person has to look. */
  get workQueues(): { readonly queue: Queue; readonly lateAfterSeconds: number }[] {
    return [{ queue: this.queue, lateAfterSeconds: lateSeconds }];
  }

  /** Address of the queue for a function that sends to it. */
  get environment(): Record<string, string> {
    return { MARGIN_QUEUE_URL: this.queue.queueUrl };
  }

  /** May ask for evaluations. */
  sendStatement(): PolicyStatement {
    return allow("SendAccounts", ["sqs:SendMessage"], [this.queue.queueArn]);
  }

  /** What Lambda does in the name of the function that reads the queue. */
  receiveStatement(): PolicyStatement {
    const actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
    return allow("ReceiveAccounts", actions, [this.queue.queueArn]);
  }

  /** Lets a function work on what the queue holds. */
  connect(evaluate: ServiceFunction): void {
    new CfnEventSourceMapping(evaluate, "FromMargin", {
      functionName: evaluate.lambda.functionName,
      eventSourceArn: this.queue.queueArn,
      batchSize,
      maximumBatchingWindowInSeconds: 0,
      // One account that fails does not bring back the nine beside it.
      functionResponseTypes: ["ReportBatchItemFailures"],
      scalingConfig: { maximumConcurrency: this.config.evaluations.concurrency },
    });
  }
}
