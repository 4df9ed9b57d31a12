import type { CloseReasonName } from "../../schema/trade.ts";
import { type Context, later, numberOf, type Refusal } from "../kernel/decision.ts";
import type { Position } from "../records/position.ts";
import type { TradingSymbol } from "../records/symbol.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import {
  type Book,
  bookEntries,
  closeBook,
  type Entry,
  holdingsOf,
  openBook,
  replaced,
  withPositions,
} from "./book.ts";
import { settleBook } from "./correction.ts";
import type { Holdings } from "./margin.ts";
import { commissionMinor } from "./pricing/commission.ts";
import { conversionBody, refuseUnconverted } from "./pricing/convert.ts";
import type { Market } from "./pricing/quote.ts";
import { rational } from "./pricing/rational.ts";
import { liquidatorOf } from "./pricing/source.ts";
import { lotsOf, reportedPrice } from "./pricing/symbol.ts";
import { grossProfit, shareOf } from "./profit.ts";
import { tradeEvent } from "./trade.ts";

/** Money that a platform says it booked; where it is given it wins over our own. */
export interface PlatformMoney {
  readonly gross_minor?: bigint;
  readonly commission_minor?: bigint;
  readonly swap_minor?: bigint;
  /** With an opening: the rate that it froze, as `numerator/denominator`. */
  readonly margin_ratio?: string;
}

/** Lots of a position to close, their price and the reason. */
export interface Closing {
  /** All of it when absent. */
  readonly lots?: string;
  readonly price: string;
  readonly reason: CloseReasonName;
  /** When it happened at its source; now when absent. */
  readonly at?: string;
  readonly source_trade_id?: string | null;
  /** The name at its source under which what is left of the position goes on; its own when absent. */
  readonly remaining_name?: string;
  readonly platform?: PlatformMoney;
}

/** A position with the trade that it is the open side of. */
export interface OpenTrade {
  readonly position: Position;
  readonly trade: Trade;
}

/** Result of a close. */
export interface Closed {
  readonly trade: Trade;
  /** The rest of the position. */
  readonly position: Position | undefined;
  readonly holdings: Holdings;
}

type Refused = { readonly ok: false; readonly refusal: Refusal };

/** A refusal of a trading rule. */
export function refuseTrading(code: Refusal["code"], detail: string, pointer?: string): Refused {
  const errors = pointer === undefined ? {} : { errors: [{ pointer: `#/${pointer}`, code, detail }] };
  return { ok: false, refusal: { code, detail, ...errors } };
}

/**
 * Decides a close at a price: all of a position, or a part, which becomes a closed trade of its own while the open
 * trade keeps its id with fewer lots. Closing is never refused for the state of the account. A balance below zero after
 * the last close is settled in the same decision.
 */
export function closeTrade(
  holdings: Holdings,
  open: OpenTrade,
  market: Market,
  closing: Closing,
  context: Context,
): TradingDecision<Closed> {
  const step = closeStep(openBook(holdings), open, market, closing, context);
  if (!step.ok) return step;
  const settled = settleBook(step.book, liquidatorOf(market, holdings.positions), context);
  const { trade, position } = step;
  const after = holdingsOf(holdings.balance, settled);
  return closeBook(holdings, settled, context, { result: { trade, position, holdings: after } });
}

/** One close inside a larger decision. */
export type CloseStep =
  | { readonly ok: true; readonly book: Book; readonly trade: Trade; readonly position: Position | undefined }
  | Refused;

