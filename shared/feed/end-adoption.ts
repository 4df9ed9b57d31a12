import type { Drift } from "../domain/records/drift.ts";
import type { FeedReject } from "../domain/records/feed-item.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { rescheduled, type SweepResult, sweepItems } from "../table/due.ts";
import { drifts, feedRejects } from "../table/entities.ts";
import { isStored } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { pagesOf } from "../table/partition.ts";
import { loadItems } from "../table/store.ts";
import { readItem } from "../table/table.ts";
import { tradingRef } from "../trading/items.ts";
import { applyAlone } from "./batch/batches.ts";
import { adoptedPositions, openLeft } from "./opening.ts";
import { readFeedItem } from "./read-items.ts";

/**
 * Ends the adoption of an account: opens the positions that its commit had no room for, and then retries what was put
 * aside of it, in its order: items that its snapshot includes are resolved as `in_baseline`, later ones are applied.
 * One that waits for another one is tried again. The sweep does the rest when time runs out or the process dies.
 */
export async function endAdoption(drift: Drift, remainingMs: () => number): Promise<void> {
  if (drift.retry_at === undefined || !(await openAndRetry(drift, remainingMs))) return;
  await changeItem(drifts.keyOf(drift), rescheduled(drifts, drift, { remove: ["retry_at"], when: [isStored] }));
}

/** Ends the adoption of accounts where their request has not done it. */
export function endAdoptions(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems<Drift>("DRIFT", hasTime, {
    entity: drifts,
    isDue: ({ retry_at }) => retry_at !== undefined && retry_at <= nowIso(),
    run: async (drift) => {
      await endAdoption(drift, remainingMs);
      return 1;
    },
    report: ({ id }, error) =>
      log.error("The adoption of an account could not be ended.", { drift_id: id, ...causeOf(error) }),
  });
}

/** Whether all positions are there, and everything was tried that can be applied. */
async function openAndRetry(drift: Drift, remainingMs: () => number): Promise<boolean> {
  const { tenant_id, source_id } = drift;
  const { source } = await loadItems(tenant_id, { source: tradingRef.feedSource(source_id) });
  if (source === undefined) return true;
  const left = () => remainingMs() - limits.feed.reserve_ms;
  const newContext = () => systemContext(tenant_id, "baseline");
  const run = { tenant_id, source, newContext, remainingMs: left };
  const positions = await adoptedPositions(drift);
  if (!(await openLeft(run, drift, positions))) return false;
  const names = new Set(positions.map(({ position_id }) => position_id));
  for (let pass = 0; pass < limits.snapshots.baseline_passes; pass += 1) {
    const aside = await asideOf(drift, names);
    let settled = 0;
    for (const { id, item } of aside) {
      if (left() <= limits.commit.reserve_ms) return false;
      const { status } = await applyAlone({ ...run, retried: id }, readFeedItem(JSON.parse(item)));
      if (status === "deferred") return false;
      if (status === "applied" || status === "duplicate") settled += 1;
    }
    if (settled === 0 || settled === aside.length) return true;
  }
  return false;
}

/** Open rejects that name the login of an account or one of the positions that it was adopted with, oldest first. */
async function asideOf(
  { tenant_id, source_id, platform_login }: Drift,
  positions: ReadonlySet<unknown>,
): Promise<FeedReject[]> {
  const found: FeedReject[] = [];
  for await (const { items } of pagesOf(feedRejects.partition(tenant_id, source_id), {})) {
    for (const reject of items.map((item) => readItem<FeedReject>(item))) {
      const { data } = JSON.parse(reject.item) as { readonly data?: Readonly<Record<string, unknown>> };
      const own = data?.["platform_login"] === platform_login || positions.has(data?.["position_id"]);
      if (own && reject.status === "open") found.push(reject);
    }
  }
  return found.toSorted((one, other) => (BigInt(one.seq) < BigInt(other.seq) ? -1 : 1));
}
