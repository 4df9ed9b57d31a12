import { join } from "node:path";
import type { Database, Table } from "../dynamodb/database.ts";
import type { FunctionDefinition, InvocationOutcome } from "../functions/functions.ts";
import { StateFile } from "../state-file.ts";
import { AssemblyError, type Resource } from "../template/assembly.ts";
import { isRecord } from "../template/intrinsics.ts";
import { eventPattern, type Pattern } from "./event-pattern.ts";
import type { StreamPage, StreamPages } from "./stream-pages.ts";

type Body = Readonly<Record<string, unknown>>;

/** How an event source mapping reads a stream (AWS docs: Lambda and DynamoDB). */
export interface StreamMapping {
  readonly id: string;
  readonly path: string;
  readonly table: Table;
  readonly function: FunctionDefinition;
  readonly from: "TRIM_HORIZON" | "LATEST";
  readonly batch_size: number;
  readonly window_ms: number;
  readonly bisects: boolean;
  readonly reports_failures: boolean;
  /** Negative: without end. */
  readonly max_age_seconds: number;
  /** Negative: without end. */
  readonly max_retries: number;
  readonly patterns: readonly Pattern[];
  /** ARN of the queue that learns of records given up. */
  readonly on_failure: string | undefined;
}

/** A batch before it is handed over. */
export interface StreamBatch {
  readonly table: string;
  readonly functionName: string;
  readonly records: readonly StreamRecord[];
}

/**
 * Puts other batches into a batch's place, for tests: records repeated, in another order, or left out. The batches are
 * handed over one after the other. A record that is left out is lost, as a stream loses what no reader took for a day.
 */
export type StreamChange = (batch: StreamBatch) => readonly (readonly StreamRecord[])[];

/** Surroundings of a reader. */
export interface StreamHost {
  readonly change?: StreamChange | undefined;
  readonly database: Pick<Database, "call">;
  readonly region: string;
  readonly dataDir: string;
  invoke(name: string, event: unknown): Promise<InvocationOutcome>;
  /** Sends to a queue in the name of the function. */
  report(mapping: StreamMapping, queueArn: string, message: string): Promise<void>;
}

/** A record of a stream as a function gets it. */
export interface StreamRecord extends Body {
  readonly dynamodb: { readonly SequenceNumber: string; readonly ApproximateCreationDateTime: number };
}

/** Reads the mapping of a stream; undefined for other sources. Throws an AssemblyError for what is not understood. */
export function streamMapping(
  resource: Resource,
  tables: readonly Table[],
  find: (name: string) => FunctionDefinition | undefined,
): StreamMapping {
  const { properties, path, physical_id: id } = resource;
  const refuse = (text: string): never => {
    throw new AssemblyError(path, text);
  };
  const source = String(properties["EventSourceArn"]);
  const table = tables.find(({ stream_arn }) => stream_arn === source) ?? refuse(`no table has the stream ${source}`);
  const target = find(String(properties["FunctionName"])) ?? refuse("the function is not in the template");
  const from = properties["StartingPosition"];
  if (from !== "TRIM_HORIZON" && from !== "LATEST") return refuse(`the starting position ${String(from)} is not known`);
  if (properties["ScalingConfig"] !== undefined) return refuse("ScalingConfig is not known for a stream");
  if (Number(properties["ParallelizationFactor"] ?? 1) !== 1) return refuse("a stream is read by one reader only here");
  const responses = Array.isArray(properties["FunctionResponseTypes"]) ? properties["FunctionResponseTypes"] : [];
  const other = responses.find((type) => type !== "ReportBatchItemFailures");
  if (other !== undefined) return refuse(`the function response type ${String(other)} is not known`);
  return {
    id,
    path,
    table,
    function: target,
    from,
    batch_size: Number(properties["BatchSize"] ?? 100),
    window_ms: Number(properties["MaximumBatchingWindowInSeconds"] ?? 0) * 1000,
    bisects: properties["BisectBatchOnFunctionError"] === true,
    reports_failures: responses.length > 0,
    max_age_seconds: Number(properties["MaximumRecordAgeInSeconds"] ?? -1),
    max_retries: Number(properties["MaximumRetryAttempts"] ?? -1),
    patterns: patternsOf(properties["FilterCriteria"]),
    on_failure: destinationOf(properties["DestinationConfig"], path),
  };
}

/** A reader that no write wakes looks by itself, for writers that did not come through the endpoint. */
const idleMs = 250;
const firstRetryMs = 50;
const maxRetryMs = 2_000;

/** Reads one stream for one function, in order, and remembers under the data folder how far it is. */
export class StreamReader {
  private readonly mapping: StreamMapping;
  private readonly host: StreamHost;
  private readonly pages: StreamPages;
  private readonly checkpoint: StateFile<{ sequence: string | null }>;
  private iterator = "";
  private shard = "";
  private arn = "";
  private stopped = false;
  private woken = false;
  private idle = false;
  private endPause: () => void = () => undefined;
  private finished: Promise<void> = Promise.resolve();

