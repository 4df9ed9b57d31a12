import { limits } from "../../limits.ts";
import { adjustMore, equal, isAdjustment } from "../accounts/balance.ts";
import { nextCreditEnd } from "../accounts/credit-lots.ts";
import type { Context } from "../kernel/decision.ts";
import type { Position } from "../records/position.ts";
import type { Risk, StoredRisk } from "../records/risk.ts";
import type { Trade } from "../records/trade.ts";
import type { PositionChange, TradingChange, TradingDecision } from "../records/trading-change.ts";
import { triggersOf } from "./exposure.ts";
import { afterMs, exposurePlan, knownTrigger, riskChange, storedTrigger, wakeAt } from "./exposure-changes.ts";
import { endPlatformRun } from "./liquidation/platform-run.ts";
import { type Requested, requestCloses } from "./liquidation/request.ts";
import type { Holdings } from "./margin.ts";
import { nextNightAt } from "./nights/accrue.ts";
import type { Market } from "./pricing/quote.ts";
import { internalSource, liquidatorOf } from "./pricing/source.ts";
import { draftRisk, metricsBody } from "./risk.ts";
import { type Evaluation, type EvaluationOutcome, evaluateMargin, type MarginState } from "./stop-out.ts";
import { creditEndsInMs, type WatchedState } from "./stored-risk.ts";

/** Changes of one transaction, its events and its stored answer left room for. */
const maxChanges = limits.commit.max_items - 2;

/** Holdings of an account after a decision: its changes carry the account, the balance and the positions they leave. */
function holdingsAfter(before: Holdings, changes: readonly TradingChange[]): Holdings {
  let { account, balance } = before;
  const positions = new Map(before.positions.map((position) => [position.id, position]));
  for (const change of changes) {
    if (isAdjustment(change)) balance = change.id === balance.account_id ? change.after : balance;
    else if (change.op === "update" && change.entity === "account") account = change.after;
    else if (change.op === "remove") positions.delete(change.before.id);
    else if (isPositionChange(change)) positions.set(idOf(change), change.op === "create" ? change.item : change.after);
  }
  return { account, balance, positions: [...positions.values()] };
}

function isPositionChange<C extends TradingChange>(change: C): change is Extract<C, PositionChange> {
  return "entity" in change && change.entity === "position";
}

function idOf(change: PositionChange): string {
  return change.op === "create" ? change.item.id : change.before.id;
}

/**
 * A decision with what follows from it for the account's margin, all in one: the margin call or its re-arming, the
 * level, and the prices at which the account must be looked at again. Nothing is liquidated here: an account that is
 * left at its stop-out level is due at once. An account without positions before and after needs nothing. `most` is how
 * many changes it may have together.
 */
export function withMarginUpdate<R>(
  state: WatchedState,
  decision: TradingDecision<R>,
  market: Market,
  context: Context,
  most = maxChanges,
): TradingDecision<R> {
  if (!decision.ok || decision.changes.length === 0) return decision;
  const after = holdingsAfter(state, decision.changes);
  if (state.positions.length === 0 && after.positions.length === 0) return decision;
  const evaluation = evaluateMargin(
    { ...after, risk: riskIn(decision.changes) ?? state.risk, liquidated_by: "platform" },
    market,
    new Map(),
    context,
  );
  if (!evaluation.ok) return evaluation;
  const outcome = after.account.opening === undefined ? evaluation : withoutCall(evaluation, state, context);
  const { metrics } = outcome.result;
  const money = metricsBody(metrics, after.account.currency, after.balance.updated_at);
  const events = decision.events.map((event) =>
    event.type === "account.updated" ? { ...event, object: { ...event.object, ...money } } : event,
  );
  const whole = { ...decision, events: [...events, ...outcome.events] };
  const { complete: _, ...watching } = withExposureIndex(
    state,
    after,
    whole,
    { ...outcome.result, mayLiquidate: true },
    market,
    context,
    most,
  );
  return watching;
}

