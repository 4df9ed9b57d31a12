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

/**
 * The queues that wake the deliverer (ADR 0045). First attempts and retries wait apart, so that a customer who is down
 * for a day never stands before one who is there; and endpoints that are not proven have a lane with workers of its
 * own, so that one that never answers does not stand there either (ADR 0031).
 */
const deliveryQueues = ["deliver", "deliver_unproven", "retry_1m", "retry_5m", "retry_long"] as const;

/** One of the queues that wake the deliverer. */
export type DeliveryQueue = (typeof deliveryQueues)[number];

/** Variable that a function finds the address of a queue in. */
const variables: Readonly<Record<DeliveryQueue, string>> = {
  deliver: "DELIVER_QUEUE_URL",
  deliver_unproven: "DELIVER_UNPROVEN_QUEUE_URL",
  retry_1m: "RETRY_1M_QUEUE_URL",
  retry_5m: "RETRY_5M_QUEUE_URL",
  retry_long: "RETRY_LONG_QUEUE_URL",
};

const { jitter_max: jitter, retry_delays_seconds: delays, closed_max_seconds: closed } = limits.webhooks;

/** Longest time that a message of each queue is held back on purpose. */
const longestDelaySeconds: Readonly<Record<DeliveryQueue, number>> = {
  deliver: 0,
  deliver_unproven: closed,
  retry_1m: Math.ceil(delays[0] * (1 + jitter)),
  retry_5m: Math.ceil(delays[1] * (1 + jitter)),
  retry_long: limits.queues.max_delay_seconds,
};

/**
 * A message only wakes: what it is about is in the table, where the sweep finds whatever a queue forgot. The
 * dead-letter queue keeps longer, since a message that is moved there does not start again.
 */
const retention = Duration.days(1);

/** Settings of the ladder. */
export interface WebhookLadderProps {
  readonly config: StageConfig;
  /** Timeout of the function that reads the queues. */
  readonly timeoutSeconds: number;
}

/** The queues between a published event and its receivers, and the one where messages end that crash their reader. */
export class WebhookLadder extends Construct {
  readonly queues: Readonly<Record<DeliveryQueue, Queue>>;
  readonly deadLetters: Queue;
  private readonly props: WebhookLadderProps;

  constructor(scope: Construct, id: string, props: WebhookLadderProps) {
    super(scope, id);
    this.props = props;
    this.deadLetters = failureQueue(this, "deliver-dead", props.config, "deliver-dead");
    const queues = deliveryQueues.map((name) => [name, this.makeQueue(name)] as const);
    this.queues = Object.fromEntries(queues) as Record<DeliveryQueue, Queue>;
  }

  /** Invocations that the queues start at the same time, all together. */
  get concurrency(): number {
    return deliveryQueues.reduce((sum, name) => sum + maximumConcurrency(this.props.config, name), 0);
  }

  /** The queues and the age of a message, in seconds, at which a person has to look. */
  get workQueues(): { readonly queue: Queue; readonly lateAfterSeconds: number }[] {
    return deliveryQueues.map((name) => ({
      queue: this.queues[name],
      lateAfterSeconds: longestDelaySeconds[name] + limits.queues.late_delivery_seconds,
    }));
  }

  /** Addresses of the queues that a function sends to. */
  environment(names: readonly DeliveryQueue[]): Record<string, string> {
    return Object.fromEntries(names.map((name) => [variables[name], this.queues[name].queueUrl]));
  }

  /** May send to these queues and nothing else of them. */
  sendStatements(names: readonly DeliveryQueue[]): PolicyStatement[] {
    if (names.length === 0) return [];
    return [allow("SendDeliveries", ["sqs:SendMessage"], this.arnsOf(names))];
  }

  /** Rights of Lambda in the name of the function that reads the queues. */
  receiveStatement(): PolicyStatement {
    const actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
    return allow("ReceiveDeliveries", actions, this.arnsOf(deliveryQueues));
  }

  /** Lets a function work on what the queues hold. */
  connect(deliver: ServiceFunction): void {
    for (const name of deliveryQueues) {
      new CfnEventSourceMapping(deliver, `From_${name}`, {
        functionName: deliver.lambda.functionName,
        eventSourceArn: this.queues[name].queueArn,
        batchSize: limits.queues.messages_per_invocation,
        maximumBatchingWindowInSeconds: 0,
        // One delivery that fails does not bring back the nine others.
        functionResponseTypes: ["ReportBatchItemFailures"],
        scalingConfig: { maximumConcurrency: maximumConcurrency(this.props.config, name) },
      });
    }
  }

  private arnsOf(names: readonly DeliveryQueue[]): string[] {
    return names.map((name) => this.queues[name].queueArn);
  }

  private makeQueue(name: DeliveryQueue): Queue {
    const { config, timeoutSeconds } = this.props;
    const purpose = name.replace("_", "-");
    return new Queue(this, purpose, {
      queueName: `${serviceName}-${config.stage}-${purpose}`,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: retention,
      visibilityTimeout: Duration.seconds(limits.queues.visibility_timeouts * timeoutSeconds),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: limits.queues.max_receives },
    });
  }
}

function maximumConcurrency({ deliveries }: StageConfig, name: DeliveryQueue): number {
  if (name === "deliver") return deliveries.firstConcurrency;
  return name === "deliver_unproven" ? deliveries.unprovenConcurrency : deliveries.retryConcurrency;
}
