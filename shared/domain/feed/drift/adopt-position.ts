import type { Context } from "../../kernel/decision.ts";
import type { Client } from "../../records/client.ts";
import type { Drift } from "../../records/drift.ts";
import type { FeedSource } from "../../records/feed-source.ts";
import type { Position } from "../../records/position.ts";
import type { Trade } from "../../records/trade.ts";
import type { TradingDecision } from "../../records/trading-change.ts";
import { type Book, closeBook, openBook } from "../../trading/book.ts";
import { closeStep, refuseTrading } from "../../trading/close-trade.ts";
import { settleBook } from "../../trading/correction.ts";
import { type Execution, openStep, type TradingState } from "../../trading/open-trade.ts";
import { refuseExposure } from "../../trading/pricing/bounds.ts";
import type { Market } from "../../trading/pricing/quote.ts";
import { liquidatorOf } from "../../trading/pricing/source.ts";
import { claimPosition } from "../deals.ts";
import { positionKey } from "./compare.ts";

/** The money of a position is that of the balance, which has a drift of its own. */
export const withoutMoney = { gross_minor: 0n, commission_minor: 0n, swap_minor: 0n } as const;

/** The open positions of an account that a drift about a position is about. */
export function positionsNamed(
  { account, positions }: Pick<TradingState, "account" | "positions">,
  { position_id, symbol }: Pick<Drift, "position_id" | "symbol">,
): readonly Position[] {
  const name = account.position_mode === "netting" ? symbol : position_id;
  return positions.filter((position) => positionKey(account.position_mode, position) === name);
}

/** State and market of an account, and the trade that has the platform's name for the position of a drift. */
export interface Books {
  readonly state: TradingState & { readonly client: Client };
  readonly market: Market;
  /** Trade that has the name; undefined where none has. */
  readonly owner_id: string | undefined;
}

/** Why a position cannot be adopted, whatever its account is; undefined when it can. */
export function refusePosition({ kind, open_price }: Drift) {
  if (kind === "position_missing_there" || open_price !== null) return undefined;
  return refuseTrading("illegal_transition", "The platform has several positions of the symbol: no price is known.");
}

/**
 * Makes a position what it is on the platform: ours is closed at its own price and without money, and the platform's is
 * opened under its name, at its price. Both have the number of the snapshot.
 */
export function adoptPosition(
  { state, market, owner_id }: Books,
  drift: Drift,
  source: FeedSource,
  given: Context,
): TradingDecision<Trade> {
  const context: Context = { ...given, cause: { source_id: source.id, feed_seq: drift.as_of_seq } };
  const ours = positionsNamed(state, drift);
  const closed = withoutOurs(openBook(state), { state, market }, ours, context);
  if (!closed.ok) return closed;
  const opened = withTheirs(closed.book, market, drift, { source, opened_at: ours[0]?.opened_at }, context);
  if (!opened.ok) return opened;
  const exposure = refuseExposure(market, state, opened.book.positions, context.now);
  if (exposure !== undefined) return exposure;
  const trade = opened.trade ?? closed.trade;
  if (trade === undefined) return refuseTrading("drift_changed", "The position is not open any more.");
  const settled = settleBook(opened.book, liquidatorOf(market, [...state.positions, { source: source.name }]), context);
  const decision = closeBook(state, settled, context, { result: trade });
  if (!decision.ok || opened.trade === undefined) return decision;
  const known = owner_id === undefined ? undefined : { id: owner_id };
  const claim = claimPosition(source, drift.position_id ?? "", opened.trade, known);
  return { ...decision, changes: [...decision.changes, claim] };
}

function withoutOurs(
  before: Book,
  { state, market }: Pick<Books, "state" | "market">,
  held: readonly Position[],
  context: Context,
) {
  let [book, last]: [Book, Trade | undefined] = [before, undefined];
  for (const position of held) {
    const trade = state.trades.get(position.trade_id);
    if (trade === undefined) throw new Error(`The trade ${position.trade_id} of an open position was not read.`);
    const closing = { price: position.open_price, reason: "platform", platform: withoutMoney } as const;
    const step = closeStep(book, { position, trade }, market, closing, context);
    if (!step.ok) return step;
    [book, last] = [step.book, step.trade];
  }
  return { ok: true, book, trade: last } as const;
}

function withTheirs(
  book: Book,
  market: Market,
  { kind, theirs, open_price, symbol, position_id, taken_at }: Drift,
  { source, opened_at = taken_at }: { readonly source: FeedSource; readonly opened_at: string | undefined },
  context: Context,
) {
  const held = /^(?<side>buy|sell) (?<lots>.*)$/.exec(theirs ?? "")?.groups;
  if (held === undefined || kind === "position_missing_there") return { ok: true, book, trade: undefined } as const;
  const execution: Execution = {
    ...{ symbol: symbol ?? "", side: held["side"] === "sell" ? "sell" : "buy", lots: held["lots"] ?? "" },
    price: open_price ?? "",
    source: source.name,
    source_trade_id: position_id,
    source_position_id: position_id ?? "",
    at: opened_at,
    platform: withoutMoney,
  };
  return openStep(book, market, execution, context);
}
