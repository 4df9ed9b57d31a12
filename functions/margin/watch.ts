import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { watchMarket } from "../../shared/trading/margin-watch.ts";

/** Consumes the stream of the volatile table (quotes and pulses): enqueues the accounts that a price may affect. */
export async function handler({ Records: records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const failed = await watchMarket(records);
  return failuresOf(failed);
}
