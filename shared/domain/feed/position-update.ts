import type { FeedData } from "../../schema/feed.ts";
import { type Context, later, refuseField } from "../kernel/decision.ts";
import type { Trade } from "../records/trade.ts";
import type { TradingDecision } from "../records/trading-change.ts";
import { accrueSwap, withNewPositions } from "../trading/accrue-swap.ts";
import { positionChanges } from "../trading/changes.ts";
import { type OpenTrade, refuseTrading } from "../trading/close-trade.ts";
import type { TradingState } from "../trading/open-trade.ts";
import type { Market } from "../trading/pricing/quote.ts";
import { reportedStop } from "../trading/pricing/symbol.ts";
import { type DealLinks, openSide, refuseMoney, refusePosition, signedMinor } from "./deals.ts";
import type { Origin } from "./mirror-order.ts";

type Update = FeedData["position_update"];
type Stops = Pick<Trade, "stop_loss" | "take_profit">;

/**
 * Decides what a platform changed of an open position: its stops, and the swap so far, which replaces what was accrued.
 * A source reports the swap of a position in one way only, so that no night counts twice.
 */
export function updatePosition(
  state: TradingState,
  market: Market,
  data: Update,
  links: DealLinks,
  { source }: Origin,
  context: Context,
): TradingDecision<Trade | undefined> {
  const open = openSide(state, links.trade);
  if (open === undefined) return refusePosition(links.trade);
  const { swap } = data;
  if (swap !== undefined && source.swap_reporting !== "accrued") {
    return refuseField("validation_failed", "swap", "The source reports swap by items of each night.", "not_allowed");
  }
  const minor = swap === undefined ? open.position.swap_minor : signedMinor(swap, state.account.currency);
  if (minor === undefined) return refuseMoney("swap", state.account);
  const stops = stopsOf(market, open, data);
  if (!stops.ok) return stops;
  const changed = withStops(open, stops.stops, context);
  const decision = accrueSwap(state, changed ?? open, minor - open.position.swap_minor, context);
  if (!decision.ok) return decision;
  if (changed === undefined) return { ...decision, result: decision.result.trade };
  const { position, trade } = decision.result;
  // A commit makes one version of an item, whatever it changes of it.
  const after = {
    position: { ...position, version: open.position.version + 1 },
    trade: { ...trade, version: open.trade.version + 1 },
  };
  return {
    ok: true,
    result: after.trade,
    changes: [
      ...positionChanges([open.position], [after.position]),
      { op: "update", entity: "trade", before: open.trade, after: after.trade },
      withNewPositions(state.balance),
    ],
    events: [],
  };
}

/** The stops after an update in the digits of the symbol, or the refusal of one that is no price. */
function stopsOf(market: Market, { position }: OpenTrade, data: Update) {
  const symbol = market.symbols.get(position.symbol);
  if (symbol === undefined) return refuseTrading("symbol_not_found", `There is no symbol ${position.symbol}.`);
  const stops = { stop_loss: position.stop_loss, take_profit: position.take_profit };
  for (const name of ["stop_loss", "take_profit"] as const) {
    const given = data[name];
    if (given === undefined) continue;
    const price = reportedStop(symbol, given);
    if (price === undefined) return refuseTrading("invalid_price", `is no price of ${symbol.symbol}`, name);
    stops[name] = price;
  }
  return { ok: true, stops } as const;
}

/** The position and its trade with other stops; undefined where they are the same. */
function withStops({ position, trade }: OpenTrade, stops: Stops, { now }: Context): OpenTrade | undefined {
  if (position.stop_loss === stops.stop_loss && position.take_profit === stops.take_profit) return undefined;
  const changed = <T extends Stops & { updated_at: string }>(item: T): T => ({
    ...item,
    ...stops,
    updated_at: later(item.updated_at, now),
  });
  return { position: changed(position), trade: changed(trade) };
}