  constructor(mapping: StreamMapping, host: StreamHost, pages: StreamPages) {
    this.mapping = mapping;
    this.host = host;
    this.pages = pages;
    this.checkpoint = new StateFile(join(host.dataDir, "streams", `${mapping.id}.json`), { sequence: null });
  }

  /** Name of the table whose stream it reads. */
  get table(): string {
    return this.mapping.table.name;
  }

  /** Begins to read; resolves when the position is fixed, so that no later write is missed. */
  async start(): Promise<void> {
    await this.position();
    this.finished = this.run();
  }

  /** Tells it that there may be new records. */
  wake(): void {
    this.woken = true;
    if (this.idle) this.endPause();
  }

  /** Ends after the batch in work. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.endPause();
    await this.finished;
  }

  private async run(): Promise<void> {
    let batch: StreamRecord[] = [];
    let last: string | undefined;
    let since = Date.now();
    while (!this.stopped) {
      try {
        this.woken = false;
        const { records, isEnd } = await this.read();
        if (records.length > 0 && batch.length === 0) since = Date.now();
        for (const record of records) {
          last = record.dynamodb.SequenceNumber;
          if (!this.matches(record)) continue;
          batch.push(record);
          if (batch.length < this.mapping.batch_size) continue;
          await this.deliver(batch);
          this.keep(last);
          batch = [];
        }
        const due = Date.now() - since >= this.mapping.window_ms;
        if (batch.length > 0 && due) {
          await this.deliver(batch);
          batch = [];
        }
        if (batch.length === 0 && last !== undefined) this.keep(last);
        last = batch.length === 0 ? undefined : last;
        // A write since this page was asked for has woken the reader, so that it does not rest.
        if (isEnd) await this.rest(batch.length > 0 ? this.mapping.window_ms + since - Date.now() : idleMs);
      } catch (error) {
        if (this.stopped) return;
        // Records that were not delivered are read again from the checkpoint.
        process.stderr.write(`${this.mapping.path}: ${error instanceof Error ? error.message : String(error)}\n`);
        batch = [];
        last = undefined;
        await this.pause(maxRetryMs);
        await this.position().catch(() => undefined);
      }
    }
  }

  private matches(record: StreamRecord): boolean {
    const { patterns } = this.mapping;
    return patterns.length === 0 || patterns.some((matches) => matches(record));
  }

  private keep(sequence: string): void {
    if (this.stopped || this.checkpoint.value.sequence === sequence) return;
    this.checkpoint.value = { sequence };
    this.checkpoint.save();
  }

  /** Finds the stream and the place to go on at: after the last record that was dealt with. */
  private async position(): Promise<void> {
    const { database } = this.host;
    const streams = await database.call("ListStreams", { TableName: this.table }, "DynamoDBStreams");
    const [stream] = Array.isArray(streams["Streams"]) ? streams["Streams"] : [];
    this.arn = String(isRecord(stream) ? stream["StreamArn"] : "");
    const described = await database.call("DescribeStream", { StreamArn: this.arn }, "DynamoDBStreams");
    const description = described["StreamDescription"];
    const shards = isRecord(description) && Array.isArray(description["Shards"]) ? description["Shards"] : [];
    // The bundled server has one shard per stream. Another one may have more, of which the open one comes last.
    this.shard = String(shards.at(-1)?.["ShardId"]);
    const { sequence } = this.checkpoint.value;
    const after = { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber: sequence };
    const type = sequence === null ? { ShardIteratorType: this.mapping.from } : after;
    const body = { StreamArn: this.arn, ShardId: this.shard, ...type };
    const { ShardIterator: iterator } = await database.call("GetShardIterator", body, "DynamoDBStreams");
    this.iterator = String(iterator);
  }

  private async read(): Promise<StreamPage> {
    const page = await this.pages.read(this.iterator);
    this.iterator = page.next;
    const origin = { awsRegion: this.host.region, eventSourceARN: this.mapping.table.stream_arn };
    return { ...page, records: page.records.map((record) => ({ ...record, ...origin })) };
  }

  /** Hands records over until each is done or given up. */
  private async deliver(records: readonly StreamRecord[]): Promise<void> {
    let left = await this.dropOld(records);
    for (let tries = 0; left.length > 0 && !this.stopped; tries += 1) {
      const failed = await this.invoke(left);
      if (failed.length === 0) return;
      if (failed.length < left.length) tries = -1;
      else if (this.mapping.bisects && failed.length > 1) {
        // Halving does not count as a retry, and leaves a record that cannot be done alone in its batch.
        const middle = Math.ceil(failed.length / 2);
        await this.deliver(failed.slice(0, middle));
        await this.deliver(failed.slice(middle));
        return;
      } else if (this.mapping.max_retries >= 0 && tries >= this.mapping.max_retries) {
        await this.giveUp(failed, "RetryAttemptsExhausted", tries + 1);
        return;
      }
      await this.pause(Math.min(maxRetryMs, firstRetryMs * 2 ** Math.max(0, tries)));
      left = await this.dropOld(failed);
    }
    if (left.length > 0) throw new Error("stopped before all records were done");
  }

