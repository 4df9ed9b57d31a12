import { type Context, later, numberOf } from "../kernel/decision.ts";
import type { Position } from "../records/position.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingChange, TradingDecision } from "../records/trading-change.ts";
import { type Book, bookEntries, closeBook, type Entry, openBook, replaced, withPositions } from "../trading/book.ts";
import { refuseTrading } from "../trading/close-trade.ts";
import { settleBook } from "../trading/correction.ts";
import type { TradingState } from "../trading/open-trade.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { rational, zero } from "../trading/pricing/rational.ts";
import { liquidatorOf } from "../trading/pricing/source.ts";
import { lotsOf } from "../trading/pricing/symbol.ts";
import { tradeEvent } from "../trading/trade.ts";
import type { ItemLinks } from "./apply.ts";
import { claimPosition, renamedPosition } from "./deals.ts";
import type { Origin } from "./mirror-order.ts";
import { withoutCorrections } from "./reversal-repayment.ts";
import type { DealUndo } from "./undo.ts";

type Step = { readonly ok: true; readonly book: Book } | ReturnType<typeof refuseLater>;

/** Terms of a step: the trades as they were read, and when it happened. */
interface Terms {
  readonly trades: TradingState["trades"];
  readonly symbol: TradingSymbol;
  readonly undo: DealUndo;
  readonly at: string;
  readonly context: Context;
}

function refuseLater() {
  return refuseTrading("deal_not_reversible", "A later deal depends on this one; take that one back first.", "deal_id");
}

/**
 * Decides a deal that a platform took back: what it booked is booked back to the cent, what it opened is taken away,
 * and what it closed is open again as it was. Of several deals of one position the last one is taken back first.
 * Corrections since then, and the credit that was spent, are given back: with its position open nothing was due.
 */
export function reverseDeal(
  state: TradingState,
  market: Market,
  { undo, since, named }: Pick<ItemLinks, "undo" | "since" | "named">,
  { source, at }: Origin,
  context: Context,
): TradingDecision<Trade | undefined> {
  if (state.account.status === "closed") return refuseTrading("account_closed", "The account is closed.");
  const trades = undo === undefined ? [] : tradesOf(undo).flatMap((id) => state.trades.get(id) ?? []);
  if (undo === undefined || trades.some(({ account_id }) => account_id !== state.account.id)) {
    const detail = "No deal of this account has this id, or it was taken back already.";
    return refuseTrading("unknown_deal", detail, "deal_id");
  }
  const [first] = trades;
  const symbol = market.symbols.get(undo.symbol);
  if (symbol === undefined) return refuseTrading("symbol_not_found", "The symbol of the deal is not known.");
  const names = nameBack(state, undo, named, source);
  if (names === undefined) return refuseLater();
  const terms = { trades: state.trades, symbol, undo, at, context };
  const opened = withoutOpening(openBook(state), terms);
  const reopened = opened.ok ? withClosing(opened.book, terms) : opened;
  if (!reopened.ok) return reopened;
  const entries = undo.entries.map(({ kind, minor, trade_id, seq }) => {
    const back = since === undefined ? {} : { reverses_seq: seq };
    return { kind, control: kind, amount_minor: -BigInt(minor), trade_id, ...back } as const;
  });
  const booked = bookEntries(
    reopened.book,
    [...endOf(undo), ...entries.filter(({ amount_minor }) => amount_minor !== 0n)],
    context,
  );
  const repaid = since === undefined ? booked : withoutCorrections(booked, since, context);
  const settled = settleBook(repaid, liquidatorOf(market, [...state.positions, { source: source.name }]), context);
  const decision = closeBook(state, settled, context, { result: first });
  return decision.ok ? { ...decision, changes: [...decision.changes, ...names] } : decision;
}

