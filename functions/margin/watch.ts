import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import type { StoredQuote } from "../../shared/data/entities.ts";
import { watchQuotes } from "../../shared/data/margin-watch.ts";
import { readRawItem } from "../../shared/data/table.ts";

/** Stream of the volatile table, quotes only: sends the accounts that a price must be judged for to their queue. */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const records = event.Records.flatMap(({ eventName, dynamodb }) =>
    eventName === "REMOVE" || dynamodb?.NewImage === undefined
      ? []
      : [{ sequence: dynamodb.SequenceNumber ?? "", quote: readRawItem<StoredQuote>(dynamodb.NewImage) }],
  );
  const failed = await watchQuotes(records);
  return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
}
