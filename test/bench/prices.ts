/**
 * Unit prices in US dollars, from the public price lists of AWS for us-east-1. The one place where prices stand; who
 * changes one changes the date.
 */
export const prices = {
  read_on: "2026-11-21",
  region: "us-east-1",
  /** API Gateway, REST, first 333 million requests of a month. */
  gateway_per_million_requests: 3.5,
  /** DynamoDB on demand: write and read request units; a transactional or indexed write counts several. */
  dynamodb_per_million_write_units: 0.625,
  dynamodb_per_million_read_units: 0.125,
  lambda_per_million_requests: 0.2,
  /** Lambda on arm64. */
  lambda_per_gigabyte_second: 0.0000133334,
  /** SQS, FIFO, at which standard queues are priced too; they cost 0.40. */
  sqs_per_million_requests: 0.5,
  logs_per_gigabyte: 0.5,
  traces_per_million: 5,
  transfer_per_gigabyte: 0.09,
} as const;

/** What a request leaves behind: bytes of its log and of its answer, and the share of requests that are traced. */
export const traffic = { log_bytes: 900, answer_bytes: 2500, traced_share: 0.05 } as const;

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
