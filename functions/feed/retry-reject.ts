import { applyAlone } from "../../shared/feed/batch/batches.ts";
import { retriedAudit } from "../../shared/feed/items.ts";
import { readFeedItem } from "../../shared/feed/read-items.ts";
import { rejectAt } from "../../shared/feed/reject-at.ts";
import { ingest } from "../../shared/http/operations.ts";
import { limits } from "../../shared/limits.ts";
import { retryFeedReject } from "../../shared/routes/feed.ts";

/** `POST /feed/sources/{id}/rejects/{seq}/retry` */
export const handler = await ingest(retryFeedReject, async ({ path, body, caller, load, ...request }) => {
  const { newCommandContext: newContext, remainingMs, inFullTime } = request;
  const { source, reject } = await load(rejectAt(path));
  if (source === undefined || reject === undefined) return undefined;
  const { seq } = reject;
  if (reject.status === "resolved") return { seq, status: "duplicate" };
  const run = {
    tenant_id: caller.tenant_id,
    source,
    retried: reject.id,
    said: body,
    newContext,
    audited: retriedAudit(source, seq),
    remainingMs: () => remainingMs() - limits.feed.reserve_ms,
  };
  return inFullTime(() => applyAlone(run, readFeedItem(JSON.parse(reject.item))));
});
