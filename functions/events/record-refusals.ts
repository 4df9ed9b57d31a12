import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { recordRefusals } from "../../shared/events/refusals.ts";
import { failuresOf } from "../../shared/runtime/batch.ts";

/** Consumes the queue of refusals by policy or scope: the audit gets their entries. */
export async function handler({ Records: records }: SQSEvent): Promise<SQSBatchResponse> {
  return failuresOf(await recordRefusals(records.map(({ messageId: id, body: text }) => ({ id, text }))));
}
