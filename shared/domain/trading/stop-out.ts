import { limits } from "../../limits.ts";
import { type Context, type DomainEvent, later } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import type { LiquidationRun, Risk } from "../records/risk.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import { type Book, closeBook, openBook } from "./book.ts";
import { closeStep } from "./close-trade.ts";
import { settleBook } from "./correction.ts";
import type { AskPlatform } from "./liquidation/request.ts";
import { closingOrder, standingOf } from "./liquidation/standing.ts";
import { type Holdings, isRearmed, type Metrics, metricsOf, valuePositions } from "./margin.ts";
import { partialLots } from "./partial-lots.ts";
import type { Market } from "./pricing/quote.ts";
import { type Valuation, valuePosition } from "./profit.ts";
import { draftRisk, marginEvent, metricsBody, stopOutEvent } from "./risk.ts";

/** An account for an evaluation. */
export interface MarginState extends Holdings {
  readonly risk: Risk | undefined;
  /**
   * Closes positions at the stop-out level: this service, by booking or by commands, or a platform itself, and we only
   * call.
   */
  readonly liquidated_by?: "service" | "commands" | "platform";
  /** Asks the platform that commands go to; absent where none does, so that most functions do not ship it. */
  readonly ask?: AskPlatform;
}

/** Result of an evaluation. */
export interface Evaluation {
  readonly risk: Risk;
  readonly metrics: Metrics;
  readonly closed: readonly Trade[];
  /** Nothing was decided, because a price that it depends on is too old. */
  readonly waiting: boolean;
  /** A liquidation is not finished: evaluate again at once. One that waits for prices is found by its `wake_at`. */
  readonly running: boolean;
}

/** An evaluation, and what it leaves to be done. */
export interface EvaluationOutcome extends Evaluation {
  /** Positions that can be closed now were not: the evaluator has to do it, and what did not fit the transaction. */
  readonly mayLiquidate: boolean;
}

/**
 * The trades that the next evaluation may close, to be read before it: none while the account is above its stop-out
 * level or waits for prices.
 */
export function nextToClose(state: MarginState, market: Market, now: string): string[] {
  const values = valuePositions(market, state.positions, now);
  if (!isBooked(state) || standingOf(state, values, now).status !== "stop_out") return [];
  return closingOrder(state, values)
    .slice(0, limits.trading.closes_per_step)
    .map(({ position }) => position.trade_id);
}

/** Whether this service closes positions by booking, which is the default. */
function isBooked({ liquidated_by = "service" }: MarginState): boolean {
  return liquidated_by === "service";
}

/**
 * Decides what the newest prices mean for an account: the margin call when it is armed, one step of a liquidation while
 * it is at its stop-out level, the correction and `stop.out` with the last step, and the re-arming. The same evaluation
 * again changes nothing. A step closes at most eight positions and is committed on the ledger number and the number of
 * positions that it read, so any worker may carry the run on. `trades` holds at least {@link nextToClose}.
 */
export function evaluateMargin(
  state: MarginState,
  market: Market,
  trades: ReadonlyMap<string, Trade>,
  context: Context,
): TradingDecision<Evaluation> {
  const values = valuePositions(market, state.positions, context.now);
  const metrics = metricsOf(state.account, state.balance, values, context.now);
  const { status } = standingOf(state, values, context.now);
  const known = state.risk ?? draftRisk(state.account, context);
  if (metrics.stale && status !== "stop_out") {
    const result = { risk: known, metrics, closed: [], waiting: true, running: false };
    return { ok: true, result, changes: [], events: [] };
  }
  const before = { ...metrics, margin_status: status };
  const called = callOf(state, known, before);
  const start: Started = { book: openBook(state), risk: called.risk, events: called.events, metrics: before };
  const run = isBooked(state) && (status === "stop_out" || known.run !== null);
  const done = run
    ? liquidate(start, values, market, trades, context)
    : requested({ ...start, closed: [] }, state, values);
  const isOver = done.risk.run === null && done.risk.platform_run === undefined;
  const rearmed = isOver ? rearm(state, done) : done;
  return decide(state, rearmed, context);
}

/** Asks the platform of the account; a run that was begun goes on to its end. */
function requested(step: Stepped, state: MarginState, values: readonly Valuation[]): Stepped {
  const { ask, account, balance, positions } = state;
  if (ask === undefined) return step;
  const next = ask({ account, balance, positions, risk: step.risk, metrics: step.metrics, values });
  return { ...step, risk: next.result, asked: next.changes, events: [...step.events, ...next.events] };
}

interface Started {
  readonly book: Book;
  readonly risk: Risk;
  readonly events: readonly DomainEvent[];
  readonly metrics: Metrics;
}

interface Stepped extends Started {
  readonly closed: readonly Trade[];
  /** Requests to a platform; absent where there are none. */
  readonly asked?: readonly TradingChange[];
}

/** The margin call of an armed account that is not normal: once an episode, before whatever else it leads to. */
function callOf(state: MarginState, risk: Risk, metrics: Metrics): { risk: Risk; events: DomainEvent[] } {
  if (metrics.margin_status === "normal" || !risk.armed) return { risk, events: [] };
  const previous = { margin_status: risk.margin_status };
  return {
    risk: { ...risk, armed: false, episode: risk.episode + 1 },
    events: [marginEvent("margin.call", state, metrics, { previous })],
  };
}

