import type { SQSBatchResponse, SQSEvent } from "aws-lambda";

/** Queues of deliveries. Until deliveries exist every message is left to the time in its item. */
export async function handler(_event: SQSEvent): Promise<SQSBatchResponse> {
  return { batchItemFailures: [] };
}
