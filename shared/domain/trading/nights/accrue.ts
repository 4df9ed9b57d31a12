import { daysAfter } from "../../../calendar.ts";
import { type Context, later } from "../../kernel/decision.ts";
import type { Account } from "../../records/account.ts";
import type { Balance } from "../../records/balance.ts";
import type { Position } from "../../records/position.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import type { Trade } from "../../records/trade.ts";
import type { TradingChange, TradingDecision } from "../../records/trading-change.ts";
import { withNewPositions } from "../accrue-swap.ts";
import { positionChanges } from "../changes.ts";
import type { Market } from "../pricing/quote.ts";
import { internalSource } from "../pricing/source.ts";
import { nightsOf } from "../swap.ts";
import { lastRollover, rolloverMs } from "./clock.ts";
import { nightMinor, type Rollover } from "./rollover.ts";

type Holder = Pick<Account, "swap_free" | "currency">;

/** Rollovers by {@link rolloverName}. */
export type Rollovers = ReadonlyMap<string, Rollover>;

/** A rollover's name among those of a tenant. */
export function rolloverName({ symbol, date, currency }: Pick<Rollover, "symbol" | "date" | "currency">): string {
  return `${symbol}#${date}#${currency}`;
}

/** The last rollover before a position is opened: what it never pays. It is kept where its symbol has swap. */
export function openedThrough(symbol: TradingSymbol, source: string, at: string): Pick<Position, "swap_through"> {
  const charged = source === internalSource && symbol.swap.type !== "none";
  return charged ? { swap_through: lastRollover(symbol, at) } : {};
}

/** Whether this service charges the swap of a position, and not its platform. */
function isCharged(symbol: TradingSymbol | undefined, { source }: Position): symbol is TradingSymbol {
  return source === internalSource && symbol !== undefined && symbol.swap.type !== "none";
}

/**
 * The nights that a position is still to be charged for at a moment, oldest first, as calendar days: those whose
 * rollover came after it was opened and since its symbol has swap. Of one that was opened while its symbol had none,
 * the first is the newest night.
 */
export function nightsDue(symbol: TradingSymbol | undefined, position: Position, now: string): string[] {
  if (!isCharged(symbol, position)) return [];
  const last = lastRollover(symbol, now);
  const through = position.swap_through ?? daysAfter(last, -1);
  const since = symbol.swap_since ?? "";
  const due: string[] = [];
  for (let date = daysAfter(through, 1); date <= last; date = daysAfter(date, 1)) {
    const at = new Date(rolloverMs(symbol, date)).toISOString();
    if (nightsOf(symbol, date) > 0 && position.opened_at < at && since <= at) due.push(date);
  }
  return due;
}

/** The rollovers that the due nights of an account's positions need; none where it has no swap. */
export function rolloversNeeded(
  account: Holder,
  positions: readonly Position[],
  { symbols }: Market,
  now: string,
): Pick<Rollover, "symbol" | "date" | "currency">[] {
  if (account.swap_free) return [];
  const needed = positions.flatMap((position) =>
    nightsDue(symbols.get(position.symbol), position, now).map((date) => {
      const { symbol, currency } = position;
      return { symbol, date, currency };
    }),
  );
  return [...new Map(needed.map((each) => [rolloverName(each), each])).values()];
}

/** A position as it is with its due nights, as far as their rollovers are known: each in turn, and none twice. */
function underNights(
  { swap_free }: Holder,
  { symbols }: Market,
  rollovers: Rollovers,
  position: Position,
  now: string,
): Position {
  let after = position;
  for (const date of nightsDue(symbols.get(position.symbol), position, now)) {
    const { symbol, currency } = position;
    const rollover = rollovers.get(rolloverName({ symbol, date, currency }));
    if (rollover === undefined && !swap_free) break;
    const minor = rollover === undefined ? 0n : nightMinor(rollover, position);
    after = { ...after, swap_minor: after.swap_minor + minor, swap_through: date };
  }
  return after;
}

