import { limits } from "../../limits.ts";
import type { SideName } from "../../schema/trade.ts";
import { type Context, later, numberOf, type Refusal } from "../kernel/decision.ts";
import type { Position } from "../records/position.ts";
import type { Risk } from "../records/risk.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { type Book, bookEntries, closeBook, holdingsOf, openBook, replaced, withPositions } from "./book.ts";
import { closeStep, type PlatformMoney, refuseTrading } from "./close-trade.ts";
import { settleBook } from "./correction.ts";
import { type Holdings, joinedTerms, marginRatio, marginTermsOf } from "./margin.ts";
import { openedThrough } from "./nights/accrue.ts";
import { priceBounds, refuseExposure } from "./pricing/bounds.ts";
import { commissionMinor } from "./pricing/commission.ts";
import { refuseUnconverted } from "./pricing/convert.ts";
import type { Market } from "./pricing/quote.ts";
import { decimalText, rational, ratioText, shortDecimalText } from "./pricing/rational.ts";
import { liquidatorOf } from "./pricing/source.ts";
import { lotsFault, lotsOf, reportedPrice } from "./pricing/symbol.ts";
import { averagePrice, shareOf, weightedMean } from "./profit.ts";
import { isLiquidating } from "./risk.ts";
import { tradeEvent } from "./trade.ts";

/** An execution that opens lots of a symbol, at the price it was done at. */
export interface Execution {
  readonly symbol: string;
  readonly side: SideName;
  readonly lots: string;
  readonly price: string;
  readonly stop_loss?: string | null;
  readonly take_profit?: string | null;
  readonly order_id?: string | null;
  /** `internal`, or where it was done: `mt5:live-1`. */
  readonly source: string;
  readonly source_trade_id?: string | null;
  /** Name of the position at its source. */
  readonly source_position_id?: string;
  readonly at?: string;
  readonly platform?: PlatformMoney;
}

/** An account for a decision that opens: with its risk, and with netting the open trade of the same symbol. */
export interface TradingState extends Holdings {
  readonly risk: Risk | undefined;
  readonly trades: ReadonlyMap<string, Trade>;
}

/** Result of an execution: the open trade, and with netting what it closed first. */
export interface Executed {
  /** Undefined when the execution only closed. */
  readonly trade: Trade | undefined;
  readonly position: Position | undefined;
  readonly closed: readonly Trade[];
  readonly holdings: Holdings;
}

type Step =
  | {
      readonly ok: true;
      readonly book: Book;
      readonly trade: Trade | undefined;
      readonly position: Position | undefined;
      readonly closed: readonly Trade[];
    }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Decides what an execution does. With hedging it opens a trade. With netting it opens one, raises the one there is at
 * the volume-weighted price, or closes against it and opens what is left on the other side. Only what cannot be booked
 * is refused: whether an account may trade is decided before, by {@link admit} or by the platform.
 */
export function executeTrade(
  state: TradingState,
  market: Market,
  execution: Execution,
  context: Context,
  gated = false,
): TradingDecision<Executed> {
  // An execution of a platform has happened, whatever this service does with the account meanwhile.
  if (gated && isLiquidating(state.risk))
    return refuseTrading("liquidation_in_progress", "The account is being liquidated.");
  const terms = termsOf(market, execution, context.now);
  if (!terms.ok) return terms;
  const { symbol, deal } = terms;
  const held = state.positions.find((position) => position.symbol === symbol.symbol);
  const book = openBook(state);
  const step =
    state.account.position_mode === "hedging" || held === undefined
      ? openPosition(book, market, symbol, deal, context)
      : netted(state, book, held, market, symbol, deal, context);
  if (!step.ok) return step;
  const exposure = step.trade && refuseExposure(market, state, step.book.positions, context.now);
  if (exposure !== undefined) return exposure;
  const settled = settleBook(step.book, liquidatorOf(market, [...state.positions, deal]), context);
  const { trade, position, closed } = step;
  const result = { trade, position, closed, holdings: holdingsOf(state.balance, settled) };
  return closeBook(state, settled, context, { result, gated });
}

/** Opens a trade of its own inside a larger decision, as a platform has it. */
export function openStep(book: Book, market: Market, execution: Execution, context: Context): Step {
  const terms = termsOf(market, execution, context.now);
  return terms.ok ? openPosition(book, market, terms.symbol, terms.deal, context) : terms;
}