/** Arms the next margin call once the level is above the re-arm level. */
function rearm({ account }: MarginState, step: Stepped): Stepped {
  const { risk, metrics, book } = step;
  const { equity_minor, used_margin_minor, margin_status } = metrics;
  const ready = isRearmed(account, equity_minor, used_margin_minor, book.positions.length);
  if (risk.armed || margin_status !== "normal" || metrics.stale || !ready) return step;
  const previous = { margin_status: risk.margin_status };
  const event = marginEvent("margin.recovered", { account, balance: book.balance }, metrics, { previous });
  return { ...step, risk: { ...risk, armed: true }, events: [...step.events, event] };
}

/** One step of a liquidation, and its end when the account is above its level or nothing can be closed. */
function liquidate(
  start: Started,
  values: readonly Valuation[],
  market: Market,
  trades: ReadonlyMap<string, Trade>,
  context: Context,
): Stepped {
  const progress = closeInOrder(start.book, values, market, trades, context);
  const { closed } = progress;
  const ids = closed.map(({ id }) => id);
  const known = start.risk.run;
  if (known === null && ids.length === 0) return { ...start, closed };
  const { account } = start.book;
  const run: LiquidationRun = {
    started_at: known?.started_at ?? context.now,
    before: known?.before ?? metricsBody(start.metrics, account.currency, start.book.balance.updated_at),
    closed_trade_ids: [...(known?.closed_trade_ids ?? []), ...ids],
    steps: (known?.steps ?? 0) + 1,
  };
  if (!progress.finished) {
    const metrics = decisive(progress.book, progress.values, context.now);
    const risk = { ...start.risk, run, wake_at: wakeAt(context.now) };
    return { book: progress.book, risk, events: [...start.events, ...progress.book.events], metrics, closed };
  }
  const book = settleBook(progress.book, "service", context);
  const metrics = decisive(book, progress.values, context.now);
  const events = [...start.events, ...book.events, stopOutEvent(book, metrics, run)];
  return { book, risk: { ...start.risk, run: null, wake_at: null }, events, metrics, closed };
}

function wakeAt(now: string): string {
  return new Date(Date.parse(now) + limits.trading.run_resumed_after_ms).toISOString();
}

/** The money of an account, with the state that decisions are made on. */
function decisive(book: Book, values: readonly Valuation[], now: string): Metrics {
  return {
    ...metricsOf(book.account, book.balance, values, now),
    margin_status: standingOf(book, values, now).status,
  };
}

/** Closes of one step; it is finished when nothing is left to do, or nothing can be done. */
interface Progress {
  readonly book: Book;
  readonly values: readonly Valuation[];
  readonly closed: readonly Trade[];
  readonly finished: boolean;
}

function closeInOrder(
  book: Book,
  values: readonly Valuation[],
  market: Market,
  trades: ReadonlyMap<string, Trade>,
  context: Context,
): Progress {
  let progress: Progress = { book, values, closed: [], finished: false };
  for (const victim of closingOrder(book, values)) {
    if (standingOf(progress.book, progress.values, context.now).status !== "stop_out")
      return { ...progress, finished: true };
    if (progress.closed.length === limits.trading.closes_per_step) return progress;
    progress = closeVictim(progress, victim, market, trades, context);
  }
  return { ...progress, finished: true };
}

/** Closes a position, or in partial mode as little of it as is enough. One that cannot be converted now stays open. */
function closeVictim(
  progress: Progress,
  victim: Valuation,
  market: Market,
  trades: ReadonlyMap<string, Trade>,
  context: Context,
): Progress {
  const { position, price } = victim;
  const trade = trades.get(position.trade_id);
  if (trade === undefined) throw new Error(`The trade ${position.trade_id} of an open position was not read.`);
  const { equity } = standingOf(progress.book, progress.values, context.now);
  const lots =
    progress.book.account.stop_out_mode === "full" ? undefined : partialLots(progress.book, victim, market, equity);
  const step = closeStep(
    progress.book,
    { position, trade },
    market,
    { price: price ?? "0", reason: "stop_out", ...(lots === undefined ? {} : { lots }) },
    context,
  );
  if (!step.ok) return progress;
  const left = step.position === undefined ? [] : [valuePosition(market, step.position, context.now)];
  const values = progress.values.flatMap((value) => (value.position.id === position.id ? left : [value]));
  return { book: step.book, values, closed: [...progress.closed, step.trade], finished: false };
}

/** The decision of an evaluation: the balance and positions when something was closed, and the risk when it changed. */
function decide(state: MarginState, step: Stepped, context: Context): TradingDecision<Evaluation> {
  const { metrics, closed, events, book, asked = [] } = step;
  const changed: Risk = {
    ...step.risk,
    margin_status: metrics.margin_status,
    margin_level: metrics.margin_level,
    equity_minor: metrics.equity_minor,
  };
  const change = riskChange(state.risk, changed, context);
  const risk = change === undefined ? changed : change.after;
  const running = risk.run !== null;
  const result = { risk, metrics, closed, waiting: false, running };
  const decision = closeBook(state, book, context, { result });
  if (!decision.ok) return decision;
  return { ...decision, changes: [...decision.changes, ...asked, ...(change?.changes ?? [])], events };
}

/** The change that takes an account's risk to what it is now; undefined when it is that already. */
export function riskChange(
  before: Risk | undefined,
  after: Risk,
  context: Context,
): { readonly after: Risk; readonly changes: readonly TradingChange[] } | undefined {
  if (before === undefined) return { after, changes: [{ op: "create", entity: "risk", item: after }] };
  if (sameValue(before, after)) return undefined;
  const next = { ...after, updated_at: later(before.updated_at, context.now), version: before.version + 1 };
  return { after: next, changes: [{ op: "update", entity: "risk", before, after: next }] };
}
