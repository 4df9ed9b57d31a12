import { limits } from "../../../shared/limits.ts";

/**
 * Assumptions of the model about AWS, each with its source. "docs" are AWS's public pages; "stated" is an assumption
 * that no source gives, chosen so that it does not flatter. Times are in milliseconds.
 */
export interface Timings {
  /** A transaction without its items. Stated, within the published p50 of 25 ms of a small TransactWriteItems. */
  readonly transaction_ms: number;
  /** Time of each item of a transaction. Stated: 100 items take 34 ms more. */
  readonly transaction_item_ms: number;
  /** A put, an update or a deletion of one item. Published median of PutItem: 7.5 ms. */
  readonly put_ms: number;
  /** A batch of writes. Stated: as a put, since its members are written next to each other. */
  readonly batch_write_ms: number;
  /** A read of one or more keys, and a page of a query. Docs: single-digit milliseconds. */
  readonly read_ms: number;
  /** From the call to the table, and from the table back; part of each time above. Stated. */
  readonly network_ms: number;
  /** A transaction, and a read or a write, may take longer by this part of itself, drawn evenly. Stated. */
  readonly jitter: number;
  /** From a write until an index shows it, at least and at most. Docs: "a fraction of a second". */
  readonly index_lag_ms: readonly [number, number];
  /** Write and read units of one partition of a table or of an index in a second. Docs: 1,000 and 3,000. */
  readonly partition_writes: number;
  readonly partition_reads: number;
  /** Seconds of those units that a quiet partition saves up. Stated; docs: up to 300 s, never promised. */
  readonly burst_seconds: number;
  /** From a write until its record can be read. Stated; docs: "near real time". */
  readonly stream_lag_ms: number;
  /** Between two reads of a shard that has nothing. Docs: Lambda reads a shard four times a second. */
  readonly poll_ms: number;
  /** A call to SQS. Stated. */
  readonly queue_ms: number;
  /** From a message's arrival to the invocation. Stated; Lambda keeps long polls open. */
  readonly receive_ms: number;
  /** An invocation of a running instance. Measured elsewhere in this repository as 4 ms of a request. */
  readonly invoke_ms: number;
  /** The start of an instance. Stated from the bench: 149 ms at 512 MB, and Lambda's own share. */
  readonly cold_start_ms: number;
  /** Processor time of a call of the SDK at a whole processor. Measured with the bench: 1.1 ms. */
  readonly call_processor_ms: number;
  /** Memory at which Lambda gives a whole processor, in MB. Docs: Lambda function memory. */
  readonly whole_processor_mb: number;
  /** First pause of the SDK after a throttled call, doubling, with full jitter. Source: SDK for JavaScript, v3. */
  readonly sdk_retry_ms: number;
}

/** The times of every run that does not say otherwise. */
export const timings: Timings = {
  transaction_ms: 20,
  transaction_item_ms: 0.34,
  put_ms: 7.5,
  batch_write_ms: 7.5,
  read_ms: 5,
  network_ms: 1,
  jitter: 0.2,
  index_lag_ms: [10, 50],
  partition_writes: 1000,
  partition_reads: 3000,
  burst_seconds: 1,
  stream_lag_ms: 20,
  poll_ms: 250,
  queue_ms: 6,
  receive_ms: 10,
  invoke_ms: 4,
  cold_start_ms: 250,
  call_processor_ms: 1.1,
  whole_processor_mb: limits.functions.computing_memory_mb,
  sdk_retry_ms: 500,
};
