import { unchanged } from "../domain/decision.ts";
import { type FeedSource, silentFrom, watchSource } from "../domain/feed/source.ts";
import { isSilent } from "../domain/trading/pricing/source.ts";
import { nowIso } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { rescheduled, type SweepResult, sweepItems } from "../table/due.ts";
import { feedSources } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { commitDecision, prepared } from "../trading/commit.ts";
import { tradingRef } from "../trading/items.ts";
import { loadSource } from "./sources.ts";

/**
 * Announces the sources that have fallen silent and those that are heard of again, each once: the change of the source
 * and its event are one commit on its version. A source that is heard of is put off until it could be silent, without a
 * new version; one that is silent, or was never heard of, stays due and costs two reads a sweep.
 */
export function watchSources(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems<FeedSource>("SOURCE", hasTime, {
    entity: feedSources,
    isDue: ({ watch_at }) => watch_at !== undefined && watch_at <= nowIso(),
    run: async (source) => ((await watch(source, remainingMs)) ? 1 : 0),
    report: ({ id }, { name }) => log.error("A feed source could not be watched.", { source: id, error: name }),
  });
}

async function watch({ id, tenant_id }: FeedSource, remainingMs: () => number): Promise<boolean> {
  const { source, pulse } = await loadSource(tenant_id, id);
  if (source === undefined || pulse === undefined) return false;
  if (source.stale_since === undefined && !isSilent(pulse, nowIso())) {
    await putOff(source, silentFrom(pulse));
    return false;
  }
  let announces = false;
  const newContext = () => systemContext(tenant_id, "feed_watch");
  const outcome = await commitDecision<FeedSource | undefined>(
    { tenant_id, newContext, remainingMs },
    async (load, context) => {
      const { source: now } = await load({ source: tradingRef.feedSource(id) });
      const seen = now && (await load({ pulse: tradingRef.pulse(now.name) }));
      const decision = now && watchSource({ source: now, pulse: seen?.pulse }, context);
      announces = decision?.ok ?? false;
      return decision === undefined ? unchanged(now) : prepared(decision, context);
    },
  );
  return announces && outcome.kind === "done";
}

/** Looks at a source again at a later time, unless another sweep has said so. */
async function putOff(source: FeedSource, watch_at: string): Promise<void> {
  const when = isStill({ watch_at: source.watch_at ?? null });
  await changeItem(feedSources.keyOf(source), rescheduled(feedSources, source, { set: { watch_at }, when }), "refused");
}