/** The symbol of an execution, its lots and prices in the symbol's decimals, or why they are none. */
function termsOf(market: Market, execution: Execution, now: string) {
  const symbol = market.symbols.get(execution.symbol);
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${execution.symbol}.`);
  const price = reportedPrice(symbol, execution.price);
  if (price === undefined) return refuseTrading("invalid_price", `is no price of ${symbol.symbol}`, "price");
  const { highest } = priceBounds(symbol, market.quotes.get(symbol.symbol), now);
  if (rational(price).abs().gt(highest)) {
    const most = shortDecimalText(highest, 0, symbol.digits);
    return refuseTrading("invalid_price", `must not be further from 0 than ${most}`, "price");
  }
  const lots = lotsOf(symbol, rational(execution.lots));
  const fault = faultOf(symbol, lots, execution);
  if (fault !== undefined) return refuseTrading("validation_failed", fault, "lots");
  return { ok: true, symbol, deal: { ...execution, price, lots } } as const;
}

/** Why lots cannot be opened. The least and the most that may be traded are for requests, not for what has happened. */
function faultOf(symbol: TradingSymbol, lots: string, { platform }: Execution): string | undefined {
  if (platform === undefined) return lotsFault(symbol, lots);
  return rational(lots).gt(0n) ? undefined : "must be above 0";
}

/** A trade of its own. */
function openPosition(book: Book, market: Market, symbol: TradingSymbol, deal: Execution, context: Context): Step {
  if (book.positions.length >= limits.trading.max_positions) {
    const detail = `An account may have at most ${limits.trading.max_positions} open positions.`;
    return refuseTrading("too_many_positions", detail);
  }
  const draft = draftTrade(book, market, symbol, deal, context);
  if (!draft.ok) return draft;
  const { trade, position } = draft;
  const booked = bookEntries(book, openingEntries(trade), context);
  const after = withPositions(
    {
      ...booked,
      changes: [...booked.changes, { op: "create", entity: "trade", item: trade }],
      events: [...booked.events, tradeEvent("trade.opened", trade)],
    },
    [...booked.positions, position],
  );
  return { ok: true, book: after, trade, position, closed: [] };
}

function openingEntries({ id, commission_minor }: Trade) {
  if (commission_minor === 0n) return [];
  return [{ kind: "commission", control: "commission", amount_minor: commission_minor, trade_id: id } as const];
}

function draftTrade(book: Book, market: Market, symbol: TradingSymbol, deal: Execution, context: Context) {
  const { account } = book;
  const ratio = deal.platform?.margin_ratio ?? marginRatio(market, account.currency, symbol, deal.price);
  const commission = deal.platform?.commission_minor ?? commissionOf(market, symbol, deal, account.currency);
  if (ratio === undefined || commission === undefined) {
    return refuseUnconverted(market, symbol, account.currency, "symbol");
  }
  const id = context.newId("trd");
  const at = deal.at ?? context.now;
  const shared = {
    tenant_id: context.tenant_id,
    account_id: account.id,
    client_id: account.client_id,
    symbol: symbol.symbol,
    side: deal.side,
    lots: deal.lots,
    open_price: deal.price,
    currency: account.currency,
    swap_minor: 0n,
    margin_ratio: ratio,
    stop_loss: deal.stop_loss ?? null,
    take_profit: deal.take_profit ?? null,
    updated_at: context.now,
    version: 1,
  };
  const position: Position = {
    ...shared,
    id: `pos${id.slice(id.indexOf("_"))}`,
    account_type: account.type,
    trade_id: id,
    source: deal.source,
    margin_terms: marginTermsOf(symbol, deal.price, ratio),
    pos_version: 0,
    ...openedThrough(symbol, deal.source, at),
    ...(deal.source_position_id !== undefined && { source_position_id: deal.source_position_id }),
    ...numberOf(context),
    opened_at: at,
  };
  const trade: Trade = {
    ...shared,
    id,
    status: "open",
    initial_lots: deal.lots,
    parent_trade_id: null,
    position_id: position.id,
    order_id: deal.order_id ?? null,
    open_at: at,
    close_price: null,
    close_at: null,
    close_reason: null,
    gross_minor: null,
    service_gross_minor: null,
    commission_minor: commission,
    conversion_fee_minor: 0n,
    conversion: null,
    pnl_source: "service",
    source: deal.source,
    source_trade_id: deal.source_trade_id ?? null,
    created_at: context.now,
  };
  return { ok: true, trade, position } as const;
}

function commissionOf(market: Market, symbol: TradingSymbol, deal: Execution, currency: Trade["currency"]) {
  return commissionMinor(market, symbol, { lots: deal.lots, price: deal.price, currency });
}

/** With netting: raises the position, or closes against it and opens what is left on the other side. */
function netted(
  state: TradingState,
  book: Book,
  held: Position,
  market: Market,
  symbol: TradingSymbol,
  deal: Execution,
  context: Context,
): Step {
  const trade = state.trades.get(held.trade_id);
  if (trade === undefined) throw new Error(`The trade ${held.trade_id} of an open position was not read.`);
  const open = { position: held, trade };
  if (held.side === deal.side) return raised(book, open, market, symbol, deal, context);
  const over = rational(deal.lots).sub(rational(held.lots));
  const money = over.gt(0n) ? splitMoney(deal, held.lots) : { closing: deal.platform, opening: undefined };
  const closing = {
    price: deal.price,
    reason: "client" as const,
    ...(over.gte(0n) ? {} : { lots: deal.lots }),
    ...(deal.at === undefined ? {} : { at: deal.at }),
    ...(money.closing === undefined ? {} : { platform: money.closing }),
    source_trade_id: deal.source_trade_id ?? null,
  };
  const step = closeStep(book, open, market, closing, context);
  if (!step.ok) return step;
  if (over.lte(0n)) {
    return { ok: true, book: step.book, trade: undefined, position: step.position, closed: [step.trade] };
  }
  const { platform: _booked, ...rest } = deal;
  const lots = lotsOf(symbol, over);
  const opening = { ...rest, lots, ...(money.opening === undefined ? {} : { platform: money.opening }) };
  const flipped = openPosition(step.book, market, symbol, opening, context);
  return flipped.ok ? { ...flipped, closed: [step.trade] } : flipped;
}

/**
 * The money of a deal that closes a position and opens the rest on the other side. Profit and swap belong to what is
 * closed, the margin rate to what is opened. The commission is shared by lots: the closed trade takes its rounded share
 * and the opened one what is left, so that the sum is what the platform charged.
 */
function splitMoney({ platform, lots }: Execution, closed: string) {
  if (platform === undefined) return { closing: undefined, opening: undefined };
  const { commission_minor: charged, margin_ratio, ...closing } = platform;
  const rate = margin_ratio === undefined ? {} : { margin_ratio };
  if (charged === undefined) return { closing, opening: rate };
  const share = shareOf(charged, closed, lots);
  return {
    closing: { ...closing, commission_minor: share },
    opening: { ...rate, commission_minor: charged - share },
  };
}

/**
 * Raises a netting position: price and margin rate become means weighted by lots, rounded to twelve decimals and from
 * then on exact. The one open trade of the position carries all its lots, so that each close stays one closed trade.
 */
function raised(
  book: Book,
  { position, trade }: { readonly position: Position; readonly trade: Trade },
  market: Market,
  symbol: TradingSymbol,
  deal: Execution,
  context: Context,
): Step {
  const draft = draftTrade(book, market, symbol, deal, context);
  if (!draft.ok) return draft;
  const added = draft.trade;
  const sum = (a: string, b: string) => lotsOf(symbol, rational(a).add(rational(b)));
  const parts = [position, { lots: added.lots, open_price: added.open_price }];
  const rates = [position, added].map(({ lots, margin_ratio }) => ({ lots, value: rational(margin_ratio) }));
  const changed = {
    lots: sum(position.lots, added.lots),
    open_price: averagePrice(symbol, parts),
    margin_ratio: ratioText(rational(decimalText(weightedMean(rates), limits.trading.rate_digits))),
    stop_loss: deal.stop_loss ?? position.stop_loss,
    take_profit: deal.take_profit ?? position.take_profit,
  };
  const updated_at = later(position.updated_at, context.now);
  const { feed_seq: _before, ...rest } = position;
  const next: Position = {
    ...rest,
    ...changed,
    ...numberOf(context),
    // Lots that are open keep their terms, the added ones get those of now.
    margin_terms: joinedTerms([position, draft.position]),
    updated_at,
    version: position.version + 1,
  };
  const after: Trade = {
    ...trade,
    ...changed,
    initial_lots: sum(trade.initial_lots, added.lots),
    commission_minor: trade.commission_minor + added.commission_minor,
    updated_at,
    version: trade.version + 1,
  };
  const booked = bookEntries(book, openingEntries({ ...added, id: trade.id }), context);
  const previous = { lots: trade.lots, open_price: trade.open_price, version: trade.version };
  const raisedBook = withPositions(
    {
      ...booked,
      changes: [...booked.changes, { op: "update", entity: "trade", before: trade, after }],
      events: [...booked.events, tradeEvent("trade.opened", after, previous)],
    },
    replaced(booked.positions, next),
  );
  return { ok: true, book: raisedBook, trade: after, position: next, closed: [] };
}
