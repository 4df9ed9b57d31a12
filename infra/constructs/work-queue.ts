import { Duration } from "aws-cdk-lib";
import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { limits } from "../../shared/limits.ts";
import { type StageConfig, serviceName } from "../stages.ts";
import { failureQueue } from "./failure-queue.ts";
import { allow } from "./grants.ts";
import type { ServiceFunction } from "./service-function.ts";

/** Settings of a queue. */
export interface WorkQueueProps {
  readonly config: StageConfig;
  /** Its name in the stage, with hyphens. */
  readonly name: string;
  /** In the names of the statements: `Keys` becomes `SendKeys` and `ReceiveKeys`. */
  readonly noun: string;
  /**
   * Whether each message group is worked on in order, one batch at a time. Such a queue counts its limits by group
   * (AWS docs: high throughput for FIFO queues): without that, 300 calls a second are shared by all of them.
   */
  readonly fifo: boolean;
  /** Variable that a sender finds the address in. */
  readonly variable: string;
  /** Timeout of the function that reads the queue. */
  readonly timeoutSeconds: number;
  /** How long a message is hidden that was received, when not for six timeouts. */
  readonly visibilitySeconds?: number;
  /** Receives after which a message is a dead letter, when not five. */
  readonly maxReceives?: number;
  /** Invocations that the queue starts at the same time. */
  readonly concurrency: number;
  /** Age of a message at which an operator has to look. */
  readonly lateAfterSeconds: number;
  /** Days that a message is kept which is the only copy of what it says; without it a message only wakes. */
  readonly keptDays?: number;
  /** Messages of one invocation, when not ten, and how long Lambda waits for so many. */
  readonly batch?: { readonly messages: number; readonly windowSeconds: number };
}

/** A queue that one function works on, and where messages end that crash it. */
export class WorkQueue extends Construct {
  readonly deadLetters: Queue;
  private readonly queue: Queue;
  private readonly props: WorkQueueProps;

  constructor(scope: Construct, id: string, props: WorkQueueProps) {
    super(scope, id);
    this.props = props;
    const { config, name, fifo, timeoutSeconds } = props;
    const { visibilitySeconds = limits.queues.visibility_timeouts * timeoutSeconds } = props;
    const { maxReceives = limits.queues.max_receives } = props;
    this.deadLetters = failureQueue(this, `${name}-dead`, config, `${name}-dead`, fifo);
    this.queue = new Queue(this, name, {
      queueName: `${serviceName}-${config.stage}-${name}${fifo ? ".fifo" : ""}`,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(props.keptDays ?? limits.queues.wake_up_days),
      visibilityTimeout: Duration.seconds(visibilitySeconds),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: maxReceives },
      ...(fifo && {
        fifo,
        deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
        fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
      }),
    });
  }

  /** The queue and the age of a message, in seconds, at which a person has to look. */
  get workQueues(): { readonly queue: Queue; readonly lateAfterSeconds: number }[] {
    return [{ queue: this.queue, lateAfterSeconds: this.props.lateAfterSeconds }];
  }

  /** Invocations that the queue starts at the same time. */
  get concurrency(): number {
    return this.props.concurrency;
  }

  /** Address of the queue for a function that sends to it. */
  get environment(): Record<string, string> {
    return { [this.props.variable]: this.queue.queueUrl };
  }

  /** May send to the queue. */
  sendStatement(): PolicyStatement {
    return allow(`Send${this.props.noun}`, ["sqs:SendMessage"], [this.queue.queueArn]);
  }

  /** Rights of Lambda in the name of the function that reads the queue. */
  receiveStatement(): PolicyStatement {
    const actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
    return allow(`Receive${this.props.noun}`, actions, [this.queue.queueArn]);
  }

  /** Lets a function work on what the queue holds. */
  connect(reader: ServiceFunction): void {
    const { batch, fifo } = this.props;
    new CfnEventSourceMapping(reader, `From_${this.props.name}`, {
      functionName: reader.lambda.functionName,
      eventSourceArn: this.queue.queueArn,
      batchSize: batch?.messages ?? limits.queues.messages_per_invocation,
      // A FIFO queue takes no batching window.
      ...(!fifo && { maximumBatchingWindowInSeconds: batch?.windowSeconds ?? 0 }),
      // One message that fails does not bring back the others.
      functionResponseTypes: ["ReportBatchItemFailures"],
      scalingConfig: { maximumConcurrency: this.concurrency },
    });
  }
}
