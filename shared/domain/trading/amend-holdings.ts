import type { UpdateAccount } from "../../schema/account.ts";
import { accountBody } from "../accounts/account.ts";
import { amendAccount, amendHappened, type OwnedAccount } from "../accounts/amend-account.ts";
import { adjustMore, equal, isAdjustment } from "../accounts/balance.ts";
import type { AccountWithBalance } from "../accounts/open-account.ts";
import { type Context, refuseUnvalued } from "../kernel/decision.ts";
import type { Balance } from "../records/balance.ts";
import type { BalanceAdjustment } from "../records/change.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { refuseTrading } from "./close-trade.ts";
import { type Holdings, type Metrics, metricsAt, usedMargin } from "./margin.ts";
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
 * Decides `PATCH /accounts/{id}` of an account with open positions. With another leverage the margin of each follows
 * from the terms that it was opened under, and no position is written. A leverage that takes more margin and would
 * leave the account at its margin-call level is refused unless the caller forces it. A change that has `happened` on a
 * platform is recorded without these checks.
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
  const after = { ...holdings, balance: { ...balance, used_margin_minor: usedMargin(holdings) } };
  const metrics = metricsAt(market, after, context.now);
  const more = after.balance.used_margin_minor > balance.used_margin_minor;
  if (more && patch.force !== true && !happened) {
    const unvalued = refuseUnvalued(metrics, "A price that the account depends on is too old.");
    if (unvalued !== undefined) return unvalued;
    if (metrics.margin_status !== "normal") return refuseBreach(metrics, after);
  }
  const changes = amended.changes.map((change) => (isAdjustment(change) ? withMargin(change, after.balance) : change));
  return { ...amended, result: { account, balance: after.balance, metrics }, changes };
}

function refuseBreach({ margin_level }: Metrics, { account }: Holdings) {
  const refusal = {
    code: "leverage_change_breaches_margin",
    detail: `With this leverage the account would be at its margin-call level of ${account.margin_call_level} %.`,
    extra: { margin_level },
  } as const;
  return { ok: false, refusal } as const;
}

/** The change of the balance with the new margin, on the money that it was decided on. */
function withMargin(change: BalanceAdjustment, { used_margin_minor }: Balance): BalanceAdjustment {
  const kept = change.require.filter(({ attribute }) => attribute !== "seq");
  return adjustMore(change, { used_margin_minor }, [equal("seq", change.before.seq), ...kept]);
}
