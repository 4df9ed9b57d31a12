import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { fanOutMessage } from "../../shared/events/fan-out-queue.ts";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { causeOf, log } from "../../shared/runtime/log.ts";

/** Consumes the queue of events with many deliveries: sends the messages of these. */
export async function handler({ Records: records }: SQSEvent): Promise<SQSBatchResponse> {
  const failed: string[] = [];
  await Promise.all(
    records.map(async ({ body, messageId, attributes }) => {
      try {
        await fanOutMessage(body, Number(attributes.ApproximateReceiveCount));
      } catch (error) {
        log.error("Deliveries of events could not be created.", { message_id: messageId, ...causeOf(error) });
        failed.push(messageId);
      }
    }),
  );
  return failuresOf(failed);
}
