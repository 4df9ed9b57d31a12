import { createHash } from "node:crypto";
import { marshall } from "@aws-sdk/util-dynamodb";
import { eventPattern } from "../../../infra/local/streams/event-pattern.ts";
import type { Simulation } from "./clock.ts";
import type { Change } from "./database.ts";
import type { Outcome } from "./functions.ts";
import type { Timings } from "./timings.ts";
import type { Item } from "./values.ts";

/** A record as a function gets it. */
export interface StreamRecord {
  readonly eventName: "INSERT" | "MODIFY" | "REMOVE";
  readonly dynamodb: {
    readonly SequenceNumber: string;
    readonly ApproximateCreationDateTime: number;
    readonly Keys: object;
    readonly NewImage?: object;
    readonly OldImage?: object;
  };
}

interface Entry {
  readonly atMs: number;
  readonly record: StreamRecord;
}

/** How a function reads a stream, as its row says. */
export interface StreamMapping {
  /** Filters; a record that one of them matches is handed over. */
  readonly patterns: readonly string[];
  readonly batchSize: number;
  readonly windowSeconds?: number;
  readonly maximumRetryAttempts: number;
  readonly invoke: (event: { Records: readonly StreamRecord[] }) => Promise<Outcome>;
  /** Changes a batch before it is handed over, for tests: records repeated or in the order of another commit. */
  readonly disturb?: (records: readonly StreamRecord[]) => readonly StreamRecord[];
}

/** A part of a stream: its records in order, and the parts that it was split into. */
class Shard {
  readonly entries: Entry[] = [];
  children: readonly Shard[] | undefined;
}

/** The most that read one stream without being throttled (docs: DynamoDB Streams). */
const mostReaders = 2;

function hashOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}

function named(item: Item | undefined, name: string): object {
  return item === undefined ? {} : { [name]: marshall(item) };
}

/**
 * The stream of one table. Records of one partition key are in one shard and in order. A split closes every shard for
 * two, which are read after it, as DynamoDB does when a partition grows or is hot.
 */
export class Stream {
  private shards: readonly Shard[];
  private readonly roots: readonly Shard[];
  private readonly simulation: Simulation;
  private readonly timings: Timings;
  private readonly readers: Reader[] = [];
  private sequence = 0;

  constructor(simulation: Simulation, timings: Timings, shards: number) {
    this.simulation = simulation;
    this.timings = timings;
    this.shards = Array.from({ length: shards }, () => new Shard());
    this.roots = this.shards;
  }

  /** Takes up a change of an item. */
  add({ pk, sk, before, after }: Change): void {
    if (before === undefined && after === undefined) return;
    this.sequence += 1;
    const record: StreamRecord = {
      eventName: before === undefined ? "INSERT" : after === undefined ? "REMOVE" : "MODIFY",
      dynamodb: {
        SequenceNumber: String(this.sequence).padStart(12, "0"),
        ApproximateCreationDateTime: Math.floor(this.simulation.nowMs / 1000),
        Keys: marshall({ pk, sk }),
        ...named(after, "NewImage"),
        ...named(before, "OldImage"),
      },
    };
    const shard = this.shards[hashOf(pk) % this.shards.length] as Shard;
    shard.entries.push({ atMs: this.simulation.nowMs + this.timings.stream_lag_ms, record });
  }

  /** Splits every shard in two. */
  split(): void {
    const parents = this.shards;
    this.shards = [...parents, ...parents].map(() => new Shard());
    const count = parents.length;
    for (const [at, parent] of parents.entries()) {
      // The remainder by twice as many shards leads from one parent to two of these.
      parent.children = [this.shards[at] as Shard, this.shards[at + count] as Shard];
    }
  }

  /** Lets a function read the stream from its beginning. */
  read(mapping: StreamMapping): Reader {
    if (this.readers.length === mostReaders) throw new Error("A stream has at most two readers.");
    const reader = new Reader(mapping, this.simulation, this.timings);
    this.readers.push(reader);
    for (const shard of this.roots) reader.follow(shard);
    return reader;
  }
}

/** An event source mapping: one batch of each shard at a time, again what failed, and then it goes on. */
class Reader {
  /** Milliseconds between a record and its first hand-over, the longest. */
  longestAgeMs = 0;
  /** Records that were given up. */
  givenUp = 0;
  private readonly mapping: StreamMapping;
  private readonly simulation: Simulation;
  private readonly timings: Timings;
  private readonly patterns: readonly ((event: unknown) => boolean)[];

  constructor(mapping: StreamMapping, simulation: Simulation, timings: Timings) {
    this.mapping = mapping;
    this.simulation = simulation;
    this.timings = timings;
    this.patterns = mapping.patterns.map(eventPattern);
  }

  follow(shard: Shard): void {
    this.simulation.start(() => this.readShard(shard));
  }

  private async readShard(shard: Shard): Promise<void> {
    const { batchSize, windowSeconds = 0 } = this.mapping;
    // Shards are not polled all at the same moment.
    await this.simulation.sleep(this.simulation.random() * this.timings.poll_ms);
    let at = 0;
    let batch: Entry[] = [];
    let sinceMs = 0;
    for (;;) {
      while (batch.length < batchSize && at < shard.entries.length) {
        const entry = shard.entries[at] as Entry;
        if (entry.atMs > this.simulation.nowMs) break;
        at += 1;
        if (!this.patterns.some((matches) => matches(entry.record))) continue;
        if (batch.length === 0) sinceMs = this.simulation.nowMs;
        batch.push(entry);
      }
      const isDue = this.simulation.nowMs - sinceMs >= windowSeconds * 1000;
      if (batch.length === batchSize || (batch.length > 0 && isDue)) {
        this.longestAgeMs = Math.max(this.longestAgeMs, this.simulation.nowMs - (batch[0] as Entry).atMs);
        await this.handOver(batch.map(({ record }) => record));
        batch = [];
        continue;
      }
      if (shard.children !== undefined && at === shard.entries.length && batch.length === 0) break;
      await this.simulation.sleep(this.timings.poll_ms);
    }
    for (const child of shard.children) this.follow(child);
  }

  /** Hands records over until each is done or given up; a batch that fails as a whole is halved. */
  private async handOver(records: readonly StreamRecord[]): Promise<void> {
    const { maximumRetryAttempts } = this.mapping;
    let left = records;
    for (let tries = 0; ; tries += 1) {
      const failed = await this.failedOf(left);
      if (failed.length === 0) return;
      if (failed.length < left.length) tries = -1;
      else if (failed.length > 1) {
        // Halving does not count as a retry.
        const middle = Math.ceil(failed.length / 2);
        await this.handOver(failed.slice(0, middle));
        await this.handOver(failed.slice(middle));
        return;
      } else if (tries >= maximumRetryAttempts) {
        this.givenUp += failed.length;
        return;
      }
      await this.simulation.sleep(Math.min(2000, 50 * 2 ** Math.max(0, tries)));
      left = failed;
    }
  }

  private async failedOf(records: readonly StreamRecord[]): Promise<readonly StreamRecord[]> {
    const handed = this.mapping.disturb?.(records) ?? records;
    const outcome = await this.mapping.invoke({ Records: handed });
    if (!outcome.ok) return records;
    const { batchItemFailures: failures = [] } = (outcome.result ?? {}) as {
      batchItemFailures?: readonly { readonly itemIdentifier: string }[];
    };
    const failed = new Set(failures.map(({ itemIdentifier }) => itemIdentifier));
    const first = records.findIndex(({ dynamodb }) => failed.has(dynamodb.SequenceNumber));
    return first < 0 ? [] : records.slice(first);
  }
}
