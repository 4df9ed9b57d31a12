import { planBatch, receiptBody } from "../../shared/domain/feed/batch.ts";
import { refuseEnded } from "../../shared/domain/feed/source.ts";
import { isEnded } from "../../shared/domain/records/feed-source.ts";
import { advanceSource, applyBatch, noteClock, recordHeartbeat } from "../../shared/feed/batch/batches.ts";
import { settleKnown } from "../../shared/feed/batch/known.ts";
import { readFeedItem } from "../../shared/feed/read-items.ts";
import { ingest } from "../../shared/http/operations.ts";
import { refused } from "../../shared/http/problem.ts";
import { limits } from "../../shared/limits.ts";
import { sendFeedBatch } from "../../shared/routes/feed.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /feed/sources/{id}/batches` */
export const handler = await ingest(sendFeedBatch, async ({ path, body, caller, load, ...request }) => {
  const { newCommandContext: newContext, remainingMs, inFullTime } = request;
  const { source } = await load({ source: tradingRef.feedSource(path.id) });
  if (source === undefined) return undefined;
  if (isEnded(source)) throw refused(refuseEnded().refusal);
  const plan = planBatch(source.next_seq, body);
  if (!plan.ok) throw refused(plan.refusal);
  const run = {
    tenant_id: caller.tenant_id,
    source,
    newContext,
    remainingMs: () => remainingMs() - limits.feed.reserve_ms,
  };
  return inFullTime(async () => {
    const known = await settleKnown(run, plan.known);
    const readings = plan.fresh.map(readFeedItem);
    const results = await applyBatch(run, readings, recordHeartbeat(source));
    const moved = await advanceSource(source, results);
    await noteClock(run, moved, readings, results);
    return receiptBody(moved, [...known, ...results]);
  });
});
