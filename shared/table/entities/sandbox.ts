import type { Reset } from "../../domain/sandbox/reset.ts";
import type { PriceWalk } from "../../domain/sandbox/walk.ts";
import { dueKeys, type Entity, type IndexKeys, type Key } from "./keys.ts";

/** Prices of the sandbox that walk, by symbol; each is in `due` by its next step. */
export const priceWalks = {
  et: "WALK",
  partition: (tenant: string) => `${tenant}|WALK`,
  key: (tenant: string, symbol: string): Key => ({ pk: priceWalks.partition(tenant), sk: symbol }),
  keyOf: (item: PriceWalk): Key => priceWalks.key(item.tenant_id, item.symbol),
  indexesOf: (item: PriceWalk): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("WALK", `${item.tenant_id}:${item.symbol}`, item.wake_at),
} satisfies Entity<PriceWalk> & Record<string, unknown>;

/** The last reset of a tenant of the sandbox; in `due` while it runs. */
export const resets = {
  et: "RESET",
  key: (tenant: string): Key => ({ pk: `${tenant}|RESET`, sk: "RESET" }),
  keyOf: (item: Reset): Key => resets.key(item.tenant_id),
  indexesOf: (item: Reset): IndexKeys => (item.wake_at === null ? {} : dueKeys("RESET", item.id, item.wake_at)),
} satisfies Entity<Reset> & Record<string, unknown>;
