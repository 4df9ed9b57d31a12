import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { watchMarket } from "../../shared/trading/margin-watch.ts";

/** Stream of the volatile table, quotes and pulses: sends for the accounts that a price must be judged for. */
export async function handler({ Records: records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const failed = await watchMarket(records);
  return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
}