  /** Hands records over and returns those to try again: all from the first failure on. */
  private async invoke(records: readonly StreamRecord[]): Promise<readonly StreamRecord[]> {
    const { change } = this.host;
    if (change === undefined) return this.failedOf(records);
    const failed = new Set<string>();
    const { function: target } = this.mapping;
    for (const batch of change({ table: this.table, functionName: target.name, records })) {
      if (batch.length === 0) continue;
      for (const { dynamodb } of await this.failedOf(batch)) failed.add(dynamodb.SequenceNumber);
    }
    const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb.SequenceNumber));
    return first < 0 ? [] : records.slice(first);
  }

  /** Invokes the function and returns the records of the batch from the first failure on. */
  private async failedOf(records: readonly StreamRecord[]): Promise<readonly StreamRecord[]> {
    const outcome = await this.host
      .invoke(this.mapping.function.name, { Records: records })
      .catch((error: unknown): InvocationOutcome => ({ payload: String(error), functionError: "Unhandled" }));
    if (outcome.functionError !== undefined) return records;
    if (!this.mapping.reports_failures) return [];
    const reported = isRecord(outcome.payload) ? (outcome.payload["batchItemFailures"] ?? []) : [];
    if (!Array.isArray(reported)) return records;
    const ids = reported.map((failure: unknown) => (isRecord(failure) ? failure["itemIdentifier"] : undefined));
    if (ids.length === 0) return [];
    const places = ids.map((id) => records.findIndex((record) => record.dynamodb.SequenceNumber === id));
    // An identifier that is missing or unknown fails the whole batch.
    return records.slice(Math.max(0, Math.min(...places)));
  }

  private async dropOld(records: readonly StreamRecord[]): Promise<readonly StreamRecord[]> {
    const { max_age_seconds } = this.mapping;
    if (max_age_seconds < 0) return records;
    const oldest = Date.now() / 1000 - max_age_seconds;
    const old = records.filter(({ dynamodb }) => dynamodb.ApproximateCreationDateTime < oldest);
    if (old.length > 0) await this.giveUp(old, "MaximumRecordAgeExceeded", 0);
    return records.filter((record) => !old.includes(record));
  }

  /** Tells the destination which records were given up; their contents stay in the stream (AWS docs: on-failure). */
  private async giveUp(records: readonly StreamRecord[], condition: string, invocations: number): Promise<void> {
    const { function: target, on_failure, table } = this.mapping;
    const [first, last] = [records[0], records.at(-1)];
    process.stderr.write(`${this.mapping.path}: ${condition}: ${records.length} records are given up\n`);
    if (on_failure === undefined || first === undefined || last === undefined) return;
    const when = ({ dynamodb }: StreamRecord) => new Date(dynamodb.ApproximateCreationDateTime * 1000).toISOString();
    const message = {
      requestContext: { functionArn: `${target.arn}:$LATEST`, condition, approximateInvokeCount: invocations },
      responseContext: { statusCode: 200, executedVersion: "$LATEST", functionError: "Unhandled" },
      version: "1.0",
      timestamp: new Date().toISOString(),
      DDBStreamBatchInfo: {
        shardId: this.shard,
        startSequenceNumber: first.dynamodb.SequenceNumber,
        endSequenceNumber: last.dynamodb.SequenceNumber,
        approximateArrivalOfFirstRecord: when(first),
        approximateArrivalOfLastRecord: when(last),
        batchSize: records.length,
        streamArn: table.stream_arn,
      },
    };
    await this.host.report(this.mapping, on_failure, JSON.stringify(message));
  }

  /** Waits for new records; `wake` ends it. */
  private async rest(ms: number): Promise<void> {
    if (this.woken) return;
    this.idle = true;
    await this.pause(Math.max(1, Math.min(idleMs, ms)));
    this.idle = false;
  }

  /** Waits; `stop` ends it. */
  private async pause(ms: number): Promise<void> {
    if (this.stopped) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.endPause = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }
}

function patternsOf(criteria: unknown): Pattern[] {
  const filters = isRecord(criteria) && Array.isArray(criteria["Filters"]) ? criteria["Filters"] : [];
  return filters.map((filter: Body) => eventPattern(String(filter["Pattern"])));
}

function destinationOf(config: unknown, path: string): string | undefined {
  const failure = isRecord(config) ? config["OnFailure"] : undefined;
  const destination = isRecord(failure) ? failure["Destination"] : undefined;
  if (destination === undefined) return undefined;
  if (/^arn:aws:sqs:/.test(String(destination))) return String(destination);
  throw new AssemblyError(path, `the destination ${String(destination)} is no queue`);
}
