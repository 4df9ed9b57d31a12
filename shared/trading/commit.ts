import { type Context, type DomainEvent, type Refusal, refuse } from "../domain/kernel/decision.ts";
import type { Account } from "../domain/records/account.ts";
import type { Change } from "../domain/records/change.ts";
import type { Client } from "../domain/records/client.ts";
import type { PlatformCommand } from "../domain/records/command.ts";
import type { FeedSource } from "../domain/records/feed-source.ts";
import type { Position } from "../domain/records/position.ts";
import type { Trade } from "../domain/records/trade.ts";
import type { TradingChange, TradingDecision } from "../domain/records/trading-change.ts";
import type { Requested } from "../domain/trading/liquidation/request.ts";
import { metricsAt } from "../domain/trading/margin.ts";
import {
  accrueNights,
  accruing,
  onStoredTrades,
  tradesWithNights,
  withNights,
} from "../domain/trading/nights/accrue.ts";
import type { Rollover } from "../domain/trading/nights/rollover.ts";
import type { Market } from "../domain/trading/pricing/quote.ts";
import { draftRisk } from "../domain/trading/risk.ts";
import { nextToClose } from "../domain/trading/stop-out.ts";
import type { WatchedState } from "../domain/trading/stored-risk.ts";
import { type Evaluated, evaluated, liquidationOf, withMarginUpdate } from "../domain/trading/watch.ts";
import { limits } from "../limits.ts";
import { Unavailable } from "../runtime/unavailable.ts";
import { execute } from "../table/commit/execute.ts";
import { clients, trades } from "../table/entities.ts";
import type { UntoldAudit } from "../table/outbox.ts";
import type { Committable, Load } from "../table/store.ts";
import { type Found, type Reads, type Refs, readHolder, readsOf } from "./holdings.ts";
import { ofOneItemEach, tradingRef, writeTrading } from "./items.ts";
import { readMarket, readMarketToJudge, readMarketWith } from "./market.ts";
import { readRollovers } from "./nights/rollovers.ts";

/** An account with all that decisions about its trading depend on, read at one moment. */
export interface AccountState extends WatchedState {
  readonly client: Client;
  /** The trades that were asked for, by identifier. */
  readonly trades: ReadonlyMap<string, Trade>;
}

/** Reads of a decision beyond the account itself; known once the account is read. */
export interface Needs {
  /** Symbols that it deals in, in addition to those of the open positions. */
  readonly symbols?: readonly string[];
  /** The source that it deals for, where it is one: its sign of life counts for what it opens. */
  readonly source?: string;
  /** Trades that it changes. */
  readonly trades?: readonly string[];
}

/** A decision about the trading of one account. `decide` may run several times, each time from new reads. */
export interface TradingRequest<R, X extends Refs> {
  readonly account_id: string;
  /** Read together with the account. */
  readonly refs: X;
  /** It is a step of the adoption of the account: everything else waits for its end. */
  readonly opening?: true;
  readonly needs: (state: WatchedState, found: Found<X>) => Needs | Promise<Needs>;
  readonly decide: (state: AccountState, market: Market, found: Found<X>, context: Context) => TradingDecision<R>;
}

/** As {@link decisionAbout}, with reads of the table and ready to be committed. */
export async function decideTrading<R, X extends Refs>(
  load: Load,
  context: Context,
  request: TradingRequest<R, X>,
): Promise<Committable<R>> {
  return prepared(await decisionAbout(readsOf(load), context, request), context);
}

/**
 * Makes a decision about the trading of one account: with everything it depends on read consistently, and with what
 * follows from it for the account's margin in the same transaction. Two decisions about one account that has positions
 * always meet at its risk, so the later one is made again.
 */
export async function decisionAbout<R, X extends Refs>(
  reads: Reads,
  context: Context,
  request: TradingRequest<R, X>,
): Promise<TradingDecision<R>> {
  const read = await readSeen(reads, context, request);
  if (!read.ok) return read;
  const { state, market } = read;
  const decision = request.decide(read.seen, market, read.found, context);
  return withMarginUpdate(state, onStoredTrades(decision, state.trades), market, context);
}

/** An account as decisions about its trading see it. */
interface SeenAccount<X extends Refs> {
  readonly ok: true;
  /** As it is stored. */
  readonly stored: WatchedState;
  /** With the nights that are due. */
  readonly state: AccountState;
  /** With those nights on its trades too. */
  readonly seen: AccountState;
  readonly market: Market;
  readonly found: Found<X>;
}