/** The entry of nothing that every closed trade has; it says at which item a trade ended that was not to be. */
function endOf({ opened }: DealUndo): readonly Entry[] {
  if (opened === undefined || opened.before !== undefined) return [];
  return [{ kind: "realised_pnl", control: "realised_pnl", amount_minor: 0n, trade_id: opened.trade }];
}

/** The trades that a deal opened or closed, that of its result first. */
export function tradesOf({ opened, closed }: DealUndo): string[] {
  const ids = [closed?.trade, closed?.of, opened?.trade].filter((id) => id !== undefined);
  return [...new Set(ids)];
}

function bookedOf({ entries }: DealUndo, tradeId: string, kind: string): bigint {
  const own = entries.filter((entry) => entry.trade_id === tradeId && entry.kind === kind);
  return own.reduce((sum, { minor }) => sum + BigInt(minor), 0n);
}

const next = <T extends { updated_at: string; version: number }>(item: T, { now }: Context): T => ({
  ...item,
  updated_at: later(item.updated_at, now),
  version: item.version + 1,
});

/** The members of a trade whose deal was taken back: nothing is left of its money. */
const nothing = { gross_minor: 0n, service_gross_minor: null, commission_minor: 0n, swap_minor: 0n } as const;

function changeTrade(
  book: Book,
  before: Trade,
  after: Trade,
  positions: readonly Position[],
  events: Book["events"],
): Book {
  const changes: Book["changes"] = [...book.changes, { op: "update", entity: "trade", before, after }];
  return withPositions({ ...book, changes, events: [...book.events, ...events] }, positions);
}

/** Takes away what the deal opened: a trade of its own, or the lots that it added to a netting position. */
function withoutOpening(book: Book, { trades, undo, at, context }: Terms): Step {
  const { opened } = undo;
  if (opened === undefined) return { ok: true, book };
  const trade = trades.get(opened.trade);
  const position = book.positions.find(({ trade_id }) => trade_id === opened.trade);
  const untouched = trade?.lots === opened.lots && trade.initial_lots === opened.initial_lots;
  if (trade === undefined || position === undefined || !untouched) return refuseLater();
  const commission_minor = trade.commission_minor - bookedOf(undo, trade.id, "commission");
  if (opened.before === undefined) {
    const closing = {
      status: "closed",
      close_price: trade.open_price,
      close_at: at,
      close_reason: "reversed",
    } as const;
    const after = next<Trade>({ ...trade, ...closing, ...nothing, commission_minor, pnl_source: "platform" }, context);
    const left = book.positions.filter(({ id }) => id !== position.id);
    return {
      ok: true,
      book: changeTrade(book, trade, after, left, [tradeEvent("trade.closed", after, statusOf(trade))]),
    };
  }
  const { initial_lots, margin_terms, ...terms } = opened.before;
  const kept = next({ ...position, ...terms, margin_terms, ...numberOf(context) }, context);
  const after = next({ ...trade, ...terms, initial_lots, commission_minor }, context);
  const previous = { lots: trade.lots, open_price: trade.open_price, version: trade.version };
  const event = tradeEvent("trade.opened", after, previous);
  return { ok: true, book: changeTrade(book, trade, after, replaced(book.positions, kept), [event]) };
}

function statusOf({ status, version }: Trade) {
  return { status, version };
}

/** Opens again what the deal closed: the whole position, or the lots of a part. */
function withClosing(book: Book, terms: Terms): Step {
  const { closed } = terms.undo;
  if (closed === undefined) return { ok: true, book };
  const slice = terms.trades.get(closed.trade);
  const root = terms.trades.get(closed.of);
  if (slice === undefined || root === undefined || slice.close_reason === "reversed") return refuseLater();
  return slice.id === root.id ? reopened(book, root, terms) : givenBack(book, slice, root, terms);
}

