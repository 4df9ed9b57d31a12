import { text } from "../emulator/raw-items.ts";
import type { RawItem } from "../emulator/raw-table.ts";

/** Whether an entry takes back a completed transaction. */
export function isReturn(entry: RawItem): boolean {
  return text(entry, "kind") === "return";
}

const tradingKinds = new Set(["realised_pnl", "swap", "commission", "negative_balance_correction"]);

/** Trading books may take more than is there: a price does not stop at zero. */
export function isTrading(entry: RawItem): boolean {
  return tradingKinds.has(text(entry, "kind"));
}

/** Whether a transaction takes its amount from its account. */
export function takesMoney(item: RawItem): boolean {
  return ["withdrawal", "transfer_out"].includes(text(item, "kind"));
}

/** States in which nothing is decided about a transaction yet. */
export const undecided = new Set(["pending", "approved"]);

/** States from which a transaction still moves. */
export const openStates = new Set(["pending", "approved", "processing"]);

/** Whether a platform was asked to move the money of a transaction and has not done so: nothing of it is booked. */
export function isAwaited(item: RawItem): boolean {
  return typeof item["command_id"] === "string" && item["platform_done_at"] === undefined;
}

/** Whether a platform was asked to bring money of a transaction back, and has not. */
export function isReturning(item: RawItem): boolean {
  return item["returning_minor"] !== undefined;
}

/** The tenant that an item belongs to, by its key. */
export function tenantOf(item: RawItem): string {
  return text(item, "pk").slice(0, 30);
}