/**
 * Reads an account with everything that a decision about its trading depends on, consistently. `keep` stores the
 * rollovers of nights that are due; without it they are stored once for all accounts.
 */
export async function readSeen<X extends Refs>(
  reads: Reads,
  context: Context,
  request: Pick<TradingRequest<unknown, X>, "account_id" | "refs" | "opening" | "needs">,
  keep?: (draft: Rollover) => Promise<Rollover>,
): Promise<SeenAccount<X> | { readonly ok: false; readonly refusal: Refusal }> {
  const read = await readHolder(reads, context.tenant_id, request.account_id, request.refs);
  if (read === undefined) return refuse("account_not_found", "The account does not exist.");
  const { state: stored, found } = read;
  if (request.opening !== true) untilOpened(stored.account);
  const needs = await request.needs(stored, found);
  const { currency, client_id } = stored.account;
  const { symbols = [], trades: ids = [], source } = needs;
  const named = symbols.map((symbol) => ({ symbol, currency, ...(source === undefined ? {} : { source }) }));
  const { market, items } = await readMarketWith(
    context.tenant_id,
    [...stored.positions, ...named],
    [clients.key(context.tenant_id, client_id), ...ids.map((id) => trades.key(context.tenant_id, id))],
    reads.items,
  );
  const [client, ...others] = items as [Client | undefined, ...(Trade | undefined)[]];
  if (client === undefined) return refuse("client_not_found", "The client of the account does not exist.");
  const rollovers = await readRollovers(context, stored, market, reads.items, keep);
  const state = withNights({ ...stored, client, trades: byId(others) }, market, rollovers, context.now);
  const seen = { ...state, trades: tradesWithNights(state.trades, state.positions) };
  return { ok: true, stored, state, seen, market, found };
}

/**
 * Nothing is decided about an account while its adoption adds positions: its money is that of all of them.
 * @throws Unavailable when it does
 */
export function untilOpened({ id, opening }: Account): void {
  if (opening !== undefined) throw new Unavailable(`The positions of ${id} are being adopted.`);
}

/** Outcome of a decision that no connection waits for. */
export type Committed<R> =
  | {
      readonly kind: "done";
      readonly result: R;
      /** Events of the commit, or commits, in order. */
      readonly events: readonly DomainEvent[];
    }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "contended" };

/** The tenant and context of a decision, and the time for it. */
export interface Attempted {
  readonly tenant_id: string;
  readonly newContext: () => Context;
  readonly remainingMs: () => number;
  /** The audit entry of a commit without an event that a caller commanded; see `Context.origin`. */
  readonly audited?: (result: unknown) => UntoldAudit;
}

/** Makes a decision about the trading of one account and commits it, again as long as others come between. */
export function commitTrading<R, X extends Refs>(
  attempted: Attempted,
  request: TradingRequest<R, X>,
): Promise<Committed<R>> {
  return commitDecision(attempted, (load, context) => decideTrading(load, context, request));
}

/**
 * Evaluates an account at the newest prices until there is nothing left to do now: a margin call, every step of a
 * liquidation, its re-arming, and the prices at which it is to be looked at again. The same again changes nothing, and
 * a caller that finds a liquidation begun continues it.
 */
export async function evaluateAccount(attempted: Attempted, accountId: string): Promise<Committed<Evaluated>> {
  const events: DomainEvent[] = [];
  for (;;) {
    const step = await commitDecision(attempted, (load, context) => decideEvaluation(load, context, accountId));
    if (step.kind !== "done") return step;
    events.push(...step.events);
    if (!step.result.again || attempted.remainingMs() <= limits.commit.reserve_ms) return { ...step, events };
  }
}

async function decideEvaluation(load: Load, context: Context, accountId: string): Promise<Committable<Evaluated>> {
  const read = await readHolder(readsOf(load), context.tenant_id, accountId, {});
  if (read === undefined) return refuse("account_not_found", "The account does not exist.");
  const [judged, requests] = await Promise.all([
    readMarketToJudge(context.tenant_id, read.state.positions),
    readRequests(load, read.state),
  ]);
  if (read.state.account.opening !== undefined) return unjudged(read.state, judged, context);
  const rollovers = await readRollovers(context, read.state, judged);
  const state = { ...withNights(read.state, judged, rollovers, context.now), ...requests };
  const accrued = accruing(state).slice(0, limits.trading.accruals_per_step);
  if (accrued.length > 0) return decideNights(load, context, state, judged, accrued);
  if (closedBy(state, judged, context).length === 0) {
    return prepared(evaluated(state, judged, new Map(), context), context);
  }
  // Positions close on the terms of now.
  const market = await readMarket(context.tenant_id, state.positions);
  const trades = await tradesOf(load, closedBy(state, market, context));
  return prepared(evaluated(state, market, trades, context), context);
}

