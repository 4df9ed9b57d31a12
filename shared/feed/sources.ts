import { type FeedSource, isEnded, type SourcePulse } from "../domain/records/feed-source.ts";
import type { TradingDecision } from "../domain/records/trading-change.ts";
import type { UnreadableItem } from "../runtime/unreadable.ts";
import { feedSources, pulses } from "../table/entities.ts";
import { keyIn, pagesOf } from "../table/partition.ts";
import { type Committable, findReadable, loadItems, readEach } from "../table/store.ts";
import { indexes } from "../table/table-shape.ts";
import { putNew } from "../table/write.ts";
import { tradingRef } from "../trading/items.ts";

/** How many sources a tenant has that have not ended, as far as the index knows yet. */
export async function sourcesOf(tenant: string): Promise<number> {
  let count = 0;
  for await (const { items } of pagesOf(feedSources.all(tenant), { index: indexes.list, attributes: ["pk", "sk"] })) {
    count += (await findReadable(feedSources, items.map(keyIn))).filter((source) => !isEnded(source)).length;
  }
  return count;
}

/** The decision of a new source in the table's form; the claim of its name stays, for its refusal. */
export function storedSource(decision: TradingDecision<FeedSource>): Committable<FeedSource> {
  if (!decision.ok) return decision;
  const claims = decision.changes.filter((change) => change.op === "claim");
  return { ...decision, changes: [{ op: "prepared", item: putNew(feedSources, decision.result) }, ...claims] };
}

/** The last signs of life of these sources, by their names. */
export async function pulsesOf(
  tenant: string,
  sources: readonly FeedSource[],
): Promise<ReadonlyMap<string, SourcePulse | UnreadableItem | undefined>> {
  const found = await readEach<SourcePulse>(sources.map(({ name }) => pulses.key(tenant, name)));
  return new Map(sources.map(({ name }, place) => [name, found[place]]));
}

/** A source with its last sign of life, which is kept under its name. */
export async function loadSource(
  tenant: string,
  id: string,
): Promise<{ readonly source: FeedSource | undefined; readonly pulse: SourcePulse | undefined }> {
  const { source } = await loadItems(tenant, { source: tradingRef.feedSource(id) });
  if (source === undefined) return { source, pulse: undefined };
  const { pulse } = await loadItems(tenant, { pulse: tradingRef.pulse(source.name) });
  return { source, pulse };
}
