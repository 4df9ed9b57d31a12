import { partBody } from "../../shared/domain/feed/drift/snapshot.ts";
import { receivePart } from "../../shared/feed/snapshots.ts";
import { ingest } from "../../shared/http/operations.ts";
import { limits } from "../../shared/limits.ts";
import { sendSnapshot } from "../../shared/routes/drift.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `POST /feed/sources/{id}/snapshots` */
export const handler = await ingest(sendSnapshot, async ({ path, body, caller, load, ...request }) => {
  const { newContext, remainingMs, inFullTime } = request;
  const { source } = await load({ source: tradingRef.feedSource(path.id) });
  if (source === undefined) return undefined;
  const run = {
    tenant_id: caller.tenant_id,
    source,
    newContext,
    remainingMs: () => remainingMs() - limits.feed.reserve_ms,
  };
  return inFullTime(async () => partBody(await receivePart(run, body)));
});