/** Nothing is decided of an account that is being adopted; the last step leaves it due. */
function unjudged(state: WatchedState, market: Market, context: Context): Committable<Evaluated> {
  const risk = state.risk ?? draftRisk(state.account, context);
  const metrics = metricsAt(market, state, context.now);
  const result = { risk, metrics, closed: [], waiting: false, running: false, again: false };
  return { ok: true, result, changes: [], events: [] };
}

/** Stores nights of an account before anything is decided on it. */
async function decideNights(
  load: Load,
  context: Context,
  state: WatchedState,
  market: Market,
  accrued: readonly Position[],
): Promise<Committable<Evaluated>> {
  const found = await tradesOf(
    load,
    accrued.map(({ trade_id }) => trade_id),
  );
  const decision = accrueNights(state, accrued, found, context);
  const metrics = metricsAt(market, state, context.now);
  const risk = state.risk ?? draftRisk(state.account, context);
  const result = { risk, metrics, closed: [], waiting: false, running: false, again: true };
  const whole = decision.ok ? { ...decision, result } : decision;
  return prepared(withMarginUpdate(state, whole, market, context), context);
}

/** The platform that closes the positions of a linked account by commands; empty for another account. */
async function readRequests(load: Load, { account, risk }: WatchedState): Promise<{ readonly requests?: Requested }> {
  const ids = risk?.requested?.command_ids ?? [];
  const source_id = account.source_id ?? undefined;
  if (source_id === undefined && risk?.requested === undefined) return {};
  const { source, ...found } = await load({
    ...Object.fromEntries(ids.map((id) => [id, tradingRef.command(id)])),
    ...(source_id === undefined ? {} : { source: tradingRef.feedSource(source_id) }),
  });
  const known = Object.values(found) as readonly (PlatformCommand | undefined)[];
  const commands = known.flatMap((command) => (command?.type === "liquidate" ? [command] : []));
  return { requests: { source: source as FeedSource | undefined, commands } };
}

/** The trades that a step of a liquidation closes. */
function closedBy(state: WatchedState, market: Market, { now }: Context): readonly string[] {
  return nextToClose({ ...state, liquidated_by: liquidationOf(state, market) }, market, now);
}

/** Makes a decision and commits it, again as long as others come between. */
export async function commitDecision<R>(
  { tenant_id, newContext, remainingMs, audited }: Attempted,
  decide: (load: Load, context: Context) => Promise<Committable<R>>,
): Promise<Committed<R>> {
  let last: Committable<R> | undefined;
  const nothing = { status: 200, headers: {}, body: "" };
  const outcome = await execute<R>({
    tenant_id,
    newContext,
    remainingMs,
    decide: async (load, context) => {
      last = await decide(load, context);
      return last;
    },
    show: () => nothing,
    ...(audited === undefined ? {} : { audited }),
    showRefusal: () => ({ reply: nothing, stored: false }),
  });
  if (outcome.kind !== "fresh" || last === undefined) return { kind: "contended" };
  if (!last.ok) return { kind: "refused", refusal: last.refusal };
  return { kind: "done", result: last.result, events: last.events };
}

async function tradesOf(load: Load, ids: readonly string[]): Promise<ReadonlyMap<string, Trade>> {
  if (ids.length === 0) return new Map();
  return byId(Object.values(await load(Object.fromEntries(ids.map((id) => [id, tradingRef.trade(id)])))));
}

function byId(found: readonly (Trade | undefined)[]): ReadonlyMap<string, Trade> {
  return new Map(found.flatMap((trade) => (trade === undefined ? [] : [[trade.id, trade]])));
}

/** A decision with its changes in the table's form; uniqueness markers stay as they are, for their refusals. */
export function prepared<R>(decision: TradingDecision<R>, { tenant_id }: Context): Committable<R> {
  if (!decision.ok) return decision;
  const changes = ofOneItemEach(decision.changes).map((change) =>
    isMarker(change) ? change : ({ op: "prepared", item: writeTrading(change, tenant_id) } as const),
  );
  return { ...decision, changes };
}

function isMarker(change: TradingChange): change is Extract<Change, { op: "claim" | "release" }> {
  return change.op === "claim" || change.op === "release";
}
