import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { publishGroups } from "../../shared/events/publish-groups.ts";
import { wakeOf } from "../../shared/events/publishing-queue.ts";
import { limits } from "../../shared/limits.ts";
import { failuresOf } from "../../shared/runtime/batch.ts";
import { withinBudget } from "../../shared/runtime/budget.ts";
import { countMetric, log } from "../../shared/runtime/log.ts";

/**
 * Consumes the FIFO queue of outbox items: numbers and publishes their events, each tenant in its order. An
 * unrecognised message is dropped and reported: it would hold the messages after it, and what it was for is swept.
 */
export async function handler({ Records: records }: SQSEvent, context: Context): Promise<SQSBatchResponse> {
  const { publish_budget_reserve_ms, publish_reserve_ms } = limits.events;
  const remainingMs = () => context.getRemainingTimeInMillis();
  const wakes = records.flatMap((record) => wakeOf(record) ?? []);
  if (wakes.length < records.length) {
    countMetric("EventPublishFailed", records.length - wakes.length);
    log.error("The publisher received messages of an unknown form.", { messages: records.length - wakes.length });
  }
  const failed = await withinBudget(remainingMs() - publish_budget_reserve_ms, () =>
    publishGroups(wakes, () => remainingMs() > publish_reserve_ms),
  );
  return failuresOf(failed);
}
