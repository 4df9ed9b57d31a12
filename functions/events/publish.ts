import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { publishOutbox } from "../../shared/events/publish.ts";
import { type Outbox, outboxes } from "../../shared/table/entities.ts";
import { readRawItem } from "../../shared/table/table.ts";
import { handOverDue } from "../../shared/trading/hand-over.ts";

/**
 * Consumes the work that commits leave in the stream of the main table: numbers and publishes the events of outbox
 * items, and enqueues accounts that are due for evaluation. Both run concurrently.
 */
export async function handler({ Records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const records = Records.filter(({ eventName }) => eventName !== "REMOVE");
  const waiting = records.flatMap(({ dynamodb: { NewImage: image, SequenceNumber: sequence = "" } = {} }) =>
    image?.["et"]?.S === outboxes.et ? [{ sequence, item: readRawItem<Outbox>(image) }] : [],
  );
  const [unsent, unpublished] = await Promise.all([
    handOverDue(records),
    publishOutbox(waiting.map(({ item }) => item)),
  ]);
  const failed = [...unsent, ...waiting.filter(({ item }) => unpublished.has(item.id)).map(({ sequence }) => sequence)];
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
