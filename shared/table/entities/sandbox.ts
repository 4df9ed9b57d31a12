import type { Position } from "../../domain/records/position.ts";
import type { Reset } from "../../domain/sandbox/reset.ts";
import type { PriceWalk } from "../../domain/sandbox/walk.ts";
import { dueKeys, type Entity, type IndexKeys, type Key, keyPart } from "./keys.ts";

/**
 * An order, or a position with a stop loss or a take profit, that began to wait for a price just now. Indexes may not
 * show it yet.
 */
export interface NewlyWaiting {
  readonly tenant_id: string;
  readonly symbol: string;
  readonly kind: "order" | "stops";
  readonly account_id: string;
  /** The order or the position. */
  readonly id: string;
  /** RFC 3339, UTC with milliseconds. */
  readonly since: string;
  /** Where an order stands in the index of the prices that orders wait for. */
  readonly waits_in?: string | undefined;
  readonly waits_at?: string | undefined;
  /** The levels of a position, and its side. */
  readonly stops?: Pick<Position, "side" | "stop_loss" | "take_profit">;
  /** When DynamoDB may delete it, in seconds since the epoch. */
  readonly expires_at: number;
}

/** {@link NewlyWaiting} in the partition of its symbol, by time; written with what waits, and read consistently. */
export const newlyWaiting = {
  et: "WAITING",
  partition: (tenant: string, symbol: string) => `${tenant}|WAITING|${keyPart(symbol)}`,
  keyOf: (item: NewlyWaiting): Key => ({
    pk: newlyWaiting.partition(item.tenant_id, item.symbol),
    sk: `${item.since}|${item.id}`,
  }),
} satisfies Entity<NewlyWaiting> & Record<string, unknown>;

/** Prices of the sandbox that walk, by symbol; each is in `due` by its next step. */
export const priceWalks = {
  et: "WALK",
  partition: (tenant: string) => `${tenant}|WALK`,
  key: (tenant: string, symbol: string): Key => ({ pk: priceWalks.partition(tenant), sk: keyPart(symbol) }),
  keyOf: (item: PriceWalk): Key => priceWalks.key(item.tenant_id, item.symbol),
  indexesOf: (item: PriceWalk): IndexKeys =>
    item.wake_at === null ? {} : dueKeys("WALK", `${item.tenant_id}:${keyPart(item.symbol)}`, item.wake_at),
} satisfies Entity<PriceWalk> & Record<string, unknown>;

/** The last reset of a tenant of the sandbox; in `due` while it runs. */
export const resets = {
  et: "RESET",
  key: (tenant: string): Key => ({ pk: `${tenant}|RESET`, sk: "RESET" }),
  keyOf: (item: Reset): Key => resets.key(item.tenant_id),
  indexesOf: (item: Reset): IndexKeys => (item.wake_at === null ? {} : dueKeys("RESET", item.id, item.wake_at)),
} satisfies Entity<Reset> & Record<string, unknown>;