/** Without the call of an account whose adoption still adds positions: that is made, or not, when all are there. */
function withoutCall({ result }: Accepted<Evaluation>, { account, risk }: WatchedState, context: Context) {
  const { armed, episode } = risk ?? draftRisk(account, context);
  return { result: { ...result, risk: { ...result.risk, armed, episode } }, events: [] };
}

/** An evaluation, and whether the transaction could not hold all triggers. */
export interface Evaluated extends Evaluation {
  /** Evaluate again at once: a liquidation is under way, or there is more to write than fits one transaction. */
  readonly again: boolean;
}

/**
 * The liquidator of an account at its stop-out level. Positions at a platform of an account that is linked to it are
 * closed there, where this service decides by commands.
 */
export function liquidationOf(
  { account, positions }: Holdings,
  market: Market,
): NonNullable<MarginState["liquidated_by"]> {
  const liquidator = liquidatorOf(market, positions);
  if (liquidator === "platform" || account.source_id === null) return liquidator;
  return positions.some(({ source }) => source !== internalSource) ? "commands" : "service";
}

/** How the platform of an account is asked, where commands go to it, and how a stop-out of its own ends. */
export function asking(
  { requests, risk }: { readonly requests?: Requested } & Pick<MarginState, "risk">,
  market: Market,
  context: Context,
): Pick<MarginState, "ask"> {
  if (requests === undefined && risk?.platform_run === undefined) return {};
  return {
    ask: (judged) => {
      const nothing = { ok: true, result: judged.risk, changes: [], events: [] } as const;
      const step = requests === undefined ? nothing : requestCloses({ ...judged, ...requests }, market, context);
      return endPlatformRun(judged, step, context.now);
    },
  };
}

/**
 * Decides what the newest prices mean for an account, a step of its liquidation included, and at which prices it must
 * be looked at next. The liquidator follows from the sources of its positions. `trades` holds those that may be closed.
 */
export function evaluated(
  state: WatchedState & { readonly requests?: Requested },
  market: Market,
  trades: ReadonlyMap<string, Trade>,
  context: Context,
): TradingDecision<Evaluated> {
  const liquidated_by = liquidationOf(state, market);
  const decision = evaluateMargin(
    { ...state, liquidated_by, ...asking(state, market, context) },
    market,
    trades,
    context,
  );
  if (!decision.ok) return decision;
  const nothing = state.risk === undefined && state.positions.length === 0;
  if (nothing) return { ...decision, result: { ...decision.result, again: false }, changes: [], events: [] };
  const after = holdingsAfter(state, decision.changes);
  const outcome = { ...decision.result, mayLiquidate: false };
  const { complete, ...whole } = withExposureIndex(state, after, decision, outcome, market, context);
  return { ...whole, result: { ...decision.result, again: decision.result.running || !complete } };
}

/** The risk that these changes write. */
function riskIn(changes: readonly TradingChange[]): Risk | undefined {
  for (const change of changes) {
    if (change.op === "create" && change.entity === "risk") return change.item;
    if (change.op === "update" && change.entity === "risk") return change.after;
  }
  return undefined;
}

type Accepted<R> = Extract<TradingDecision<R>, { ok: true }>;

/**
 * The decision with the account's risk as it is afterwards, and the entries of the exposure index that go with it.
 * `complete`: every price that matters is watched.
 */
