import { limits } from "../../limits.ts";
import { type Context, refuse } from "../kernel/decision.ts";
import type { FeedReject } from "../records/feed-item.ts";
import type { TradingDecision } from "../records/trading-change.ts";

/**
 * Decides that a rejected item is never applied, which a person says with a reason. Money that is held or counted until
 * the item is settled is not dismissed: it has moved on the platform, and a retry says what it is.
 */
export function dismissReject(
  before: FeedReject,
  reason: NonNullable<FeedReject["reason"]>,
  { now }: Context,
): TradingDecision<FeedReject> {
  if (before.status === "resolved") return refuse("illegal_transition", "The reject is resolved already.");
  if (before.code === "possible_duplicate" || before.code === "approval_required") {
    return refuse("illegal_transition", "The account holds or counts this money. Retry the item with what it is.");
  }
  const after: FeedReject = {
    ...before,
    ...{ status: "resolved", resolution: "dismissed", reason },
    updated_at: now,
    version: before.version + 1,
    expires_at: Math.floor(Date.parse(now) / 1000) + limits.trading.dedup_kept_seconds,
  };
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "feed_reject", before, after }],
    events: [],
  };
}
