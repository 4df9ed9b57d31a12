import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { evaluateMessages } from "../../shared/trading/evaluations.ts";

/** Queue of accounts: decides what the newest prices mean for their margin, and carries liquidations to their end. */
export async function handler({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const messages = records.map(({ messageId, body }) => ({ id: messageId, body }));
  const failed = await evaluateMessages(messages, () => context.getRemainingTimeInMillis());
  return { batchItemFailures: [...failed].map((itemIdentifier) => ({ itemIdentifier })) };
}
