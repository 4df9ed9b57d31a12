import type { FunctionDefinition, InvocationOutcome } from "../functions/functions.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { lineageAfter, passesOf, passesOfLambda } from "./lineage.ts";
import { isFifo, type Queues } from "./queues.ts";

type Body = Readonly<Record<string, unknown>>;

/** How an event source mapping reads a queue (AWS docs: Lambda and SQS). */
export interface QueueMapping {
  readonly path: string;
  readonly queue: string;
  readonly queue_arn: string;
  readonly function: FunctionDefinition;
  readonly batch_size: number;
  readonly window_ms: number;
  readonly max_concurrency: number;
  readonly reports_failures: boolean;
}

/** A message as a function gets it. */
export interface QueueRecord extends Body {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A batch before it is handed over. */
export interface QueueBatch {
  readonly queue: string;
  readonly functionName: string;
  readonly records: readonly QueueRecord[];
}

/**
 * Puts other batches into a batch's place, for tests: records repeated, in another order, or left out. The batches are
 * handed over at the same time. A message is deleted when every batch that holds it was done with it.
 */
export type BatchChange = (batch: QueueBatch) => readonly (readonly QueueRecord[])[];

/** Surroundings of a poller. */
export interface PollerHost {
  readonly queues: Pick<Queues, "call">;
  readonly region: string;
  readonly change?: BatchChange | undefined;
  /** @param trace what the trace header says of the passes over these messages */
  invoke(name: string, event: unknown, trace: string): Promise<InvocationOutcome>;
}

/** Most messages that one ReceiveMessage returns. */
const maxReceived = 10;
/** Most that a mapping takes without a window, and with one (AWS docs: CreateEventSourceMapping). */
const maxBatch = { plain: 10, windowed: 10_000 } as const;
/** Lambda's own pollers begin with five and grow; without a maximum this is what one machine bears. */
const defaultConcurrency = 5;
/** A poller that no message wakes looks by itself, for messages that an earlier run left behind. */
const idleMs = 1_000;
const retryMs = 1_000;

/** Whether a mapping reads a queue. */
export function readsQueue({ properties }: Resource): boolean {
  return /^arn:aws:sqs:/.test(String(properties["EventSourceArn"]));
}

/** Properties of a mapping that mean something for streams alone. */
const ofStreams = [
  "StartingPosition",
  "ParallelizationFactor",
  "BisectBatchOnFunctionError",
  "MaximumRecordAgeInSeconds",
  "MaximumRetryAttempts",
  "DestinationConfig",
  "FilterCriteria",
] as const;

/** Reads the mapping of a queue. Throws an AssemblyError for what Lambda would refuse or this runner does not know. */
export function queueMapping(
  { properties, path }: Resource,
  resources: readonly Resource[],
  find: (name: string) => FunctionDefinition | undefined,
): QueueMapping {
  const refuse = (text: string): never => {
    throw new AssemblyError(path, text);
  };
  const queue_arn = String(properties["EventSourceArn"]);
  const queue = resources.find(({ attributes, type }) => type === "AWS::SQS::Queue" && attributes["Arn"] === queue_arn);
  if (queue === undefined) return refuse(`no queue of the template is ${queue_arn}`);
  const target = find(String(properties["FunctionName"])) ?? refuse("the function is not in the template");
  const foreign = ofStreams.find((name) => properties[name] !== undefined);
  if (foreign !== undefined) return refuse(`${foreign} is not known for a queue`);
  const responses = Array.isArray(properties["FunctionResponseTypes"]) ? properties["FunctionResponseTypes"] : [];
  const other = responses.find((type) => type !== "ReportBatchItemFailures");
  if (other !== undefined) return refuse(`the function response type ${String(other)} is not known`);
  const visibility = Number(queue.properties["VisibilityTimeout"] ?? 30);
  if (visibility < target.timeout_seconds) return refuse("the queue's visibility timeout is below the function's");
  const window = Number(properties["MaximumBatchingWindowInSeconds"] ?? 0);
  const batch_size = Number(properties["BatchSize"] ?? 10);
  // AWS docs: CreateEventSourceMapping.
  if (isFifo(queue.attributes["QueueName"] ?? "") && window > 0) return refuse("a FIFO queue has no batching window");
  const most = window > 0 ? maxBatch.windowed : maxBatch.plain;
  if (!(batch_size >= 1 && batch_size <= most)) return refuse(`a batch of ${batch_size} needs a batching window`);
  return {
    path,
    queue: queue.attributes["QueueName"] ?? "",
    queue_arn,
    function: target,
    batch_size,
    window_ms: window * 1000,
    max_concurrency: concurrencyOf(properties["ScalingConfig"], refuse),
    reports_failures: responses.length > 0,
  };
}

function concurrencyOf(scaling: unknown, refuse: (text: string) => never): number {
  if (scaling === undefined) return defaultConcurrency;
  const { MaximumConcurrency: maximum, ...others } = isRecord(scaling) ? scaling : {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return refuse(`the scaling property ${unknown} is not known`);
  const count = Number(maximum);
  return count >= 2 && count <= 1000 ? count : refuse(`a maximum concurrency of ${String(maximum)} is not possible`);
}

/** Receives from one queue for one function: at once when it is woken, and as often at the same time as it may. */
export class QueuePoller {
  private readonly mapping: QueueMapping;
  private readonly host: PollerHost;
  private readonly working = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;
  private again = false;
  private stopped = false;
  private endWindow: () => void = () => undefined;

  constructor(mapping: QueueMapping, host: PollerHost) {
    this.mapping = mapping;
    this.host = host;
  }

  /** Name of the queue that it reads. */
  get queue(): string {
    return this.mapping.queue;
  }

  /** Tells it that there may be something to receive. */
  wake(): void {
    this.again = true;
    this.endWindow();
    if (this.looking !== undefined || this.stopped) return;
    this.looking = this.look().finally(() => {
      this.looking = undefined;
      // Woken after the last look had begun to end.
      if (this.again) this.wake();
    });
  }

  /** Ends after the batches in work. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    this.endWindow();
    await this.looking;
    await Promise.all(this.working);
  }

  /** Receives until the queue has no more or as many invocations run as may. */
  private async look(): Promise<void> {
    clearTimeout(this.timer);
    let next = idleMs;
    try {
      while (this.again && !this.stopped) {
        this.again = false;
        while (this.working.size < this.mapping.max_concurrency && !this.stopped) {
          const records = await this.collect();
          if (records.length === 0) break;
          this.work(records);
        }
      }
    } catch (error) {
      if (!this.stopped) process.stderr.write(`${this.mapping.path}: ${textOf(error)}\n`);
      this.again = false;
      next = retryMs;
    }
    this.wakeIn(next);
  }

  private wakeIn(ms: number): void {
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = setTimeout(() => this.wake(), ms);
  }

  private work(records: readonly QueueRecord[]): void {
    const working = this.deliver(records)
      .catch((error: unknown) => {
        if (!this.stopped) process.stderr.write(`${this.mapping.path}: ${textOf(error)}\n`);
      })
      .finally(() => {
        this.working.delete(working);
        this.wake();
      });
    this.working.add(working);
  }

  /** One batch: what is there, and with a window what comes until it passes or the batch is full. */
  private async collect(): Promise<QueueRecord[]> {
    const { batch_size, window_ms } = this.mapping;
    const records = await this.receive(batch_size);
    const until = Date.now() + window_ms;
    while (records.length > 0 && records.length < batch_size && Date.now() < until && !this.stopped) {
      const more = await this.receive(batch_size - records.length);
      records.push(...more);
      if (more.length === 0) await this.pause(until - Date.now());
    }
    return records;
  }

  private async receive(wanted: number): Promise<QueueRecord[]> {
    const { queue, queue_arn } = this.mapping;
    const answer = await this.host.queues.call("ReceiveMessage", {
      QueueUrl: queue,
      MaxNumberOfMessages: Math.min(wanted, maxReceived),
      MessageSystemAttributeNames: ["All"],
      MessageAttributeNames: ["All"],
    });
    const messages: Body[] = Array.isArray(answer["Messages"]) ? answer["Messages"] : [];
    return messages.map((message) => recordOf(message, queue_arn, this.host.region));
  }

  /** Hands a batch over and deletes what was done; the rest comes back when its visibility timeout passes. */
  private async deliver(received: readonly QueueRecord[]): Promise<void> {
    const { change } = this.host;
    const { queue, function: target } = this.mapping;
    const records = received.filter((record) => !this.isEndless(record));
    await this.delete(received.filter((record) => !records.includes(record)));
    if (records.length === 0) return;
    const batches = change === undefined ? [records] : change({ queue, functionName: target.name, records });
    const failed = new Set<string>();
    await Promise.all(
      batches.map(async (batch) => {
        for (const id of await this.failedOf(batch)) failed.add(id);
      }),
    );
    const seen = new Set(batches.flat().map(({ messageId }) => messageId));
    await this.delete(records.filter(({ messageId }) => seen.has(messageId) && !failed.has(messageId)));
  }

  /** Whether Lambda ends the chain that a message belongs to, which it does without a word to the function. */
  private isEndless(record: QueueRecord): boolean {
    const { path, function: target } = this.mapping;
    if (target.may_recur === true || passesOf(target.arn, traceOf(record)) < passesOfLambda) return false;
    process.stderr.write(`${path}: a chain of messages ended after ${passesOfLambda} passes of ${target.name}\n`);
    return true;
  }

  private async delete(done: readonly QueueRecord[]): Promise<void> {
    const { queue } = this.mapping;
    for (let at = 0; at < done.length; at += maxReceived) {
      const some = done.slice(at, at + maxReceived);
      const entries = some.map(({ receiptHandle }, id) => ({ Id: String(id), ReceiptHandle: receiptHandle }));
      await this.host.queues.call("DeleteMessageBatch", { QueueUrl: queue, Entries: entries });
    }
  }

  /** Invokes the function; returns the ids of the messages that are to come back. */
  private async failedOf(batch: readonly QueueRecord[]): Promise<readonly string[]> {
    const all = batch.map(({ messageId }) => messageId);
    if (all.length === 0) return [];
    const { name, arn } = this.mapping.function;
    // An invocation has one header: where messages of several chains meet, no chain is ended before its time.
    const [youngest] = batch.map(traceOf).toSorted((one, other) => passesOf(arn, one) - passesOf(arn, other));
    const outcome = await this.host
      .invoke(name, { Records: batch }, lineageAfter(arn, youngest))
      .catch((error: unknown): InvocationOutcome => ({ payload: String(error), functionError: "Unhandled" }));
    if (outcome.functionError !== undefined) return all;
    if (!this.mapping.reports_failures || outcome.payload === null || outcome.payload === undefined) return [];
    // A payload that cannot be read as a report fails the whole batch (AWS docs: success and failure conditions).
    if (!isRecord(outcome.payload)) return all;
    const reported = outcome.payload["batchItemFailures"] ?? [];
    if (!Array.isArray(reported)) return all;
    const ids = reported.map((failure: unknown) => (isRecord(failure) ? failure["itemIdentifier"] : undefined));
    return ids.every((id): id is string => all.some((known) => known === id)) ? ids : all;
  }

  /** Waits for more; `wake` and `stop` end it. */
  private async pause(ms: number): Promise<void> {
    if (this.again || this.stopped) {
      this.again = false;
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.endWindow = resolve;
      timer = setTimeout(resolve, Math.max(1, ms));
    });
    clearTimeout(timer);
  }
}

/** The trace header that came with a message. */
function traceOf({ attributes }: QueueRecord): string | undefined {
  return attributes["AWSTraceHeader"];
}

/** A message of ReceiveMessage in the words of Lambda's event. */
function recordOf(message: Body, arn: string, region: string): QueueRecord {
  const { Attributes: attributes, MessageAttributes: custom } = message;
  const messageAttributes = Object.entries(isRecord(custom) ? custom : {}).map(([name, value]) => {
    const { StringValue: stringValue, BinaryValue: binaryValue, DataType: dataType } = isRecord(value) ? value : {};
    return [name, { stringValue, binaryValue, dataType, stringListValues: [], binaryListValues: [] }] as const;
  });
  return {
    messageId: String(message["MessageId"]),
    receiptHandle: String(message["ReceiptHandle"]),
    body: String(message["Body"]),
    attributes: (isRecord(attributes) ? attributes : {}) as Record<string, string>,
    messageAttributes: Object.fromEntries(messageAttributes),
    md5OfBody: message["MD5OfBody"],
    eventSource: "aws:sqs",
    eventSourceARN: arn,
    awsRegion: region,
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
