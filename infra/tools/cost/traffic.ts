import { eventTraffic } from "../../../shared/domain/usage/event-cost.ts";

/**
 * Bytes of a request, a run or a delivery that are not counted anywhere, stated here once. Bytes of the logs are those
 * of the function's line and of the gateway's access log; Lambda's own lines, some 300 bytes of a request that goes
 * well, are not written (`infra/constructs/service-function.ts`).
 */
export const traffic = {
  log_bytes: 600,
  /** Members of a request's line for `GET /usage` (ADR 0064), in addition. */
  usage_bytes: 140,
  answer_bytes: 2500,
  ...eventTraffic,
  /** AWS X-Ray's default: one request a second and 5 % of the others. */
  traced_share: 0.05,
  /** Requests that no running environment could take, and what a new one bills until it answers. */
  cold_start_share: 0.01,
  cold_start_ms: 250,
  /** Requests whose token the gateway has not kept from the minute before. */
  authorizer_miss_share: 0.02,
  /** Memory at which a function has one whole processor (AWS docs: Lambda function memory). */
  whole_processor_mb: 1769,
  /**
   * Processor time of a route that the bench has not measured, ms: that of most commits (test/bench/LATENCY.md); reads
   * take less. A millisecond more costs 0.02 USD per million.
   */
  unmeasured_processor_ms: 3,
  /** An account with 20 ledger entries and 62 events in a reconciliation (ADR 0063): read units, processor ms. */
  reconciled_account: { read_units: 16, processor_ms: 5 },
  /** Lambda asks an idle queue with five connections, each of which waits 20 s (AWS docs: Lambda with SQS). */
  polls_per_minute: 15,
  /** Hours of a month in the price lists of AWS. */
  hours_per_month: 730,
} as const;
