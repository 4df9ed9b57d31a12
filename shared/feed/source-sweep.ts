import { quietUntil, type WatchedSource, watchSource } from "../domain/feed/watch-source.ts";
import { unchanged } from "../domain/kernel/decision.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import { nowIso } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { rescheduled, type SweepResult, sweepItems } from "../table/due.ts";
import { feedSources } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { type Load, loadItems } from "../table/store.ts";
import { commitDecision, prepared } from "../trading/commit.ts";
import { tradingRef } from "../trading/items.ts";
import { driftRef } from "./drift-refs.ts";

/**
 * Announces the sources that have fallen silent, those whose snapshots do not come, and those that are heard of again,
 * each once: the change of the source and its events are one commit on its version. A source that is heard of is put
 * off until it could be silent or late, without a new version; one that is, or was never heard of, stays due and costs
 * two calls of reads a sweep.
 */
export function watchSources(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems<FeedSource>("SOURCE", hasTime, {
    entity: feedSources,
    isDue: ({ watch_at }) => watch_at !== undefined && watch_at <= nowIso(),
    run: async (source) => ((await watch(source, remainingMs)) ? 1 : 0),
    report: ({ id }, error) => log.error("A feed source could not be checked.", { source: id, ...causeOf(error) }),
  });
}

async function watch({ id, tenant_id }: FeedSource, remainingMs: () => number): Promise<boolean> {
  const seen = await loadWatched((refs) => loadItems(tenant_id, refs), id);
  if (seen === undefined) return false;
  if (watchSource(seen, { now: nowIso() }) === undefined) {
    const watch_at = quietUntil(seen, nowIso());
    if (watch_at !== undefined) await putOff(seen.source, watch_at);
    return false;
  }
  let announces = false;
  const newContext = () => systemContext(tenant_id, "feed_watch");
  const outcome = await commitDecision<FeedSource | undefined>(
    { tenant_id, newContext, remainingMs },
    async (load, context) => {
      const now = await loadWatched(load, id);
      const decision = now && watchSource(now, context);
      announces = decision?.ok ?? false;
      return decision === undefined ? unchanged(now?.source) : prepared(decision, context);
    },
  );
  return announces && outcome.kind === "done";
}

/** A source with its last sign of life and its newest snapshot; undefined when there is none. */
async function loadWatched(load: Load, id: string): Promise<WatchedSource | undefined> {
  const { source } = await load({ source: tradingRef.feedSource(id) });
  if (source === undefined) return undefined;
  const { pulse, head } = await load({ pulse: tradingRef.pulse(source.name), head: driftRef.head(id) });
  return { source, pulse, snapshot_at: head?.received_at };
}

/** Looks at a source again at a later time, unless another sweep has said so. */
async function putOff(source: FeedSource, watch_at: string): Promise<void> {
  const when = isStill({ watch_at: source.watch_at ?? null });
  await changeItem(feedSources.keyOf(source), rescheduled(feedSources, source, { set: { watch_at }, when }), "refused");
}
