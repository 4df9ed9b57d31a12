import { eventTraffic } from "../../../shared/domain/usage/event-cost.ts";
import { limits } from "../../../shared/limits.ts";

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
  /** The gateway decides by the stage's own rule; what nothing but a schedule or a stream invokes records none. */
  traced_share: limits.traces.share,
  /** Billed time of a new environment until it answers, and idle minutes after which one ends, at the soonest. */
  cold_start_ms: 250,
  idle_minutes: 5,
  /** Billed time of a function that is kept warm: its entry answers before any code of its own (`infra/bundle.ts`). */
  warm_up_ms: 2,
  /** Bytes of the gzipped entry of a command in the audit's bucket. */
  audit_entry_bytes: 400,
  /** Memory at which a function has one whole processor (AWS docs: Lambda function memory). */
  whole_processor_mb: 1769,
  /**
   * Processor time of a route that the bench has not measured, ms: that of most commits (test/bench/LATENCY.md); reads
   * take less. A millisecond more costs 0.02 USD per million.
   */
  unmeasured_processor_ms: 3,
  /** An account with 20 ledger entries and 62 events in a reconciliation (ADR 0063): read units, processor ms. */
  reconciled_account: { read_units: 16, processor_ms: 5 },
  /** A row of an export, and one with its account number and client name (ADR 0094): read units, processor ms. */
  exported_row: { read_units: 0.56, processor_ms: 0.15 },
  named_row: { read_units: 1.56, processor_ms: 0.2 },
  /** An account in an export of balances: its items, and for half of them five reads that find the instant. */
  exported_balance: { read_units: 4.5, processor_ms: 0.3 },
  /** Lambda asks an idle queue with five connections, each of which waits 20 s (AWS docs: Lambda with SQS). */
  polls_per_minute: 15,
  /** Hours of a month in the price lists of AWS. */
  hours_per_month: 730,
} as const;
