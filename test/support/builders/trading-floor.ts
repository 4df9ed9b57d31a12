import type { Closed } from "../../../shared/domain/trading/close-trade.ts";
import type { OpeningRequest } from "../../../shared/domain/trading/market-trade.ts";
import type { Evaluated } from "../../../shared/domain/trading/watch.ts";
import type { CloseReasonName } from "../../../shared/schema/trade.ts";

const { systemContext } = await import("../../../shared/table/context.ts");
const { commitTrading, evaluateAccount } = await import("../../../shared/trading/commit.ts");
const { closeAtMarket, openAtMarket } = await import("../../../shared/domain/trading/market-trade.ts");

/**
 * Acts of a tenant on the market through the one way that trading decisions are committed, without an endpoint. Loaded
 * after the environment is set.
 */
export function tradingFloor(tenant: string, remainingMs: () => number = () => 30_000) {
  const attempted = { tenant_id: tenant, newContext: () => systemContext(tenant, "test"), remainingMs };
  return {
    open: (accountId: string, request: OpeningRequest) =>
      commitTrading(attempted, {
        account_id: accountId,
        refs: {},
        needs: ({ positions }) => ({
          symbols: [request.symbol],
          trades: positions.filter(({ symbol }) => symbol === request.symbol).map(({ trade_id }) => trade_id),
        }),
        decide: (state, market, _found, context) => openAtMarket(state, market, request, context),
      }),
    /** Closes the `nth` position of an account, or a part of it; undefined when it has none. */
    close: (accountId: string, nth: number, lots?: string, reason: CloseReasonName = "client") =>
      commitTrading<Closed | undefined, Record<never, never>>(attempted, {
        account_id: accountId,
        refs: {},
        needs: ({ positions }) => ({ trades: positions.map(({ trade_id }) => trade_id) }),
        decide: (state, market, _found, context) => {
          const position = state.positions[nth % Math.max(1, state.positions.length)];
          const trade = position && state.trades.get(position.trade_id);
          if (position === undefined || trade === undefined) {
            return { ok: true, result: undefined, changes: [], events: [] };
          }
          const request = { reason, ...(lots === undefined ? {} : { lots }) };
          return closeAtMarket(state, { position, trade }, market, request, context);
        },
      }),
    /** Evaluates an account until nothing is left to do now. */
    evaluate: async (accountId: string): Promise<Evaluated> => {
      const outcome = await evaluateAccount(attempted, accountId);
      if (outcome.kind !== "done") throw new Error(`The evaluation was ${JSON.stringify(outcome)}.`);
      return outcome.result;
    },
  };
}