/** State of an account for decisions, where due nights change its stored positions. */
export interface NightState {
  readonly account: Account;
  readonly balance: Balance;
  readonly positions: readonly Position[];
  readonly stored?: ReadonlyMap<string, Position>;
}

/**
 * The state with the due nights of every position: whatever changes a position stores them with it, so that none
 * escapes by a close, and none counts twice. The same state where no night is due.
 */
export function withNights<S extends NightState>(state: S, market: Market, rollovers: Rollovers, now: string): S {
  const positions = state.positions.map((position) => underNights(state.account, market, rollovers, position, now));
  if (positions.every((position, place) => position === state.positions[place])) return state;
  const stored = new Map(state.stored);
  for (const [place, before] of state.positions.entries()) {
    if (before !== positions[place] && !stored.has(before.id)) stored.set(before.id, before);
  }
  return { ...state, positions, stored };
}

/** The trades of positions with the nights that their positions have. */
export function tradesWithNights(
  trades: ReadonlyMap<string, Trade>,
  positions: readonly Position[],
): ReadonlyMap<string, Trade> {
  const swaps = new Map(positions.map(({ trade_id, swap_minor }) => [trade_id, swap_minor]));
  return new Map([...trades].map(([id, trade]) => [id, { ...trade, swap_minor: swaps.get(id) ?? trade.swap_minor }]));
}

/** A decision that was made on {@link tradesWithNights}, with its changes as those of the stored trades. */
export function onStoredTrades<R>(
  decision: TradingDecision<R>,
  stored: ReadonlyMap<string, Trade>,
): TradingDecision<R> {
  if (!decision.ok) return decision;
  const changes = decision.changes.map((change): TradingChange => {
    if (change.op !== "update" || change.entity !== "trade") return change;
    return { ...change, before: stored.get((change.before as Trade).id) ?? change.before };
  });
  return { ...decision, changes };
}

/** The positions of a state that have nights which are not stored yet. */
export function accruing({ positions, stored = new Map() }: NightState): readonly Position[] {
  return positions.filter(({ id, swap_through }) => {
    const item = stored.get(id);
    return item !== undefined && item.swap_through !== swap_through;
  });
}

/** Stores the nights of these positions and of their trades. No money moves before the close. */
export function accrueNights(
  { balance }: NightState,
  positions: readonly Position[],
  trades: ReadonlyMap<string, Trade>,
  { now }: Context,
): TradingDecision<undefined> {
  const next = <T extends { updated_at: string; version: number }>(item: T): T => ({
    ...item,
    updated_at: later(item.updated_at, now),
    version: item.version + 1,
  });
  const changes = positions.flatMap((position): TradingChange[] => {
    const trade = trades.get(position.trade_id);
    if (trade === undefined) throw new Error(`The trade ${position.trade_id} of an open position was not read.`);
    const after = next({ ...trade, swap_minor: position.swap_minor });
    return [...positionChanges([position], [next(position)]), { op: "update", entity: "trade", before: trade, after }];
  });
  return { ok: true, result: undefined, changes: [...changes, withNewPositions(balance)], events: [] };
}

/** When the next night of these positions is due, RFC 3339; undefined where none will be. */
export function nextNightAt(positions: readonly Position[], { symbols }: Market, now: string): string | undefined {
  const moments = new Map<string, string | undefined>();
  for (const position of positions) {
    const symbol = symbols.get(position.symbol);
    if (!isCharged(symbol, position)) continue;
    const [due] = nightsDue(symbol, position, now);
    const name = due === undefined ? symbol.symbol : `${symbol.symbol} ${due}`;
    if (moments.has(name)) continue;
    const date = due ?? nextNight(symbol, lastRollover(symbol, now));
    moments.set(name, date && new Date(rolloverMs(symbol, date)).toISOString());
  }
  return [...moments.values()].filter((at) => at !== undefined).toSorted()[0];
}

/** The first day after this one whose rollover counts a night: on a weekend none does. */
function nextNight(symbol: TradingSymbol, date: string): string | undefined {
  return [1, 2, 3].map((days) => daysAfter(date, days)).find((next) => nightsOf(symbol, next) > 0);
}
