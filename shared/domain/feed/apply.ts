import type { Context } from "../kernel/decision.ts";
import type { Ledger } from "../records/ledger.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { refuseTrading } from "../trading/close-trade.ts";
import type { TradingState } from "../trading/open-trade.ts";
import type { Market } from "../trading/pricing/quote.ts";
import type { ReadItem } from "./batch.ts";
import { followedByPlatform } from "./command/settlement.ts";
import { accrueDeal, closeDeal, type DealLinks, openDeal } from "./deals.ts";
import type { Origin } from "./mirror-order.ts";
import { updatePosition } from "./position-update.ts";
import { reverseDeal, tradesOf } from "./reversal.ts";
import type { DealUndo } from "./undo.ts";

/** An item that moves the positions of an account. */
export type AccountItem = Extract<ReadItem, { type: "execution" | "deal_reversal" | "swap" | "position_update" }>;

/** State of the things that an item names. */
export interface ItemLinks {
  /** The trade that its position stands for. */
  readonly trade_id: string | undefined;
  readonly order_id: string | null;
  /** The trade that the name stands for which a close gives to what is left. */
  readonly remaining_id?: string | undefined;
  /** Record that takes back the deal that a reversal names; undefined where there is none. */
  readonly undo?: DealUndo | undefined;
  /** The trade that the name of a position now stands for which that deal closed. */
  readonly named?: string | undefined;
  /** The ledger since that deal, where a loss was corrected since then. */
  readonly since?: readonly Ledger[] | undefined;
}

/** Identifiers of what an item made or changed. */
export type Made = Readonly<Record<string, string>>;

/** Decides what an item does to its account. */
export function applyItem(
  state: TradingState,
  market: Market,
  item: AccountItem,
  links: ItemLinks,
  origin: Origin,
  context: Context,
): TradingDecision<Made> {
  const trade = links.trade_id === undefined ? undefined : state.trades.get(links.trade_id);
  const remaining = links.remaining_id === undefined ? undefined : state.trades.get(links.remaining_id);
  const known = { trade, order_id: links.order_id, remaining };
  const decision =
    item.type === "deal_reversal"
      ? reverseDeal(state, market, links, origin, context)
      : tradeDecision(state, market, item, known, origin, context);
  if (!decision.ok) return decision;
  const made: Made = decision.result === undefined ? {} : { trade_id: decision.result.id };
  return followedByPlatform({ ...decision, result: made }, state.account, origin.source, context);
}

function tradeDecision(
  state: TradingState,
  market: Market,
  item: Exclude<AccountItem, { type: "deal_reversal" }>,
  known: DealLinks,
  origin: Origin,
  context: Context,
): TradingDecision<Trade | undefined> {
  if (item.type === "swap") return accrueDeal(state, item.data, known, origin, context);
  if (item.type === "position_update") return updatePosition(state, market, item.data, known, origin, context);
  return item.data.action === "open"
    ? openDeal(state, market, item.data, known, origin, context)
    : closeDeal(state, market, item.data, known, origin, context);
}

/**
 * The trades that an item needs: those of the deal that it takes back, that of its position, and with netting that of
 * the position it may meet.
 */
export function tradesNeeded(
  state: Pick<TradingState, "account" | "positions">,
  item: AccountItem,
  tradeId: string | undefined,
  undo?: DealUndo,
) {
  if (undo !== undefined) return [...new Set([...tradesOf(undo), ...(tradeId === undefined ? [] : [tradeId])])];
  const nets = state.account.position_mode === "netting";
  const met =
    nets && item.type === "execution" && item.data.action === "open"
      ? state.positions.filter(({ symbol }) => symbol === item.data["symbol" as never])
      : [];
  return [...new Set([...met.map(({ trade_id }) => trade_id), ...(tradeId === undefined ? [] : [tradeId])])];
}

/** A decision that fails itself must not hold up the feed: its item is put aside like one that is refused. */
export function failed(): { readonly ok: false; readonly refusal: { code: "item_failed"; detail: string } } {
  return refuseTrading("item_failed", "The item was not applied: its processing failed.") as ReturnType<typeof failed>;
}
