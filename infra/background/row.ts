import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { SecretName, Stage } from "../../shared/routes/route.ts";
import type { DeliveryQueue } from "../constructs/webhook-ladder.ts";

/** ARNs and ids that a background function is granted something on. */
export interface BackgroundContext {
  /** The stage that they are in: some may do in the sandbox what they may not in production. */
  readonly stage: Stage;
  readonly table: string;
  /** The table of volatile items. */
  readonly volatile: string;
  /** The table of the keys of persons. */
  readonly keys: string;
  readonly usagePlanId: string;
  /** The bucket of the audit's sealed days. */
  readonly auditBucket: { readonly name: string; readonly objects: string };
  /** The bucket of the files of exports. */
  readonly exportsBucket: { readonly name: string; readonly objects: string };
  /** The log group of the functions behind routes. */
  readonly requestLog: { readonly name: string; readonly arn: string };
  /** Shards of the main table's stream, see `StageConfig`. */
  readonly streamShards: number;
  /** Invocations of the deliverer at the same time for proven endpoints, see `StageConfig`. */
  readonly deliverers: number;
  /** Posts in a second by one invocation of the stream's worker: all of them share the posts of the stage. */
  readonly postsPerSecond: number;
}

/**
 * Queues with one reader: of outbox items to publish, of events with many deliveries, of refusals to record, and of
 * sets of connections that have something to receive.
 */
export type EventQueue = "publishing" | "fan_out" | "refusals" | "stream";

/** The queues that a function can work on: those of the webhook ladder, of accounts to evaluate, and of events. */
export type WorkName = "deliveries" | "evaluations" | EventQueue;

/** Invokes a function with records of a table's stream. AWS lets two functions read one stream. */
export interface StreamTrigger {
  readonly table: "main" | "volatile";
  /** Filters on the new image of an item, whether it is inserted or changed; one that matches is enough. */
  readonly images: readonly object[];
  /** The same of an item that is inserted. */
  readonly inserted?: readonly object[];
  /** Most records of an invocation. */
  readonly batchSize: number;
  /** How long Lambda waits for more records, in seconds; not at all without it. */
  readonly windowSeconds?: number;
  readonly maximumRetryAttempts: number;
  /** Name of the failure queue that is made for records that were given up; without it they are dropped. */
  readonly failureQueue?: string;
  /** Alarm on the age of the oldest record. */
  readonly lateAlarm?: { readonly id: string; readonly description: string };
}

/** Invokes a function again and again. */
export interface ScheduleTrigger {
  /** EventBridge Scheduler's own words: `rate(5 minutes)`. */
  readonly expression: string;
  /** Event that the function receives. */
  readonly input: Readonly<Record<string, string>>;
  /** Name of the schedule, when not the function's id. */
  readonly name?: string;
  /** Description of the schedule, when not the function's. */
  readonly description?: string;
}

/** Occasions for which the WebSocket API of the stream invokes a function. */
export type SocketTrigger = "authorizer" | "connect" | "disconnect" | "message";

interface Triggers {
  /** API Gateway, before each call of an endpoint that needs a token. */
  readonly authorizer: true;
  /** The WebSocket API: before a connection is opened, when it is, when it has ended, or with a message of a client. */
  readonly socket: SocketTrigger;
  /** Secrets Manager, when this secret is to be rotated; the function may read and replace it. */
  readonly rotation: SecretName;
  /** Records of a stream; the function may read it. */
  readonly stream: StreamTrigger;
  /** Messages of these queues; the function may receive them, and the concurrency of the queues is reserved for it. */
  readonly queue: WorkName;
  readonly schedule: ScheduleTrigger;
}

/** Invokers of a function: one of these at least. */
export type Trigger = { [K in keyof Triggers]: Pick<Triggers, K> & Partial<Omit<Triggers, K>> }[keyof Triggers];

/** The trigger of most sweeps. */
export const everyMinute = { schedule: { expression: "rate(1 minute)", input: { action: "sweep" } } } as const;

/** A function without a route. Its role, its event sources, its schedule and its alarms are made from this row. */
export interface BackgroundRow {
  /** Name of the function, with hyphens. */
  readonly id: string;
  /** File under `functions/`, without `.ts`. */
  readonly file: string;
  readonly description: string;
  readonly trigger: Trigger;
  /** The stage that alone has it; without this every stage does. */
  readonly stage?: Stage;
  readonly timeoutSeconds: number;
  /** Nested stack, when not the folder's. */
  readonly nestedStack?: string;
  /** Secrets that it may read; their ids are in its environment. */
  readonly secrets?: readonly SecretName[];
  /** Queues of the webhook ladder that it sends to. */
  readonly queues?: readonly DeliveryQueue[];
  /** Whether it asks for evaluations of margin. */
  readonly sendsAccounts?: true;
  /** Queues of events that it sends to. */
  readonly sendsEvents?: readonly EventQueue[];
  /** Whether it sends to connections of the stream and closes them; the address for that is in its environment. */
  readonly posts?: true;
  /** Whether it says in its log what callers used: it writes to the one that usage is counted from. */
  readonly logsUsage?: true;
  /** Whether it keeps the users of the operators' pool. No function behind a route does. */
  readonly poolUsers?: true;
  /** Whether it destroys the keys of persons. No function behind a route does. */
  readonly destroysKeys?: true;
  /** Variables in addition to those of every function, of its secrets and of its queues. */
  readonly environment?: (context: BackgroundContext) => Readonly<Record<string, string>>;
  /**
   * Whether it ends chains of its own messages itself, where they reach the queue that invokes it: Lambda must not (AWS
   * docs: Lambda recursive loop detection).
   */
  readonly endsItself?: true;
  /** Further rights besides those for its trigger, its secrets and its queues. */
  readonly statements: (context: BackgroundContext) => PolicyStatement[];
}
