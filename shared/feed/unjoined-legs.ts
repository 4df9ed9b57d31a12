import { isOpen } from "../domain/feed/command/command.ts";
import type { PlatformCommand } from "../domain/records/command.ts";
import { limits } from "../limits.ts";
import { commands, unjoinedLegs } from "../table/entities.ts";
import { readPartition } from "../table/partition.ts";
import { findAll, type Load } from "../table/store.ts";
import { type Reads, readsOf } from "../trading/holdings.ts";

/** How decisions about items of a feed read: also what an operation could be the money of, see {@link candidatesOf}. */
export interface FeedReads extends Reads {
  readonly candidatesOf: typeof candidatesOf;
}

/** Reads of the table itself, see {@link readsOf}. */
export function feedReadsOf(load: Load): FeedReads {
  return { ...readsOf(load), candidatesOf };
}

/**
 * Transactions of an account with an unjoined leg of this amount, and commands that correct its balance by that, the
 * oldest first and at most as many as are named to a person: one consistent query, since the indexes lag behind and
 * money must not depend on that.
 */
export async function candidatesOf(tenant: string, accountId: string, amountMinor: bigint): Promise<string[]> {
  const query = { prefix: unjoinedLegs.prefixOf(amountMinor), max_items: limits.feed.max_candidates };
  const legs = await readPartition(unjoinedLegs.partition(tenant, accountId), query);
  return [...new Set(legs.map((item) => String(item["transaction_id"] ?? item["command_id"])))];
}

/** Commands that bring the platform to what is booked of an account, and whose operation was not reported. */
export async function unreportedCommandsOf(tenant: string, accountId: string): Promise<readonly string[]> {
  const legs = await readPartition(unjoinedLegs.partition(tenant, accountId));
  return legs.flatMap((leg) => (leg["command_id"] as string | undefined) ?? []);
}

/** Those of them that have not ended. */
export async function openCorrectionsOf(tenant: string, accountId: string): Promise<readonly string[]> {
  const ids = await unreportedCommandsOf(tenant, accountId);
  if (ids.length === 0) return [];
  const found = await findAll<PlatformCommand>(
    commands,
    ids.map((id) => commands.key(tenant, id)),
  );
  return found.filter(isOpen).map(({ id }) => id);
}
