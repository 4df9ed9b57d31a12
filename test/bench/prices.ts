import { traffic as stated } from "../../infra/tools/cost/traffic.ts";
import type { BackgroundWork } from "../../shared/domain/usage/event-cost.ts";
import { pricesOf, pricesReadOn } from "../../shared/domain/usage/prices.ts";

/** The prices that the reports of the bench are stated in, from the one list. */
export const prices = { ...pricesOf("us-east-1"), read_on: pricesReadOn, region: "us-east-1" } as const;

/** What a request leaves behind: bytes of its log and of its answer, and the share of requests that are traced. */
export const traffic = stated;

/** Dollars of a million requests for logs, traces and transfer. */
export function trafficDollars(): number {
  return (
    (traffic.log_bytes / 1000) * prices.logs_per_gigabyte +
    traffic.traced_share * prices.traces_per_million +
    (traffic.answer_bytes / 1000) * prices.transfer_per_gigabyte
  );
}

/** What one million requests cost without logs, by the memory and the billed time of the function and its units. */
export function dollarsPerMillion(request: {
  readonly memory_mb: number;
  readonly billed_ms: number;
  readonly read_units: number;
  readonly write_units: number;
}): number {
  const gigabyteSeconds = (request.memory_mb / 1024) * (request.billed_ms / 1000) * 1_000_000;
  return (
    prices.gateway_per_million_requests +
    prices.lambda_per_million_requests +
    gigabyteSeconds * prices.lambda_per_gigabyte_second +
    request.write_units * prices.dynamodb_per_million_write_units +
    request.read_units * prices.dynamodb_per_million_read_units
  );
}

/** What a million times some work behind a request costs: units, functions, calls of queues and logs. */
export function backgroundDollars(work: BackgroundWork): number {
  const calls = traffic.calls_per_message;
  return (
    work.write_units * prices.dynamodb_per_million_write_units +
    work.read_units * prices.dynamodb_per_million_read_units +
    work.invocations * prices.lambda_per_million_requests +
    work.gigabyte_seconds * 1_000_000 * prices.lambda_per_gigabyte_second +
    work.messages * calls * prices.sqs_fair_per_million_requests +
    work.fifo_messages * calls * prices.sqs_fifo_per_million_requests +
    (work.invocations * traffic.log_bytes * prices.logs_per_gigabyte) / 1000
  );
}
