import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { env } from "../../shared/runtime/env.ts";
import { arrivalOf, deliverBatch } from "../../shared/webhooks/deliver.ts";
import { resolverOf } from "../../shared/webhooks/resolve.ts";
import { WebhookSender } from "../../shared/webhooks/webhook-sender.ts";

const sender = new WebhookSender({ resolve: resolverOf(), local: env.local });

/** Consumes the queues of deliveries: posts events to webhook endpoints. An unrecognised message fails on its own. */
export async function handler({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const arrivals = records.map(arrivalOf).filter((arrival) => arrival !== undefined);
  const failed = await deliverBatch(arrivals, { sender, remainingMs: () => context.getRemainingTimeInMillis() });
  const known = new Set(arrivals.map(({ id }) => id));
  const again = records.filter(({ messageId: id }) => failed.has(id) || !known.has(id));
  return failuresOf(again.map(({ messageId }) => messageId));
}
