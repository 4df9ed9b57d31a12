import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { evaluateMessages } from "../../shared/trading/evaluations.ts";

/** Consumes the queue of accounts: evaluates their margin at the latest prices, and completes liquidations. */
export async function handler({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const messages = records.map(({ messageId, body }) => ({ id: messageId, body }));
  const failed = await evaluateMessages(messages, () => context.getRemainingTimeInMillis());
  return failuresOf(failed);
}
