import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import type { IBucket } from "aws-cdk-lib/aws-s3";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import type { BackgroundContext, BackgroundRow, EventQueue, SocketTrigger, WorkName } from "../background/row.ts";
import type { LateStream } from "../constructs/alarms/alarms.ts";
import { failureQueue } from "../constructs/failure-queue.ts";
import { readSecretStatements } from "../constructs/grants.ts";
import type { MarginQueue } from "../constructs/margin-queue.ts";
import type { OperatorPool } from "../constructs/operator-pool.ts";
import { type ScheduleRow, Schedules } from "../constructs/schedules.ts";
import type { ServiceFunction } from "../constructs/service-function.ts";
import type { ServiceSecrets } from "../constructs/service-secrets.ts";
import type { StreamApi } from "../constructs/stream-api.ts";
import { readStream, type StreamSource, streamOf, streamStatements } from "../constructs/stream-reader.ts";
import type { Tables } from "../constructs/table.ts";
import type { WebhookLadder } from "../constructs/webhook-ladder.ts";
import type { WorkQueue } from "../constructs/work-queue.ts";
import { reservedConcurrency } from "../stage-settings.ts";
import type { StageConfig } from "../stages.ts";
import type { FunctionStacks } from "./functions.ts";

/** Input to the background functions of a stage. */
export interface BackgroundFunctionsProps {
  readonly config: StageConfig;
  readonly rows: readonly BackgroundRow[];
  readonly tables: Tables;
  readonly secrets: ServiceSecrets;
  readonly pool: OperatorPool;
  /** Receives the audit's sealed days. */
  readonly auditBucket: IBucket;
  /** Receives the files of exports. */
  readonly exportsBucket: IBucket;
  /** The log of the functions behind routes, and of others that log what callers used. */
  readonly requestLogs: ILogGroup;
  readonly queues: {
    readonly deliveries: WebhookLadder;
    readonly evaluations: MarginQueue;
  } & Readonly<Record<EventQueue, WorkQueue>>;
  readonly stream: StreamApi;
  readonly functions: FunctionStacks;
}

/**
 * The functions without a route. Each comes from its row alone: the function, its role, what invokes it, and the
 * queue of records that it gave up.
 */
export class BackgroundFunctions {
  /** Receive what could not be invoked or was given up. */
  readonly failureQueues: readonly Queue[];
  private readonly scope: Construct;
  private readonly props: BackgroundFunctionsProps;
  private readonly streamFailures: ReadonlyMap<string, Queue>;
  private readonly scheduleFailures: Queue;
  private readonly made = new Map<string, ServiceFunction>();

  constructor(scope: Construct, props: BackgroundFunctionsProps) {
    this.scope = scope;
    this.props = props;
    const names = props.rows.flatMap(({ trigger }) => trigger.stream?.failureQueue ?? []);
    this.streamFailures = new Map(names.map((name) => [name, failureQueue(scope, name, props.config, name)]));
    this.scheduleFailures = failureQueue(scope, "schedule-failures", props.config, "schedule-failures");
    this.failureQueues = [...this.streamFailures.values(), this.scheduleFailures];
  }

  /** The alarms on streams that are read late. */
  get lateStreams(): LateStream[] {
    return this.props.rows.flatMap(({ id, trigger }) =>
      trigger.stream?.lateAlarm === undefined ? [] : [{ ...trigger.stream.lateAlarm, functionId: id }],
    );
  }

  /**
   * Makes the functions that API Gateway asks about a token, and returns the one; throws when there is not exactly one.
   * It comes before the API, and so before what the others know of the API.
   */
  addAuthorizer(): ServiceFunction {
    const [row, ...others] = this.props.rows.filter(({ trigger }) => trigger.authorizer === true);
    if (row === undefined || others.length > 0) throw new Error("One background row is the authorizer.");
    return this.add(row, "");
  }

  /** Makes all the others, and what invokes them. */
  addOthers(usagePlanId: string): void {
    const rows = this.props.rows.filter(({ trigger }) => trigger.authorizer !== true);
    for (const row of rows) this.connect(row, this.add(row, usagePlanId));
    this.addSchedules(rows);
  }

  /** Occasions of the WebSocket API, each with its function. */
  get sockets(): { readonly trigger: SocketTrigger; readonly handler: IFunction }[] {
    return this.props.rows.flatMap(({ id, trigger: { socket } }) =>
      socket === undefined ? [] : [{ trigger: socket, handler: this.get(id).lambda }],
    );
  }

  /** The function of a row; throws when there is none. */
  get(id: string): ServiceFunction {
    const found = this.made.get(id);
    if (found === undefined) throw new Error(`There is no background function ${id}.`);
    return found;
  }

