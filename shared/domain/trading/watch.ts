import { limits } from "../../limits.ts";
import type { Balance } from "../account.ts";
import { type Context, later } from "../decision.ts";
import { sameValue } from "../equality.ts";
import { greatest, least } from "../money.ts";
import type { TradingChange, TradingDecision } from "./changes.ts";
import { type Trigger, triggersOf } from "./exposure.ts";
import { underChange, withoutChange } from "./leverage-change.ts";
import { type Holdings, valuePositions } from "./margin.ts";
import type { Position } from "./position.ts";
import { type Market, pricePoints, type Quote } from "./pricing/quote.ts";
import { liquidatorOf } from "./pricing/source.ts";
import { marketClock } from "./pricing/symbol.ts";
import { metricsBody, type Risk } from "./risk.ts";
import { type Evaluation, evaluateMargin } from "./stop-out.ts";
import type { Trade } from "./trade.ts";

/** A trigger as it is stored: prices in points of its symbol, as decimal texts. */
export interface StoredTrigger {
  readonly symbol: string;
  readonly down: string | null;
  readonly up: string | null;
}

/** The risk of an account as it is stored. It is written with every change of what its account's margin depends on. */
export interface StoredRisk extends Risk {
  /** The triggers that the exposure index holds for the account, no more and no less. */
  readonly triggers: readonly StoredTrigger[];
  /** The sum of the versions of its positions: who read another sum read positions of two moments. */
  readonly positions_sum: number;
  /** What wrote it last: a commit that changed what margin depends on, or an evaluation at the newest prices. */
  readonly left_by?: "commit" | "evaluation";
}

/**
 * Whether the commit that wrote this risk left its account to the evaluator at once. A run in progress, a retry and
 * what a sweep put off wake later than they were written.
 */
export function isDueAtOnce({ wake_at, updated_at }: StoredRisk): boolean {
  return wake_at !== null && wake_at <= updated_at;
}

/**
 * Whether the newest price of its symbol meets a trigger that a risk was left with. The price may have come while the
 * decision was made, when it was compared with the triggers of before. Where every quote is a trigger, those that came
 * after the decision meet it.
 */
export function isMetBy(
  { down, up }: StoredTrigger,
  { bid, ask, received_at }: Quote,
  { updated_at }: StoredRisk,
): boolean {
  if (down === String(highest)) return received_at > updated_at;
  return (down !== null && pricePoints(bid) <= BigInt(down)) || (up !== null && pricePoints(ask) >= BigInt(up));
}

/** One entry of the exposure index: evaluate this account when the symbol's price meets the trigger. */
export interface Exposure {
  readonly tenant_id: string;
  readonly account_id: string;
  readonly symbol: string;
  /** `dn`: the bid falls to the trigger or below; `up`: the ask rises to it or above. */
  readonly direction: "dn" | "up";
  /** Points of the symbol as a decimal number. */
  readonly trigger: string;
}

/** A symbol whose price met triggers: it is looked at again until no account is left beyond them. */
export interface Breach {
  readonly tenant_id: string;
  readonly symbol: string;
  /** When the sweep looks, RFC 3339. */
  readonly wake_at: string;
  /** How often it has looked since the last price that met any. */
  readonly looks: number;
}

/** An account as its decisions about margin read it. */
export interface WatchedState extends Holdings {
  readonly risk: StoredRisk | undefined;
  /** Items of the positions that a change of leverage makes others than they are stored, by identifier. */
  readonly stored?: ReadonlyMap<string, Position>;
}

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

