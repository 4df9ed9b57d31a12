import type { Decided, StoredItem, Update } from "../kernel/decision.ts";
import type { Change } from "./change.ts";
import type { Dedup } from "./feed-item.ts";
import type { Position } from "./position.ts";
import type { Exposure, Risk } from "./risk.ts";

/** Stored kinds of the trading half. */
export type TradingEntity = "symbol" | "trade" | "position" | "order" | "risk" | "feed_source" | "feed_reject";

type Other = Exclude<TradingEntity, "position" | "risk">;

/**
 * One change of a trading decision: those of every decision on the kinds of trading, and `remove`, which deletes an
 * item on the condition that its version is still that of `before`. `expose` and `hide` write and delete entries of the
 * exposure index, whatever is there: the risk of the account, which lists them, is what is compared. `mark` notes what
 * became of an item of a feed, on the condition that what was noted of it before is what was read.
 */
export type TradingChange =
  | Change
  | { readonly op: "create"; readonly entity: Other; readonly item: StoredItem }
  | { readonly op: "create"; readonly entity: "risk"; readonly item: Risk }
  | Update<Other, StoredItem & { readonly version: number }>
  | Update<"risk", Risk>
  | PositionChange
  | { readonly op: "expose" | "hide"; readonly entry: Exposure }
  | { readonly op: "mark"; readonly before: Dedup | undefined; readonly after: Dedup };

/** A change of an open position: {@link positionChanges} makes them. */
export type PositionChange =
  | { readonly op: "create"; readonly entity: "position"; readonly item: Position }
  | Update<"position", Position>
  | { readonly op: "remove"; readonly entity: "position"; readonly before: Position };

/** Result of a trading decision. */
export type TradingDecision<R> = Decided<R, TradingChange>;
