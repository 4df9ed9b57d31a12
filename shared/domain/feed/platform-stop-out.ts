import type { Context } from "../kernel/decision.ts";
import type { Position } from "../records/position.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import type { Closed } from "../trading/close-trade.ts";
import { metricsAt } from "../trading/margin.ts";
import type { TradingState } from "../trading/open-trade.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { draftRisk, marginEvent, metricsBody, stopOutEvent } from "../trading/risk.ts";
import { riskChange } from "../trading/stop-out.ts";

type Done = Extract<TradingDecision<Closed>, { ok: true }>;

/**
 * A close that a platform did, with what it is part of: the run of commands that this service has asked it for, which
 * ends with one `stop.out` of its own, or a stop-out by the platform.
 */
export function withStopOut(
  state: TradingState,
  market: Market,
  closing: Done,
  { reason, position }: { readonly reason: string; readonly position: Position },
  context: Context,
): Done {
  const { risk } = state;
  const run = risk?.requested;
  if (risk === undefined || run === undefined) {
    return reason === "stop_out" ? platformStopOut(state, market, closing, context) : closing;
  }
  if (reason !== "stop_out" && !run.asked_trade_ids.includes(position.trade_id)) return closing;
  const closed_trade_ids = [...run.closed_trade_ids, closing.result.trade.id];
  const changed = riskChange(risk, { ...risk, requested: { ...run, closed_trade_ids } }, context);
  return { ...closing, changes: [...closing.changes, ...(changed?.changes ?? [])] };
}

/**
 * Adds the events of a close by a platform's own stop-out: the margin call before it when none was made in this
 * episode. The closes of one stop-out are one run, which ends with one `stop.out`: at once where no position is left,
 * and otherwise by the evaluator when no deal has continued it for some seconds.
 */
function platformStopOut(state: TradingState, market: Market, closing: Done, context: Context): Done {
  const { account, balance, risk } = state;
  const { holdings, trade } = closing.result;
  const before = metricsAt(market, state, context.now);
  const after = metricsAt(market, holdings, context.now);
  const { platform_run: begun, ...known } = risk ?? draftRisk(account, context);
  const previous = { margin_status: known.margin_status };
  const call = known.armed ? [marginEvent("margin.call", { account, balance }, before, { previous })] : [];
  const run = {
    started_at: begun?.started_at ?? context.now,
    before: begun?.before ?? metricsBody(before, account.currency, balance.updated_at),
    closed_trade_ids: [...(begun?.closed_trade_ids ?? []), trade.id],
    last_deal_at: context.now,
  };
  const isOver = holdings.positions.length === 0;
  const end = isOver ? [stopOutEvent(holdings, after, run)] : [];
  const called = known.armed ? { armed: false, episode: known.episode + 1 } : {};
  const { margin_status, margin_level, equity_minor } = after;
  const left = { ...known, ...called, margin_status, margin_level, equity_minor };
  const changed = riskChange(risk, isOver ? left : { ...left, platform_run: run }, context);
  return {
    ...closing,
    changes: [...closing.changes, ...(changed?.changes ?? [])],
    events: [...call, ...closing.events, ...end],
  };
}
