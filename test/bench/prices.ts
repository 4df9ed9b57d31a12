import { pricesOf, pricesReadOn } from "../../shared/domain/usage/prices.ts";

/** The prices that the reports of the bench are stated in, from the one list. */
export const prices = { ...pricesOf("us-east-1"), read_on: pricesReadOn, region: "us-east-1" } as const;

/** Cost of one million requests without logs, by the memory and the billed time of the function and its units. */
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
