import type { Authority } from "../feed.ts";
import type { Risk } from "./risk.ts";

/** A trigger as it is stored: prices in points of its symbol, as decimal texts. */
export interface StoredTrigger {
  readonly symbol: string;
  readonly down: string | null;
  readonly up: string | null;
}

/** The risk of an account as it is stored: with the triggers that the exposure index holds for it, no more, no less. */
export interface StoredRisk extends Risk {
  readonly triggers: readonly StoredTrigger[];
  /** The source whose deals are on the account; null when it is traded here. */
  readonly source_id: string | null;
  readonly liquidated_by: Authority;
}

/** One entry of the exposure index: evaluate this account when the symbol's price meets the trigger. */
export interface Exposure {
  readonly tenant_id: string;
  readonly account_id: string;
  readonly symbol: string;
  /** `dn`: the bid falls to the trigger or below; `up`: the ask rises to it or above. */
  readonly direction: "dn" | "up";
  /** Points of the symbol, padded so that texts sort like numbers. */
  readonly trigger: string;
}
