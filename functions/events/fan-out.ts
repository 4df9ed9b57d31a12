import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { fanOutMessage } from "../../shared/events/fan-out-queue.ts";
import { log } from "../../shared/runtime/log.ts";

/** Consumes the queue of events with many deliveries: creates these and sends their messages. */
export async function handler({ Records: records }: SQSEvent): Promise<SQSBatchResponse> {
  const failed: string[] = [];
  await Promise.all(
    records.map(async ({ body, messageId }) => {
      try {
        await fanOutMessage(body);
      } catch (error) {
        log.error("Events could not be delivered to all.", { message_id: messageId, error: (error as Error).name });
        failed.push(messageId);
      }
    }),
  );
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
