import type { Context, DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { matchQuotes } from "../../shared/sandbox/matching.ts";
import type { StoredQuote } from "../../shared/table/entities.ts";
import { readRawItem } from "../../shared/table/table.ts";

/** Consumes quotes of the stream of the volatile table, in the sandbox only: fills orders and closes at stops. */
export async function handler(event: DynamoDBStreamEvent, context: Context): Promise<DynamoDBBatchResponse> {
  const records = event.Records.flatMap(({ eventName, dynamodb }) =>
    eventName === "REMOVE" || dynamodb?.NewImage === undefined
      ? []
      : [{ sequence: dynamodb.SequenceNumber ?? "", quote: readRawItem<StoredQuote>(dynamodb.NewImage) }],
  );
  const failed = await matchQuotes(records, () => context.getRemainingTimeInMillis());
  return failuresOf(failed);
}
