import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import type { Outbox } from "../../shared/data/entities.ts";
import { publishOutbox } from "../../shared/data/publish.ts";
import { readRawItem } from "../../shared/data/table.ts";

/** Stream of the main table, outbox items only: numbers and publishes their events. */
export async function handler(event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const records = event.Records.flatMap(({ eventName, dynamodb }) =>
    eventName === "REMOVE" || dynamodb?.NewImage === undefined
      ? []
      : [{ sequence: dynamodb.SequenceNumber ?? "", item: readRawItem<Outbox>(dynamodb.NewImage) }],
  );
  const failed = await publishOutbox(records.map(({ item }) => item));
  return {
    batchItemFailures: records
      .filter(({ item }) => failed.has(item.id))
      .map(({ sequence }) => ({ itemIdentifier: sequence })),
  };
}
