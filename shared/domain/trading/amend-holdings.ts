import { limits } from "../../limits.ts";
import type { UpdateAccount } from "../../schema/account.ts";
import { type Account, accountBody, type Balance } from "../account.ts";
import { amendAccount, amendHappened, type OwnedAccount } from "../amend-account.ts";
import { type Context, refuseUnvalued } from "../decision.ts";
import type { AccountWithBalance } from "../open-account.ts";
import { adjustBalance, adjustMore, equal, isAdjustment } from "../posting.ts";
import { positionChanges, type TradingChange, type TradingDecision } from "./changes.ts";
import { refuseTrading } from "./close-trade.ts";
import { underLeverage } from "./leverage-change.ts";
import { type Holdings, type Metrics, metricsAt } from "./margin.ts";
import type { Market } from "./pricing/quote.ts";
import { isLiquidating, liveAccountBody } from "./risk.ts";
import type { WatchedState } from "./stored-risk.ts";

/** An account with its money at the newest prices, where it has positions. */
export interface LiveAccount extends AccountWithBalance {
  readonly metrics?: Metrics;
}

/** The account as GET shows it. */
export function liveBody({ account, balance, metrics }: LiveAccount) {
  return metrics === undefined ? accountBody(account, balance) : liveAccountBody({ account, balance }, metrics);
}

/**
 * Decides `PATCH /accounts/{id}` of an account with open positions. Another leverage computes their margin again from
 * their frozen rates; one that takes more margin and would leave the account at its margin-call level is refused unless
 * the caller forces it. Of more positions than a transaction holds the terms are stored with the account, and the
 * evaluator rewrites them: see {@link LeverageChange}. What has `happened` on a platform is not asked whether it may.
 */
export function amendHoldings(
  owned: OwnedAccount,
  state: WatchedState,
  patch: UpdateAccount,
  market: Market,
  context: Context,
  happened = false,
): TradingDecision<LiveAccount> {
  const amended = (happened ? amendHappened : amendAccount)(owned, patch, context);
  if (!amended.ok) return amended;
  const { account, balance } = amended.result;
  const holdings = { account, balance, positions: state.positions };
  if (account.leverage === owned.account.leverage) {
    return { ...amended, result: { ...amended.result, metrics: metricsAt(market, holdings, context.now) } };
  }
  if (isLiquidating(state.risk) && !happened)
    return refuseTrading("liquidation_in_progress", "The account is being liquidated; try again.");
  if (account.leverage_change !== undefined) {
    const detail = "Positions still take over the leverage that was changed before; try again.";
    return refuseTrading("leverage_change_in_progress", detail);
  }
  const after = underLeverage(market, holdings, account.leverage);
  if (after === undefined) return refuseTrading("metrics_stale", "The symbol of a position is not known.");
  const metrics = metricsAt(market, after, context.now);
  const more = after.balance.used_margin_minor > balance.used_margin_minor;
  if (more && patch.force !== true && !happened) {
    const unvalued = refuseUnvalued(metrics, "A price that the account depends on is too old.");
    if (unvalued !== undefined) return unvalued;
    if (metrics.margin_status !== "normal") return refuseBreach(metrics, after);
  }
  const changes = withMargin(amended.changes, owned.balance, after.balance, context);
  const moved = positionChanges(state.positions, after.positions);
  const result = { account, balance: after.balance, metrics };
  if (moved.length <= limits.trading.max_remargined) return { ...amended, result, changes: [...changes, ...moved] };
  return { ...amended, result, changes: changes.map((change) => withTerms(change, after.account)) };
}

/** The change of the account with the terms that its positions are read under from now on. */
function withTerms(change: TradingChange, { leverage_change }: Account): TradingChange {
  if (change.op !== "update" || change.entity !== "account") return change;
  return { ...change, after: { ...change.after, ...(leverage_change && { leverage_change }) } };
}

function refuseBreach({ margin_level }: Metrics, { account }: Holdings) {
  const refusal = {
    code: "leverage_change_breaches_margin",
    detail: `With this leverage the account would be at its margin-call level of ${account.margin_call_level} %.`,
    extra: { margin_level },
  } as const;
  return { ok: false, refusal } as const;
}

/** The changes with the new margin in the one change of the balance: a transaction touches an item once. */
function withMargin(
  changes: readonly TradingChange[],
  before: Balance,
  { used_margin_minor }: Balance,
  context: Context,
): TradingChange[] {
  const gate = changes.find(isAdjustment) ?? adjustBalance(before, context, { add: { pos_version: 1 }, require: [] });
  const kept = gate.require.filter(({ attribute }) => attribute !== "seq");
  const require = [equal("pos_version", before.pos_version), equal("seq", before.seq), ...kept];
  return [...changes.filter((change) => !isAdjustment(change)), adjustMore(gate, { used_margin_minor }, require)];
}
