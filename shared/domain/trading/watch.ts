import { limits } from "../../limits.ts";
import type { Balance } from "../account.ts";
import type { Context } from "../decision.ts";
import type { TradingChange, TradingDecision } from "./changes.ts";
import { triggersOf } from "./exposure.ts";
import { afterMs, exposurePlan, type Outcome, riskChange, storedTrigger, wakeAt } from "./exposure-changes.ts";
import { underChange, withoutChange } from "./leverage-change.ts";
import type { Holdings } from "./margin.ts";
import type { Position } from "./position.ts";
import type { Market } from "./pricing/quote.ts";
import { liquidatorOf } from "./pricing/source.ts";
import { metricsBody } from "./risk.ts";
import { type Evaluation, evaluateMargin } from "./stop-out.ts";
import type { StoredRisk, WatchedState } from "./stored-risk.ts";
import type { Trade } from "./trade.ts";

/** Changes of one transaction, its events and its stored answer left room for. */
const maxChanges = limits.commit.max_items - 2;

/** The sum that {@link StoredRisk} keeps of its positions, as a change of leverage makes them. */
export function positionsSum(positions: readonly Position[]): number {
  return positions.reduce((sum, { version }) => sum + version, 0);
}

/** What an account holds after these changes. */
function holdingsAfter(before: Holdings, changes: readonly TradingChange[]): Holdings {
  let { account, balance } = before;
  const positions = new Map(before.positions.map((position) => [position.id, position]));
  for (const change of changes) {
    if (change.op === "adjust" && change.entity === "balance") balance = adjusted(balance, change);
    if (change.op === "update" && change.entity === "account") account = change.after as typeof account;
    if (change.op === "remove") positions.delete(change.before.id);
    if (change.op === "update" && change.entity === "position") {
      const after = change.after as Position;
      positions.set(after.id, after);
    }
    if (change.op === "create" && change.entity === "position") {
      const item = change.item as Position;
      positions.set(item.id, item);
    }
  }
  return { account, balance, positions: underChange(account, [...positions.values()]) };
}

function adjusted(balance: Balance, change: Extract<TradingChange, { op: "adjust" }>): Balance {
  const after: Record<string, unknown> = { ...balance, ...change.set };
  for (const [name, by] of Object.entries(change.add ?? {})) {
    const value = after[name];
    after[name] = typeof value === "bigint" ? value + BigInt(by) : Number(value) + Number(by);
  }
  return after as unknown as Balance;
}

/**
 * A decision with what follows from it for the account's margin, all in one: the margin call or its re-arming, the
 * level, and the prices at which the account must be looked at again. Nothing is liquidated here: an account that is
 * left at its stop-out level is due at once. An account without positions before and after needs nothing.
 */
export function followed<R>(
  state: WatchedState,
  decision: TradingDecision<R>,
  market: Market,
  context: Context,
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
  const { metrics } = evaluation.result;
  const money = metricsBody(metrics, after.account.currency, after.balance.updated_at);
  const events = decision.events.map((event) =>
    event.type === "account.updated" ? { ...event, object: { ...event.object, ...money } } : event,
  );
  const whole = { ...decision, events: [...events, ...evaluation.events] };
  const { complete: _, ...watching } = watched(
    state,
    after,
    whole,
    { ...evaluation.result, mayLiquidate: true },
    market,
    context,
  );
  return watching;
}

/** What an evaluation came to, and whether the transaction could not hold all of what is to be watched. */
export interface Evaluated extends Evaluation {
  /** Evaluate again at once: a liquidation is under way, or there is more to write than fits one transaction. */
  readonly again: boolean;
}

/**
 * Decides what the newest prices mean for an account, a step of its liquidation included, and at which prices it must
 * be looked at next. Who liquidates follows from the sources of its positions. `trades` holds those that may be closed.
 */
export function evaluated(
  state: WatchedState,
  market: Market,
  trades: ReadonlyMap<string, Trade>,
  context: Context,
): TradingDecision<Evaluated> {
  const liquidated_by = liquidatorOf(market, state.positions);
  const decision = evaluateMargin({ ...state, liquidated_by }, market, trades, context);
  if (!decision.ok) return decision;
  const nothing = state.risk === undefined && state.positions.length === 0;
  if (nothing) return { ...decision, result: { ...decision.result, again: false }, changes: [], events: [] };
  const after = holdingsAfter(state, decision.changes);
  const outcome = { ...decision.result, mayLiquidate: false };
  const { complete, ...whole } = watched(state, after, decision, outcome, market, context);
  return { ...whole, result: { ...decision.result, again: decision.result.running || !complete } };
}

