import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from "aws-lambda";
import { routeOutbox } from "../../shared/events/route.ts";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { handOverDue } from "../../shared/trading/hand-over.ts";

/**
 * Consumes the work that commits leave in the stream of the main table: sends the keys of new outbox items to the
 * publisher, and accounts that are due to the evaluator. Both run concurrently.
 */
export async function handler({ Records: records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const failed = await Promise.all([handOverDue(records), routeOutbox(records)]);
  return failuresOf(failed.flatMap((sequences) => [...sequences]));
}