  private add(row: BackgroundRow, usagePlanId: string): ServiceFunction {
    const { functions, queues, secrets, pool, tables, stream } = this.props;
    const { file, id, description, timeoutSeconds, nestedStack } = row;
    const context = this.context(usagePlanId);
    const work = this.work(row);
    const reserved = reservedConcurrency(this.props.config)[id];
    const made = functions.add({
      file,
      id,
      description,
      timeoutSeconds,
      ...(row.trigger.authorizer && { traced: true }),
      statements: [
        ...row.statements(context),
        ...this.triggerStatements(row),
        ...readSecretStatements(row.secrets ?? [], secrets.arns),
        ...(row.poolUsers ? pool.userStatements() : []),
        ...queues.deliveries.sendStatements(row.queues ?? []),
        ...(row.sendsAccounts ? [queues.evaluations.sendStatement()] : []),
        ...(row.sendsEvents ?? []).map((name) => queues[name].sendStatement()),
        ...(row.posts ? [stream.postStatement()] : []),
        ...(work === undefined ? [] : [work.receiveStatement()]),
      ],
      environment: {
        ...secrets.environment(row.secrets ?? []),
        ...(row.poolUsers && pool.userEnvironment),
        ...(row.destroysKeys && tables.keyEnvironment),
        ...row.environment?.(context),
        ...queues.deliveries.environment(row.queues ?? []),
        ...(row.posts && stream.postEnvironment),
        ...(row.sendsAccounts && queues.evaluations.environment),
        ...Object.assign({}, ...(row.sendsEvents ?? []).map((name) => queues[name].environment)),
      },
      ...(reserved !== undefined && { reservedConcurrency: reserved }),
      ...(nestedStack !== undefined && { nestedStack }),
      ...(row.endsItself && { endsItself: true }),
      ...(row.logsUsage && { logGroup: this.props.requestLogs }),
    });
    if (row.posts) stream.acknowledgePosts(made);
    this.made.set(id, made);
    return made;
  }

  private context(usagePlanId: string): BackgroundContext {
    const { config, tables, requestLogs } = this.props;
    const { main, volatile, keys } = tables;
    const [auditBucket, exportsBucket] = [this.props.auditBucket, this.props.exportsBucket].map((bucket) => ({
      ...{ name: bucket.bucketName, objects: bucket.arnForObjects("*") },
    })) as [BackgroundContext["auditBucket"], BackgroundContext["exportsBucket"]];
    const { stage, publishing, deliveries, streaming } = config;
    const { streamShards } = publishing;
    const deliverers = deliveries.firstConcurrency;
    const arns = { table: main.tableArn, volatile: volatile.tableArn, keys: keys.tableArn };
    const requestLog = { name: requestLogs.logGroupName, arn: requestLogs.logGroupArn };
    const postsPerSecond = Math.floor(streaming.postsPerSecond / streaming.concurrency);
    const buckets = { auditBucket, exportsBucket };
    return { stage, ...arns, ...buckets, requestLog, usagePlanId, streamShards, deliverers, postsPerSecond };
  }

  private triggerStatements({ trigger }: BackgroundRow) {
    const source = this.source(trigger.stream);
    return [
      ...(source === undefined ? [] : streamStatements(source)),
      ...(trigger.rotation === undefined ? [] : [this.props.secrets.rotationStatement(trigger.rotation)]),
    ];
  }

  private connect(row: BackgroundRow, made: ServiceFunction): void {
    const { stream, rotation } = row.trigger;
    const source = this.source(stream);
    if (source !== undefined) readStream(made, source);
    if (rotation !== undefined) this.props.secrets.rotate(rotation, made);
    this.work(row)?.connect(made);
  }

  private work({ trigger }: BackgroundRow): WebhookLadder | MarginQueue | WorkQueue | undefined {
    return trigger.queue && this.props.queues[trigger.queue];
  }

  private source(trigger: BackgroundRow["trigger"]["stream"]): StreamSource | undefined {
    if (trigger === undefined) return undefined;
    const failures = trigger.failureQueue === undefined ? undefined : this.streamFailures.get(trigger.failureQueue);
    const stream = streamOf(this.props.tables[trigger.table]);
    return { trigger, stream, ...(failures && { failureQueue: failures }) };
  }

  private addSchedules(rows: readonly BackgroundRow[]): void {
    const schedules = rows.flatMap((row): ScheduleRow[] => {
      const { schedule } = row.trigger;
      if (schedule === undefined) return [];
      return [{ name: row.id, description: row.description, ...schedule, target: this.get(row.id).lambda }];
    });
    const { config } = this.props;
    new Schedules(this.scope, "Schedules", { config, deadLetters: this.scheduleFailures, rows: schedules });
  }
}

/** Timeout of the function that works on these queues; throws when no row does. */
export function workTimeout(rows: readonly BackgroundRow[], name: WorkName): number {
  const row = rows.find(({ trigger }) => trigger.queue === name);
  if (row === undefined) throw new Error(`No background function works on the queue of ${name}.`);
  return row.timeoutSeconds;
}
