import { type Context, later } from "../kernel/decision.ts";
import type { Balance } from "../records/balance.ts";
import type { BalanceAdjustment } from "../records/change.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { positionChanges } from "./changes.ts";
import type { OpenTrade } from "./close-trade.ts";

/**
 * Adds swap that a platform reports to an open position and its trade. It moves equity at once and money only at the
 * close; the number of the account's positions rises, so that nothing is decided on the position as it was.
 */
export function accrueSwap(
  { balance }: { readonly balance: Balance },
  { position, trade }: OpenTrade,
  amountMinor: bigint,
  context: Context,
): TradingDecision<OpenTrade> {
  if (amountMinor === 0n) return { ok: true, result: { position, trade }, changes: [], events: [] };
  const accrued = <T extends { swap_minor: bigint; updated_at: string; version: number }>(item: T): T => ({
    ...item,
    swap_minor: item.swap_minor + amountMinor,
    updated_at: later(item.updated_at, context.now),
    version: item.version + 1,
  });
  const after = { position: accrued(position), trade: accrued(trade) };
  return {
    ok: true,
    result: after,
    changes: [
      ...positionChanges([position], [after.position]),
      { op: "update", entity: "trade", before: trade, after: after.trade },
      withNewPositions(balance),
    ],
    events: [],
  };
}

/** The balance with another number of its positions, where no money moves: its time stays. */
export function withNewPositions(before: Balance): BalanceAdjustment {
  const after = { ...before, pos_version: before.pos_version + 1 };
  return {
    op: "adjust",
    entity: "balance",
    id: before.account_id,
    before,
    after,
    add: { pos_version: 1 },
    require: [],
  };
}