function reopened(book: Book, trade: Trade, { undo, context }: Terms): Step {
  const { position: was, swap = "0" } = undo.closed ?? {};
  const nets = book.account.position_mode === "netting" && book.positions.some((each) => each.symbol === trade.symbol);
  if (was === undefined || trade.status === "open" || nets) return refuseLater();
  const swap_minor = BigInt(swap);
  const { id: trade_id, tenant_id, account_id, client_id, source, side, lots, open_price, currency } = trade;
  const { margin_ratio, stop_loss, take_profit, open_at: opened_at } = trade;
  const shared = { tenant_id, account_id, client_id, source, side, lots, open_price, currency };
  const position: Position = {
    ...was,
    ...shared,
    ...numberOf(context),
    id: trade.position_id ?? "",
    account_type: book.account.type,
    trade_id,
    symbol: trade.symbol,
    swap_minor,
    margin_ratio,
    pos_version: 0,
    stop_loss,
    take_profit,
    opened_at,
    updated_at: context.now,
    version: was.version + 1,
  };
  const commission_minor = trade.commission_minor - bookedOf(undo, trade.id, "commission");
  const open = { status: "open", close_price: null, close_at: null, close_reason: null, conversion: null } as const;
  const money = {
    gross_minor: null,
    service_gross_minor: null,
    swap_minor,
    commission_minor,
    pnl_source: "service",
  } as const;
  const after = next({ ...trade, ...open, ...money }, context);
  const event = tradeEvent("trade.opened", after, statusOf(trade));
  return { ok: true, book: changeTrade(book, trade, after, [...book.positions, position], [event]) };
}

function givenBack(book: Book, slice: Trade, root: Trade, { symbol, undo, context }: Terms): Step {
  const position = book.positions.find(({ trade_id }) => trade_id === root.id);
  const { renamed } = undo.closed ?? {};
  const isLater = renamed !== undefined && renamed.to !== position?.source_position_id;
  if (position === undefined || isLater || position.open_price !== slice.open_price) return refuseLater();
  const share = slice.commission_minor - bookedOf(undo, slice.id, "commission");
  const sum = (a: string, b: string) => lotsOf(symbol, rational(a).add(rational(b)));
  const lots = sum(position.lots, slice.lots);
  const swap_minor = position.swap_minor + BigInt(undo.closed?.swap ?? "0");
  const name = renamed === undefined ? {} : { source_position_id: renamed.from };
  const kept = next({ ...position, ...numberOf(context), ...name, lots, swap_minor }, context);
  const commission_minor = root.commission_minor + share;
  const source_trade_id = renamed?.from ?? root.source_trade_id;
  const parent = next({ ...root, source_trade_id, lots, swap_minor, commission_minor }, context);
  const none = lotsOf(symbol, zero);
  const taken = { ...nothing, lots: none, initial_lots: none, conversion: null, close_reason: "reversed" } as const;
  const after = next({ ...slice, ...taken }, context);
  const whole = changeTrade(book, root, parent, replaced(book.positions, kept), []);
  const previous = { lots: slice.lots, version: slice.version };
  return {
    ok: true,
    book: changeTrade(whole, slice, after, whole.positions, [tradeEvent("trade.closed", after, previous)]),
  };
}

/**
 * The changes by which the name of a position goes back to it: from the trade that the deal turned it into, from one
 * that a later deal opened under this name and that is over, or from the name that the deal gave to what it left.
 * Undefined where another open position has the name.
 */
function nameBack(
  { trades }: TradingState,
  { opened, closed }: DealUndo,
  named: string | undefined,
  source: Origin["source"],
): TradingChange[] | undefined {
  const name = closed?.renamed?.from ?? closed?.position?.source_position_id;
  const root = closed === undefined ? undefined : trades.get(closed.of);
  if (closed === undefined || root === undefined || name === undefined || named === root.id) return [];
  const holder = named === undefined ? undefined : trades.get(named);
  if (holder?.status === "open" && holder.id !== opened?.trade) return undefined;
  const { renamed } = closed;
  return renamed === undefined
    ? [claimPosition(source, name, root, holder)]
    : renamedPosition(source, root, renamed.to, name, holder);
}