function withExposureIndex<R>(
  state: WatchedState,
  after: Holdings,
  decision: Accepted<R>,
  outcome: EvaluationOutcome,
  market: Market,
  context: Context,
  most = maxChanges,
): Accepted<R> & { readonly complete: boolean } {
  const dealt = new Set(decision.changes.flatMap((change) => tradeOf(change) ?? []));
  const others = numbered(
    decision.changes
      .filter((change) => !("entity" in change) || change.entity !== "risk")
      .map((change) => onStored(change, state, dealt)),
    after,
  );
  const known = state.risk?.triggers ?? [];
  const { swap_at: _before, credit_ends_at: _end, ...risk } = outcome.risk as StoredRisk;
  const swap_at = nextNightAt(asStored(state, after, others), market, context.now);
  // No price arms the next call before the end of a stop-out by the platform.
  const rests = risk.armed || risk.platform_run !== undefined;
  const wanted =
    risk.run === null
      ? triggersOf(after, rests, market, context.now, known.map(knownTrigger)).map((one) => storedTrigger(one, market))
      : known;
  const { complete, ...plan } = exposurePlan(state.account, known, wanted, most - 1 - others.length);
  const credit_ends_at = after.positions.length === 0 ? undefined : nextCreditEnd(after.balance, context.now);
  const endsSoon = creditEndsInMs({ ...(credit_ends_at && { credit_ends_at }) }, context.now) !== undefined;
  const stored: StoredRisk = {
    ...risk,
    triggers: plan.triggers,
    ...{ seq: after.balance.seq, pos_version: after.balance.pos_version },
    ...(swap_at === undefined ? {} : { swap_at }),
    ...(credit_ends_at === undefined ? {} : { credit_ends_at }),
    left_by: outcome.mayLiquidate || endsSoon ? "commit" : "evaluation",
    wake_at: complete
      ? wakeAt(after, outcome, state.risk, market, context.now)
      : leftAt(outcome.mayLiquidate, context.now),
  };
  const change = riskChange(state, stored, others.length > 0, context.now);
  return { ...decision, changes: [...others, ...change, ...plan.changes], complete };
}

/** The positions after a decision as they are stored then: nights of those that it does not write are still due. */
function asStored(
  { stored = new Map() }: WatchedState,
  { positions }: Holdings,
  changes: readonly TradingChange[],
): readonly Position[] {
  if (stored.size === 0) return positions;
  const items = changes.filter((change) => isPositionChange(change) && change.op === "update");
  const written = new Map(items.map((change) => [idOf(change), change.after]));
  return positions.map((position) => written.get(position.id) ?? stored.get(position.id) ?? position);
}

/**
 * The changes of a decision with the number of its commit in each position that it writes, and their sum in the
 * balance: see {@link isWhole}. Another commit that raises the number makes the decision be made again.
 */
function numbered(changes: readonly TradingChange[], { balance, positions }: Holdings): readonly TradingChange[] {
  const { pos_version } = balance;
  const written = new Set(changes.flatMap((change) => (isPositionChange(change) ? [idOf(change)] : [])));
  if (written.size === 0) return changes;
  const numberOf = (position: Position) => (written.has(position.id) ? pos_version : position.pos_version);
  const positions_sum = positions.reduce((sum, position) => sum + numberOf(position), 0);
  return changes.map((change): TradingChange => {
    if (isAdjustment(change) && change.id === balance.account_id) {
      const others = change.require.filter(({ attribute }) => attribute !== "pos_version");
      return adjustMore(change, { positions_sum }, [...others, equal("pos_version", change.before.pos_version)]);
    }
    if (!isPositionChange(change) || change.op === "remove") return change;
    return change.op === "create"
      ? { ...change, item: { ...change.item, pos_version } }
      : { ...change, after: { ...change.after, pos_version } };
  });
}

/**
 * The change of a position that was decided on it as it is read, made one of its item. Nights are stored with a trade:
 * those of a position whose trade is not among the `dealt` stay due, so that none is on one of them alone.
 */
function onStored(change: TradingChange, { stored }: WatchedState, dealt: ReadonlySet<string>): TradingChange {
  if (!isPositionChange(change) || change.op === "create") return change;
  const before = stored?.get(change.before.id);
  if (before === undefined) return change;
  if (change.op === "remove" || dealt.has(before.trade_id)) return { ...change, before };
  const { swap_through: _due, ...after } = change.after;
  const { swap_minor, swap_through } = before;
  return {
    ...change,
    before,
    after: { ...after, swap_minor, ...(swap_through === undefined ? {} : { swap_through }) },
  };
}

/** The trade that a change updates. */
function tradeOf(change: TradingChange): string | undefined {
  return change.op === "update" && change.entity === "trade" ? (change.before as Trade).id : undefined;
}

/** When an account is due that something is left of: at once, or, while the evaluator writes it, if it dies. */
function leftAt(handedOver: boolean, now: string): string {
  return handedOver ? now : afterMs(now, limits.trading.run_resumed_after_ms);
}