/** Closes all or a part of a position in a book: its entries, its trades, its position and `trade.closed`. */
export function closeStep(
  book: Book,
  { position, trade }: OpenTrade,
  market: Market,
  closing: Closing,
  context: Context,
): CloseStep {
  const symbol = market.symbols.get(position.symbol);
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${position.symbol}.`);
  const price = reportedPrice(symbol, closing.price);
  if (price === undefined) return refuseTrading("invalid_price", `is no price of ${symbol.symbol}`, "price");
  const lots = lotsOf(symbol, rational(closing.lots ?? position.lots));
  const valid = rational(lots).gt(0n) && rational(lots).lte(rational(position.lots));
  if (!valid) return refuseTrading("validation_failed", `must be above 0 and at most ${position.lots}`, "lots");
  // All of a position can be closed whatever it is; what a platform closed has happened there.
  const part = closing.platform === undefined && !rational(lots).equals(rational(position.lots));
  if (part && !rational(lots).divisible(symbol.lot_step)) {
    return refuseTrading("validation_failed", `must be a multiple of ${symbol.lot_step}`, "lots");
  }
  const sums = sumsOf(market, symbol, { position, trade }, { ...closing, lots, price });
  if (sums === undefined) return refuseUnconverted(market, symbol, position.currency);
  const slice = closedTrade(trade, position, sums, { ...closing, lots, price }, context);
  const left = rational(position.lots).sub(rational(lots));
  const kept = left.equals(0n)
    ? undefined
    : withRemainingName(remainder(position, lotsOf(symbol, left), sums, context), closing);
  const booked = bookEntries(book, entriesOf(slice.id, sums), context);
  const positions =
    kept === undefined ? booked.positions.filter(({ id }) => id !== position.id) : replaced(booked.positions, kept);
  const parent = kept === undefined ? undefined : reducedTrade(trade, kept, sums, closing, context);
  const after = withPositions(
    {
      ...booked,
      changes: [
        ...booked.changes,
        ...(parent === undefined
          ? ([{ op: "update", entity: "trade", before: trade, after: slice }] as const)
          : ([
              { op: "update", entity: "trade", before: trade, after: parent },
              { op: "create", entity: "trade", item: slice },
            ] as const)),
      ],
      events: [...booked.events, tradeEvent("trade.closed", slice, { status: "open" })],
    },
    positions,
  );
  return { ok: true, book: after, trade: slice, position: kept };
}

/** The money of a close, in minor units. */
interface Sums {
  readonly gross: bigint;
  readonly own: bigint;
  readonly swap: bigint;
  /** Swap that the rest of the position keeps. */
  readonly swapLeft: bigint;
  /** The share of what was booked at the opening. */
  readonly openCommission: bigint;
  readonly closeCommission: bigint;
  readonly conversion: Trade["conversion"];
}

function sumsOf(
  market: Market,
  symbol: TradingSymbol,
  { position, trade }: OpenTrade,
  closing: Closing & { readonly lots: string },
): Sums | undefined {
  const { lots, price, platform } = closing;
  const deal = { ...position, lots };
  const profit = grossProfit(market, symbol, deal, price);
  const commission = platform?.commission_minor ?? commissionMinor(market, symbol, { ...deal, price });
  const gross = platform?.gross_minor ?? profit?.gross_minor;
  if (gross === undefined || commission === undefined) return undefined;
  const accrued = shareOf(position.swap_minor, lots, position.lots);
  return {
    gross,
    own: profit?.gross_minor ?? 0n,
    // The swap that a platform charged may differ from what its items accrued: the rest keeps its own share.
    swap: platform?.swap_minor ?? accrued,
    swapLeft: position.swap_minor - accrued,
    openCommission: shareOf(trade.commission_minor, lots, position.lots),
    closeCommission: commission,
    conversion: profit === undefined ? null : conversionBody(profit.conversion),
  };
}

/** One entry for the profit, even of nothing, so that every closed trade has one; the others only of something. */
function entriesOf(tradeId: string, { gross, swap, closeCommission }: Sums): Entry[] {
  const of = (kind: "realised_pnl" | "swap" | "commission", amount_minor: bigint): Entry => ({
    kind,
    control: kind,
    amount_minor,
    trade_id: tradeId,
  });
  return [
    of("realised_pnl", gross),
    ...(swap === 0n ? [] : [of("swap", swap)]),
    ...(closeCommission === 0n ? [] : [of("commission", closeCommission)]),
  ];
}

function closedTrade(
  trade: Trade,
  position: Position,
  sums: Sums,
  closing: Closing & { readonly lots: string },
  context: Context,
): Trade {
  const whole = rational(closing.lots).equals(rational(position.lots));
  const fields: Trade = {
    ...trade,
    status: "closed",
    lots: closing.lots,
    close_price: closing.price,
    close_at: closing.at ?? context.now,
    close_reason: !whole && closing.reason === "client" ? "partial_close" : closing.reason,
    gross_minor: sums.gross,
    service_gross_minor: closing.platform?.gross_minor === undefined ? null : sums.own,
    commission_minor: sums.openCommission + sums.closeCommission,
    swap_minor: sums.swap,
    conversion: sums.conversion,
    pnl_source: closing.platform?.gross_minor === undefined ? "service" : "platform",
    updated_at: later(trade.updated_at, context.now),
    version: trade.version + 1,
  };
  if (whole) return fields;
  return {
    ...fields,
    id: context.newId("trd"),
    initial_lots: closing.lots,
    parent_trade_id: trade.id,
    position_id: null,
    source_trade_id: closing.source_trade_id ?? null,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
  };
}

function remainder(position: Position, lots: string, sums: Sums, context: Context): Position {
  const { feed_seq: _before, ...rest } = position;
  return {
    ...rest,
    ...numberOf(context),
    lots,
    swap_minor: sums.swapLeft,
    updated_at: later(position.updated_at, context.now),
    version: position.version + 1,
  };
}

function withRemainingName(kept: Position, { remaining_name }: Closing): Position {
  return remaining_name === undefined ? kept : { ...kept, source_position_id: remaining_name };
}

function reducedTrade(trade: Trade, kept: Position, sums: Sums, { remaining_name }: Closing, context: Context): Trade {
  return {
    ...trade,
    source_trade_id: remaining_name ?? trade.source_trade_id,
    lots: kept.lots,
    commission_minor: trade.commission_minor - sums.openCommission,
    swap_minor: kept.swap_minor,
    updated_at: later(trade.updated_at, context.now),
    version: trade.version + 1,
  };
}
