import type { DynamoDBRecord } from "aws-lambda";
import { shardsAfter, shardsRead } from "../domain/trading/exposure.ts";
import { triggerUnits } from "../domain/trading/pricing/quote.ts";
import { limits } from "../limits.ts";
import { type Direction, exposures, quotes, type StoredQuote } from "../table/entities.ts";
import { type Condition, isStored } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { type PartitionPosition, readPage } from "../table/partition.ts";
import { readRawItem } from "../table/table.ts";
import { symbolNamesOf } from "./market.ts";

const { exposure_shards: most, first_exposure_shards: least } = limits.trading;

/** The triggers that a price meets: from this sort key on, or up to it. */
type Met = { readonly from: string } | { readonly to: string };

/** The part of one partition of the exposure index that a price meets, and where to go on in it. */
type Passed = Met & { readonly partition: string; readonly start?: PartitionPosition };

/**
 * Whether a record of the volatile table's stream brings a price. Items of other kinds and what was deleted do not, nor
 * do the prices that a brokerage was made with: it had no account then, and each of them would search the exposure
 * index of its symbol (ADR 0022).
 */
export function bringsPrice({ eventName, dynamodb }: DynamoDBRecord): boolean {
  const { NewImage: image, OldImage: old } = dynamodb ?? {};
  if (image?.["et"]?.S !== quotes.et || eventName === "REMOVE") return false;
  if (eventName === "INSERT") return image["seeded"]?.BOOL !== true;
  // Only the number of its shards was noted, by a look for this price.
  const noted = old?.["exposure_shards"]?.N !== image["exposure_shards"]?.N;
  return !(noted && old?.["received_at"]?.S === image["received_at"]?.S);
}

/** The price that a record brings; undefined where it brings none. */
export function quoteOf(record: DynamoDBRecord): StoredQuote | undefined {
  const { NewImage: image } = record.dynamodb ?? {};
  return image !== undefined && bringsPrice(record) ? readRawItem<StoredQuote>(image) : undefined;
}

/**
 * The accounts whose trigger a quote meets, in pages, each partition read concurrently and strongly consistent. Only
 * met triggers are read: how many accounts hold the symbol does not matter. An account that waits for both directions
 * may come twice.
 */
export async function* exposedTo({
  tenant_id,
  symbol,
  bid,
  ask,
  exposure_shards,
}: Pick<StoredQuote, "tenant_id" | "symbol" | "bid" | "ask" | "exposure_shards">): AsyncGenerator<readonly string[]> {
  const shards = shardsRead({ exposure_shards });
  // Behind the points stands the account after a bar, so no sort key is those of the next point alone.
  yield* accountsIn([
    ...shardsOf(tenant_id, symbol, "dn", { from: exposures.sortOf(triggerUnits(bid)) }, shards),
    ...shardsOf(tenant_id, symbol, "up", { to: exposures.sortOf(triggerUnits(ask) + 1n) }, shards),
  ]);
}

/**
 * Counts the shards of a symbol after a look for its quote that has met so many accounts, and notes the number on the
 * quote where it rises: in the same write the version rises, so that no price which is on its way takes it back.
 */
export async function noteShards(quote: StoredQuote, met: number): Promise<void> {
  const { tenant_id: tenant, symbol, exposure_shards: before } = quote;
  const after = await shardsAfter(quote, met, () => usesMore(tenant, symbol));
  if (after === before) return;
  const attribute = "exposure_shards";
  const when: Condition[] =
    before === undefined ? [isStored, { attribute, is: "absent" }] : [{ attribute, is: "below", value: after }];
  await changeItem(quotes.key(tenant, symbol), { set: { [attribute]: after }, add: { version: 1 }, when }, "refused");
}

/** Whether anything waits in a shard of a symbol that entries are not put into at first. */
async function usesMore(tenant: string, symbol: string): Promise<boolean> {
  const later = (["dn", "up"] as const).flatMap((direction) =>
    Array.from({ length: most - least }, (_, place) => exposures.partition(tenant, symbol, direction, least + place)),
  );
  const found = await Promise.all(later.map((one) => readPage(one, { attributes: ["sk"], page_size: 1 })));
  return found.some(({ items }) => items.length > 0);
}

/** The accounts of a tenant that wait for any price at all, since one that they depend on was old or cut off. */
export async function* waitingAccounts(tenant: string): AsyncGenerator<readonly string[]> {
  const met = { from: exposures.sortOf(limits.trading.highest_trigger) };
  for (const symbol of await symbolNamesOf(tenant)) yield* accountsIn(shardsOf(tenant, symbol, "dn", met, most));
}

function shardsOf(tenant: string, symbol: string, direction: Direction, met: Met, count: number): Passed[] {
  return Array.from({ length: count }, (_, shard) => ({
    partition: exposures.partition(tenant, symbol, direction, shard),
    ...met,
  }));
}

async function* accountsIn(parts: readonly Passed[]): AsyncGenerator<readonly string[]> {
  let open = parts;
  while (open.length > 0) {
    const pages = await Promise.all(open.map(pageOf));
    open = pages.flatMap(({ next }) => (next === undefined ? [] : [next]));
    const found = interleaved(pages.map(({ accountIds }) => accountIds));
    if (found.length > 0) yield found;
  }
}

/** One of each list after the other, so that evaluations write to all shards at the same time and exhaust none. */
function interleaved(lists: readonly (readonly string[])[]): string[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => lists.flatMap((list) => list[place] ?? [])).flat();
}

async function pageOf({ partition, start, ...range }: Passed) {
  const { items, next } = await readPage(partition, { ...range, attributes: ["sk"] }, start);
  const accountIds = items.map(({ sk }) => exposures.accountIn(String(sk)));
  return { accountIds, next: next && { partition, ...range, start: next } };
}
