import type { Change, DomainEvent, Refusal, Requirement, StoredItem } from "../decision.ts";
import type { Dedup } from "../feed/records.ts";
import type { Position } from "./position.ts";
import type { Exposure } from "./stored-risk.ts";

/** Stored kinds of the trading half. */
export type TradingEntity = "symbol" | "trade" | "position" | "order" | "risk" | "feed_source" | "feed_reject";

/**
 * One change of a trading decision: those of every decision on the kinds of trading, and `remove`, which deletes an
 * item on the condition that its version is still that of `before`. `expose` and `hide` write and delete entries of the
 * exposure index, whatever is there: the risk of the account, which lists them, is what is compared. `mark` notes what
 * became of an item of a feed, on the condition that what was noted of it before is what was read.
 */
export type TradingChange =
  | Change
  | { readonly op: "create"; readonly entity: TradingEntity; readonly item: StoredItem }
  | {
      readonly op: "update";
      readonly entity: TradingEntity;
      readonly before: StoredItem & { readonly version: number };
      readonly after: StoredItem & { readonly version: number };
      readonly require?: readonly Requirement[];
    }
  | { readonly op: "remove"; readonly entity: "position"; readonly before: Position }
  | { readonly op: "expose" | "hide"; readonly entry: Exposure }
  | { readonly op: "mark"; readonly before: Dedup | undefined; readonly after: Dedup };

/** What a trading decision comes to. */
export type TradingDecision<R> =
  | {
      readonly ok: true;
      readonly result: R;
      readonly changes: readonly TradingChange[];
      readonly events: readonly DomainEvent[];
    }
  | { readonly ok: false; readonly refusal: Refusal };
