/** What a request may take on average, from its arrival at the gateway to its answer, ms. */
export const averageLatencyMs = 50;

/** The gateway's share of it (AWS docs: `Latency` minus `IntegrationLatency`), ms. */
export const gatewayMs = 10;

/** The share of an invocation in addition to the duration of the function, ms. */
export const invokeMs = 4;

/** What remains for the function of a route on average, ms. */
export const averageDurationMs = averageLatencyMs - gatewayMs - invokeMs;

const secondRead = "what the second read is of, the first one shows: two reads before a transaction of 25 ms";
const thirdRead = "each of its reads shows what the next is of: three before a transaction of 25 ms";
const audited = "the entry of the audit makes its commit a transaction of 25 ms, after two reads and the counter";
const queued = "it sends its message to the queue before it answers";
const works = "it does a batch or all effects of a price before it answers";

/** Routes that may take longer on average, by their id, each with its reason (test/bench/LATENCY.md). */
export const slowRoutes: Readonly<Record<string, string>> = {
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
  retry_feed_reject: works,
  send_feed_snapshot: works,
  set_sandbox_prices: works,
  drive_sandbox_account: works,
};
