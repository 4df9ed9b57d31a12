import type { Account, Balance } from "../account.ts";
import { type BalanceAdjustment, type Context, later } from "../decision.ts";
import { positionChanges, type TradingDecision } from "./changes.ts";
import { type OpenTrade, refuseTrading } from "./close-trade.ts";
import type { Market } from "./pricing/quote.ts";
import { swapMinor } from "./swap.ts";

/** The swap that a rollover of so many nights adds to a position: nothing on an account without swap. */
export function rolloverSwap(account: Account, { position }: OpenTrade, market: Market, nights: number) {
  const symbol = market.symbols.get(position.symbol);
  if (symbol === undefined || account.swap_free) return 0n;
  return swapMinor(market, symbol, position, nights);
}

/**
 * Adds swap to an open position and its trade, ours or the platform's. It moves equity at once and money only at the
 * close; the number of the account's positions rises, so that nothing is decided on the position as it was.
 */
export function accrueSwap(
  { balance }: { readonly balance: Balance },
  { position, trade }: OpenTrade,
  amountMinor: bigint | undefined,
  context: Context,
): TradingDecision<OpenTrade> {
  if (amountMinor === undefined) {
    return refuseTrading("no_conversion_path", `The swap of ${position.symbol} cannot be converted now.`);
  }
  if (amountMinor === 0n) return { ok: true, result: { position, trade }, changes: [], events: [] };
  const accrued = <T extends { swap_minor: bigint; updated_at: string; version: number }>(item: T): T => ({
    ...item,
    swap_minor: item.swap_minor + amountMinor,
    updated_at: later(item.updated_at, context.now),
    version: item.version + 1,
  });
  const after = { position: accrued(position), trade: accrued(trade) };
  return {
    ok: true,
    result: after,
    changes: [
      ...positionChanges([position], [after.position]),
      { op: "update", entity: "trade", before: trade, after: after.trade },
      withNewPositions(balance),
    ],
    events: [],
  };
}

/** The balance with another number of its positions, where no money moves: its time stays. */
export function withNewPositions(before: Balance): BalanceAdjustment {
  const after = { ...before, pos_version: before.pos_version + 1 };
  return {
    op: "adjust",
    entity: "balance",
    id: before.account_id,
    before,
    after,
    add: { pos_version: 1 },
    require: [],
  };
}
