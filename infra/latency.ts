import { limits } from "../shared/limits.ts";
import { memoryOf } from "./function-memory.ts";
import { measuredUnits } from "./tools/cost/units.ts";

/** Average time of a request, from its arrival at the gateway to its answer, ms. */
export const averageLatencyMs = 50;

/** The gateway's share of it (AWS docs: `Latency` minus `IntegrationLatency`), ms. */
export const gatewayMs = 10;

/** The share of an invocation in addition to the duration of the function, ms. */
export const invokeMs = 4;

/** The part of the function of a route on average, ms. */
const averageDurationMs = averageLatencyMs - gatewayMs - invokeMs;

/** Why routes may take longer on average, and how much longer than the model says before an alarm is raised. */
interface Slowness {
  readonly reason: string;
  /** The alarm is raised above so many times the duration of the model. */
  readonly factor: number;
}

/** A quarter more: two reads, or less than half of a transaction, are within it. */
const quarterMore = 1.25;

const secondRead: Slowness = {
  reason: "what the second read is of, the first one shows: two reads before a transaction of 25 ms",
  factor: quarterMore,
};
const thirdRead: Slowness = {
  reason: "each of its reads shows what the next is of: three before a transaction of 25 ms",
  factor: quarterMore,
};
const audited: Slowness = {
  reason: "the entry of the audit makes its commit a transaction of 25 ms, after two reads and the counter",
  factor: quarterMore,
};
const queued: Slowness = { reason: "it sends its message to the queue before it answers", factor: quarterMore };
/** The model sends one item; a full batch of a hundred takes three times as long (ADR 0043). */
const works: Slowness = { reason: "it does a batch or all effects of a price before it answers", factor: 5 };

/** The average of the last requests of one environment varies more than that of all requests of a route. */
const spread = 4 / 3;

/** Routes that may take longer on average, by their id, each with its reason (test/bench/LATENCY.md). */
export const slowRoutes: Readonly<Record<string, Slowness>> = {
  update_account: secondRead,
  create_withdrawal: secondRead,
  create_transfer: secondRead,
  create_transfer_quote: secondRead,
  update_transaction: secondRead,
  approve_transaction: secondRead,
  reject_transaction: secondRead,
  sandbox_settle_transaction: secondRead,
  sandbox_fail_transaction: secondRead,
  sandbox_return_transaction: secondRead,
  begin_feed_epoch: secondRead,
  update_feed_source: secondRead,
  delete_feed_source: secondRead,
  place_sandbox_order: secondRead,
  open_sandbox_trade: secondRead,
  close_sandbox_trade: secondRead,
  take_commands: thirdRead,
  ack_command: thirdRead,
  requeue_command: thirdRead,
  resolve_drift: thirdRead,
  create_token: audited,
  revoke_token: audited,
  test_webhook_endpoint: queued,
  sandbox_trigger_event: queued,
  retry_delivery: queued,
  send_feed_batch: works,
  retry_feed_reject: { ...works, factor: quarterMore },
  send_feed_snapshot: works,
  set_sandbox_prices: works,
  drive_sandbox_account: works,
};

/**
 * Average duration of the function of a route by the model, ms: the published times of the calls that it waits for, and
 * its processor time at its memory, as `npm run bench:units` counted them.
 * @throws Error for a route that was not measured
 */
export function expectedDurationMs(id: string): number {
  const units = measuredUnits().routes[id];
  if (units === undefined || units.processor_ms === null) throw new Error(`The route ${id} was not measured.`);
  const share = Math.min(1, memoryOf(id) / limits.functions.computing_memory_mb);
  return units.waiting_ms + units.processor_ms / share;
}

/**
 * Average duration of the function of a route above which an alarm is raised, whole ms; its environments compare the
 * average of their last requests with it.
 * @throws Error for a slow route that was not measured
 */
export function longestDurationMs(id: string): number {
  const slowness = slowRoutes[id];
  const average_ms = slowness === undefined ? averageDurationMs : slowness.factor * expectedDurationMs(id);
  return Math.round(spread * average_ms);
}
