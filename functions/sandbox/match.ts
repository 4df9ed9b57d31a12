import type { Context, DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { matchQuotes } from "../../shared/sandbox/matching.ts";
import { readRecords } from "../../shared/table/table.ts";
import { quoteOf } from "../../shared/trading/exposed-accounts.ts";

/** Consumes quotes of the stream of the volatile table, in the sandbox only: fills orders and closes at stops. */
export async function handler(event: DynamoDBStreamEvent, context: Context): Promise<DynamoDBBatchResponse> {
  const records = readRecords(event.Records, (record) => {
    const quote = quoteOf(record);
    return quote && { sequence: record.dynamodb?.SequenceNumber ?? "", quote };
  });
  const failed = await matchQuotes(records, () => context.getRemainingTimeInMillis());
  return failuresOf(failed);
}
