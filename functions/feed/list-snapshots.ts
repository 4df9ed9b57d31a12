import { type Snapshot, snapshotBody } from "../../shared/domain/feed/drift/snapshot.ts";
import { readSnapshot } from "../../shared/feed/snapshots.ts";
import { inRange } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { limits } from "../../shared/limits.ts";
import { listSnapshots } from "../../shared/routes/drift.ts";
import { inParallel } from "../../shared/runtime/parallel.ts";
import { snapshots } from "../../shared/table/entities.ts";
import { pageOfIndex, pageWith } from "../../shared/table/list.ts";
import { tradingRef } from "../../shared/trading/items.ts";

/** `GET /feed/sources/{id}/snapshots` */
export const handler = await list(listSnapshots, async ({ path, caller: { tenant_id: tenant }, place, load }) => {
  const request = { ...pageRequest(place, "-as_of_seq"), ...inRange(place.query, "created") };
  const [{ source }, page] = await Promise.all([
    load({ source: tradingRef.feedSource(path.id) }),
    pageOfIndex<Snapshot>("list", [snapshots.ofSource(tenant, path.id)], request),
  ]);
  const whole: Awaited<ReturnType<typeof readSnapshot>>[] = [];
  await inParallel(limits.page.queries_at_once, page.items, async ({ source_id, snapshot_id }, at) => {
    whole[at] = await readSnapshot(tenant, source_id, snapshot_id);
  });
  const found = whole.map(({ snapshot, parts, end }) => snapshot && { snapshot, parts, end });
  return source && pageReply(place, pageWith(page, found), (each) => snapshotBody(each.snapshot, each.parts, each.end));
});
