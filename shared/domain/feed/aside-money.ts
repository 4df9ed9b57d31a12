import { adjustBalance, isAdjustment } from "../accounts/balance.ts";
import type { Context } from "../kernel/decision.ts";
import { greatest, least } from "../kernel/money.ts";
import type { Balance } from "../records/balance.ts";
import type { BalanceAdjustment } from "../records/change.ts";
import type { Dedup } from "../records/feed-item.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import { mergedAdjustment } from "./merged-change.ts";

/** The part of what is noted of an item that says what money of an account depends on it. */
export type AsideMoney = Pick<Dedup, "aside_account_id" | "aside_minor">;

/**
 * Effect of an operation that was put aside on the money of its account from now on. A negative amount is held, since
 * it may have left the platform; a positive one counts against a stop-out alone, since it may have arrived there.
 * @param before what it did so far, in minor units with its sign; 0 where it was not put aside
 * @param after what it does from now on; 0 once it is decided
 */
function asideChange(
  balance: Balance,
  before: bigint,
  after: bigint,
  context: Pick<Context, "now">,
): BalanceAdjustment | undefined {
  const held = least(0n, before) - least(0n, after);
  const counted = greatest(0n, after) - greatest(0n, before);
  if (held === 0n && counted === 0n) return undefined;
  const add = {
    ...(held === 0n ? {} : { held_minor: held, available_minor: -held }),
    ...(counted === 0n ? {} : { aside_minor: counted }),
  };
  return adjustBalance(balance, context, { add, require: [] });
}

/**
 * A decision that settles an operation which was put aside, with the end of what it did to the money of its account.
 * @param mark what was noted of the operation before
 * @param balance the money of the account that the mark names, as it was before the decision
 */
export function withoutAside<R>(
  decision: TradingDecision<R>,
  mark: AsideMoney | undefined,
  balance: Balance | undefined,
  context: Pick<Context, "now">,
): TradingDecision<R> {
  const { aside_minor = 0n } = mark ?? {};
  if (!decision.ok || aside_minor === 0n || balance === undefined) return decision;
  return { ...decision, changes: withChangeOf(decision.changes, balance, aside_minor, 0n, context) };
}

/** The changes with what an operation does to the money of its account: one change of the balance at most. */
export function withChangeOf(
  changes: readonly TradingChange[],
  balance: Balance,
  before: bigint,
  after: bigint,
  context: Pick<Context, "now">,
): readonly TradingChange[] {
  const own = changes.find((change) => isAdjustment(change) && change.id === balance.account_id);
  const first = own !== undefined && isAdjustment(own) ? own : undefined;
  const change = asideChange(first?.after ?? balance, before, after, context);
  if (change === undefined) return changes;
  if (first === undefined) return [...changes, change];
  const merged = mergedAdjustment(first, change);
  if (merged === undefined) throw new Error("The money of an account that an item is decided for is changed twice.");
  return changes.map((each) => (each === first ? merged : each));
}
