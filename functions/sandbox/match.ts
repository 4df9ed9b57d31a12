import type { Context, DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { matchQuotes } from "../../shared/sandbox/matching.ts";
import type { StoredQuote } from "../../shared/table/entities.ts";
import { readRawItem } from "../../shared/table/table.ts";

/** Stream of the volatile table, quotes only, in the sandbox alone: fills orders and closes positions at stops. */
export async function handler(event: DynamoDBStreamEvent, context: Context): Promise<DynamoDBBatchResponse> {
  const records = event.Records.flatMap(({ eventName, dynamodb }) =>
    eventName === "REMOVE" || dynamodb?.NewImage === undefined
      ? []
      : [{ sequence: dynamodb.SequenceNumber ?? "", quote: readRawItem<StoredQuote>(dynamodb.NewImage) }],
  );
  const failed = await matchQuotes(records, () => context.getRemainingTimeInMillis());
  return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
}
