import type { Change, DomainEvent, Refusal, Requirement, StoredItem } from "../decision.ts";
import type { Position } from "./position.ts";

/** Stored kinds of the trading half. */
export type TradingEntity = "trade" | "position" | "order" | "risk";

/**
 * One change of a trading decision: those of every decision on the kinds of trading, and `remove`, which deletes an
 * item on the condition that its version is still that of `before`. `claim` makes a deal of a source happen once.
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
  | { readonly op: "remove"; readonly entity: "position"; readonly before: Position };

/** What a trading decision comes to. */
export type TradingDecision<R> =
  | {
      readonly ok: true;
      readonly result: R;
      readonly changes: readonly TradingChange[];
      readonly events: readonly DomainEvent[];
    }
  | { readonly ok: false; readonly refusal: Refusal };