interface Outcome extends Evaluation {
  /** Positions that can be closed now were not: the evaluator has to do it, and what did not fit the transaction. */
  readonly mayLiquidate: boolean;
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

function afterMs(now: string, ms: number): string {
  return new Date(Date.parse(now) + ms).toISOString();
}

/** Written when it differs, and with every other change: then two decisions about one account always meet here. */
function riskChange(
  { risk: before }: WatchedState,
  stored: StoredRisk,
  always: boolean,
  now: string,
): readonly TradingChange[] {
  if (before === undefined) return [{ op: "create", entity: "risk", item: { ...stored, version: 1 } }];
  const { updated_at, version, left_by } = before;
  if (!always && sameValue({ ...stored, updated_at, version, left_by }, before)) return [];
  const after: StoredRisk = { ...stored, updated_at: later(updated_at, now), version: version + 1 };
  return [{ op: "update", entity: "risk", before, after }];
}

const { highest_points: highest } = limits.trading;

/** A trigger within the prices that there can be; one beyond them is none. */
function storedTrigger({ symbol, down, up }: Trigger): StoredTrigger {
  return {
    symbol,
    down: down === null || down <= 0n ? null : String(least(down, highest)),
    up: up === null || up > highest ? null : String(greatest(up, 0n)),
  };
}

interface ExposurePlan {
  /** What the index holds afterwards. */
  readonly triggers: readonly StoredTrigger[];
  readonly changes: readonly TradingChange[];
  /** Whether every price that matters is watched: what does not fit a transaction is left for the next one. */
  readonly complete: boolean;
}

/**
 * The writes that turn the entries of an account into the wanted ones, symbol by symbol, as many as there is room. What
 * lets a price go furthest unseen comes first. The plan is complete when no entry does, since one that is met too early
 * only costs an evaluation: so it is completed while prices move, and no symbol is passed over for ever.
 */
function exposurePlan(
  holder: { readonly tenant_id: string; readonly id: string },
  known: readonly StoredTrigger[],
  wanted: readonly StoredTrigger[],
  room: number,
): ExposurePlan {
  const before = new Map(known.map((trigger) => [trigger.symbol, trigger]));
  const next = new Map(wanted.map((trigger) => [trigger.symbol, trigger]));
  const held = new Map(before);
  const changes: TradingChange[] = [];
  let complete = true;
  const names = [...new Set([...next.keys(), ...before.keys()])];
  const unseen = new Map(names.map((name) => [name, unseenPoints(before.get(name), next.get(name))]));
  const hidden = (name: string) => unseen.get(name) ?? 0n;
  for (const symbol of names.toSorted((a, b) => Number(hidden(b) > hidden(a)) - Number(hidden(b) < hidden(a)))) {
    const after = next.get(symbol);
    const needed = entryChanges(holder, symbol, before.get(symbol), after);
    if (changes.length + needed.length > room) {
      if (hidden(symbol) > 0n) complete = false;
      continue;
    }
    changes.push(...needed);
    if (after === undefined) held.delete(symbol);
    else held.set(symbol, after);
  }
  return { triggers: [...held.values()], changes, complete };
}

/** How many points a price can go beyond the wanted trigger before the stored one is met; 0 when it is met in time. */
function unseenPoints(stored: StoredTrigger | undefined, wanted: StoredTrigger | undefined): bigint {
  const down = wanted?.down == null ? 0n : BigInt(wanted.down) - BigInt(stored?.down ?? -highest);
  const up = wanted?.up == null ? 0n : BigInt(stored?.up ?? 2n * highest) - BigInt(wanted.up);
  return greatest(0n, greatest(down, up));
}

function entryChanges(
  holder: { readonly tenant_id: string; readonly id: string },
  symbol: string,
  before: StoredTrigger | undefined,
  after: StoredTrigger | undefined,
): TradingChange[] {
  const entry = (direction: Exposure["direction"], trigger: string): Exposure => ({
    tenant_id: holder.tenant_id,
    account_id: holder.id,
    symbol,
    direction,
    trigger,
  });
  return (["dn", "up"] as const).flatMap((direction) => {
    const side = direction === "dn" ? "down" : "up";
    const [old, wanted] = [before?.[side] ?? null, after?.[side] ?? null];
    if (old === wanted) return [];
    return [
      ...(old === null ? [] : [{ op: "hide", entry: entry(direction, old) } as const]),
      ...(wanted === null ? [] : [{ op: "expose", entry: entry(direction, wanted) } as const]),
    ];
  });
}

/**
 * When an account must be looked at although no price of it moves: a liquidation that is under way or still to begin,
 * and one that waits for a market to open. A time to come that is stored already stays if it is sooner, so that an
 * account which every quote wakes in vain is not written each time.
 */
function wakeAt(
  after: Holdings,
  outcome: Outcome,
  before: StoredRisk | undefined,
  market: Market,
  now: string,
): string | null {
  const { risk, mayLiquidate, waiting } = outcome;
  const retry = afterMs(now, limits.trading.stuck_retried_after_ms);
  if (risk.run !== null) return waiting ? retry : risk.wake_at;
  if (outcome.metrics.margin_status !== "stop_out" || after.positions.length === 0) return null;
  if (liquidatorOf(market, after.positions) === "platform") return null;
  const values = valuePositions(market, after.positions, now);
  if (mayLiquidate && !waiting && values.some(({ open, stale }) => open && !stale)) return now;
  const openings = values.map(({ open, position }) => {
    const symbol = market.symbols.get(position.symbol);
    return open || symbol === undefined ? retry : (marketClock(symbol, now).next_open_at ?? retry);
  });
  const known = before?.wake_at ?? null;
  return [...openings, ...(known !== null && known > now ? [known] : [])].reduce((a, b) => (b < a ? b : a));
}
