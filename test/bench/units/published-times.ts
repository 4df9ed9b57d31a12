import { gatewayMs, invokeMs } from "../../../infra/latency.ts";
import { timings } from "../../support/model/timings.ts";

/**
 * Milliseconds of what a request waits for, as AWS or others published them. The one place of these times; those that
 * the model of the event pipeline has too are read from it. None was measured here: AWS was not reached.
 */
export const publishedTimes = {
  /** API Gateway's own share, REST, regional, authorizer cached. AWS docs: `Latency` minus `IntegrationLatency`. */
  gateway_ms: gatewayMs,
  /** An invocation of a running environment, in addition to its duration. Published median. */
  invoke_ms: invokeMs,
  /** Median of each operation as its caller sees it. TransactWriteItems: p50 25 ms, p99 92 ms of a small one. */
  operations: {
    GetItem: timings.read_ms,
    BatchGetItem: timings.read_ms,
    Query: 6,
    PutItem: timings.put_ms,
    UpdateItem: timings.put_ms,
    DeleteItem: timings.put_ms,
    BatchWriteItem: timings.batch_write_ms,
    TransactWriteItems: 25,
  } as Readonly<Record<string, number>>,
  /** A call to SQS. Stated in the model. */
  queue_ms: timings.queue_ms,
  /** Memory at which a function has one whole processor (AWS docs: Lambda function memory). */
  whole_processor_mb: timings.whole_processor_mb,
} as const;

/** How many times its published time a call is held while a chain is measured. */
export const heldTimes = 10;

/**
 * How long a call is held while a chain is measured: so long that what a busy machine adds is less than the difference
 * between two operations.
 */
export function heldMs(operation: string): number {
  return heldTimes * (publishedTimes.operations[operation] ?? 0);
}

/** One call, with when it began and ended. */
export interface TimedCall {
  readonly operation: string;
  readonly began_ms: number;
  readonly ended_ms?: number | undefined;
}

/** The calls that a request waits for one after the other. */
export interface Chain {
  readonly calls: number;
  readonly published_ms: number;
}

/**
 * The longest chain of calls by their published times. A call waits for another one when it began after the other's
 * end, so calls that overlap count once.
 * @throws Error for an operation without a published time
 */
export function chainOf(calls: readonly TimedCall[]): Chain {
  const chains: { readonly end: number; readonly chain: Chain }[] = [];
  let longest: Chain = { calls: 0, published_ms: 0 };
  for (const { operation, began_ms, ended_ms = Number.POSITIVE_INFINITY } of calls.toSorted(byBegin)) {
    const own_ms = publishedTimes.operations[operation];
    if (own_ms === undefined) throw new Error(`${operation} has no published time.`);
    const before = longestOf(chains.flatMap(({ end, chain }) => (end <= began_ms ? [chain] : [])));
    const chain = { calls: before.calls + 1, published_ms: before.published_ms + own_ms };
    chains.push({ end: ended_ms, chain });
    longest = longestOf([longest, chain]);
  }
  return longest;
}

function byBegin(one: TimedCall, other: TimedCall): number {
  return one.began_ms - other.began_ms;
}

function longestOf(chains: readonly Chain[]): Chain {
  const none: Chain = { calls: 0, published_ms: 0 };
  return chains.reduce((best, each) => (each.published_ms > best.published_ms ? each : best), none);
}