/** The risk that these changes write. */
function riskIn(changes: readonly TradingChange[]): StoredRisk | undefined {
  for (const change of changes) {
    if (change.op === "create" && change.entity === "risk") return change.item as StoredRisk;
    if (change.op === "update" && change.entity === "risk") return change.after as unknown as StoredRisk;
  }
  return undefined;
}

type Accepted<R> = Extract<TradingDecision<R>, { ok: true }>;

/**
 * The decision with the account's risk as it is afterwards, and the entries of the exposure index that go with it.
 * `complete`: every price that matters is watched.
 */
function watched<R>(
  state: WatchedState,
  after: Holdings,
  decision: Accepted<R>,
  outcome: Outcome,
  market: Market,
  context: Context,
): Accepted<R> & { readonly complete: boolean } {
  const others = decision.changes
    .filter((change) => !("entity" in change) || change.entity !== "risk")
    .map((change) => onStored(change, state));
  const room = maxChanges - 1 - others.length;
  const step = leverageStep(state, after, others, outcome.mayLiquidate);
  const known = state.risk?.triggers ?? [];
  const { risk } = outcome;
  const wanted = risk.run === null ? triggersOf(after, risk.armed, market, context.now).map(storedTrigger) : known;
  const plan = exposurePlan(state.account, known, wanted, room - Math.min(step.changes.length, Math.ceil(room / 2)));
  const written = [...others, ...step.changes.slice(0, room - plan.changes.length)];
  const complete = plan.complete && step.complete;
  const stored: StoredRisk = {
    ...risk,
    triggers: plan.triggers,
    positions_sum: positionsSum(after.positions),
    left_by: outcome.mayLiquidate ? "commit" : "evaluation",
    wake_at: complete
      ? wakeAt(after, outcome, state.risk, market, context.now)
      : leftAt(outcome.mayLiquidate, context.now),
  };
  const change = riskChange(state, stored, written.length > 0, context.now);
  return { ...decision, changes: [...written, ...change, ...plan.changes], complete };
}

/** What is still to be written of a change of leverage, and whether nothing of it is left then. */
interface LeverageStep {
  readonly changes: readonly TradingChange[];
  readonly complete: boolean;
}

/**
 * The positions that are still to be stored as they are read since the leverage changed; when there is none, the end of
 * the change, in a transaction of its own: so no position is read as it was before. A commit that somebody waits for
 * leaves both to the evaluator. `others` are the changes that the decision makes anyway.
 */
function leverageStep(
  { account, positions, stored = new Map() }: WatchedState,
  after: Holdings,
  others: readonly TradingChange[],
  isCommit: boolean,
): LeverageStep {
  if (isCommit) return { changes: [], complete: after.account.leverage_change === undefined };
  if (account.leverage_change === undefined) return { changes: [], complete: true };
  if (!positions.some((position) => isOutdated(stored, position))) {
    const end = { op: "update", entity: "account", before: account, after: withoutChange(account) } as const;
    return { changes: [end], complete: true };
  }
  const touched = new Set(others.flatMap((change) => positionOf(change)?.id ?? []));
  const changes = after.positions.flatMap((position): TradingChange[] => {
    const before = stored.get(position.id);
    if (before === undefined || touched.has(position.id) || !isOutdated(stored, position)) return [];
    return [{ op: "update", entity: "position", before, after: position }];
  });
  return { changes, complete: false };
}

function isOutdated(stored: ReadonlyMap<string, Position>, { id, version }: Position): boolean {
  const item = stored.get(id);
  return item !== undefined && item.version !== version;
}

/** The position that a change starts from; undefined for another change. */
function positionOf(change: TradingChange): Position | undefined {
  if (change.op === "remove") return change.before;
  return change.op === "update" && change.entity === "position" ? (change.before as Position) : undefined;
}

/** The change of a position that was decided on it as it is read, made one of its item. */
function onStored(change: TradingChange, { stored }: WatchedState): TradingChange {
  const before = stored?.get(positionOf(change)?.id ?? "");
  return before === undefined ? change : ({ ...change, before } as TradingChange);
}

/** When an account is due that something is left of: at once, or, while the evaluator writes it, if it dies. */
function leftAt(handedOver: boolean, now: string): string {
  return handedOver ? now : afterMs(now, limits.trading.run_resumed_after_ms);
}
