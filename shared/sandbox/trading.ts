import { type Context, notFound, refuseField } from "../domain/kernel/decision.ts";
import type { Order } from "../domain/records/order.ts";
import type { Quote } from "../domain/records/quote.ts";
import type { TradingSymbol } from "../domain/records/symbol.ts";
import type { Trade } from "../domain/records/trade.ts";
import {
  closeInSandbox,
  type Met,
  meetOrder,
  meetStops,
  openInSandbox,
  placeInSandbox,
} from "../domain/sandbox/trading.ts";
import type { Closed } from "../domain/trading/close-trade.ts";
import type { Executed } from "../domain/trading/open-trade.ts";
import type { Market } from "../domain/trading/pricing/quote.ts";
import type { CloseSandboxTradeBody, OpenSandboxTradeBody, PlaceSandboxOrderBody } from "../schema/sandbox.ts";
import { type Committable, type Load, type Ref, ref } from "../table/store.ts";
import { type AccountState, decideTrading, prepared, type TradingRequest } from "../trading/commit.ts";
import { tradingRef } from "../trading/items.ts";
import { marksOf } from "./waiting.ts";

/** The trades that an execution in a symbol may change: with netting that of its position, with hedging none. */
function tradesOf({ account, positions }: Pick<AccountState, "account" | "positions">, symbol: string): string[] {
  if (account.position_mode === "hedging") return [];
  return positions.filter((position) => position.symbol === symbol).map(({ trade_id }) => trade_id);
}

/** Makes the decision to open a trade, ready to be committed. */
export async function decideOpening(
  load: Load,
  context: Context,
  body: OpenSandboxTradeBody,
): Promise<Committable<Executed>> {
  const decision = await decideTrading(load, context, {
    account_id: body.account_id,
    refs: {},
    needs: (state) => ({ symbols: [body.symbol], trades: tradesOf(state, body.symbol) }),
    decide: (state, market, _found, now) => openInSandbox(state, market, body, now),
  });
  const unknown = !decision.ok && decision.refusal.code === "account_not_found";
  if (!decision.ok) return unknown ? noAccount : decision;
  return { ...decision, changes: [...decision.changes, ...marksOf({ position: decision.result.position }, context)] };
}

const noAccount = refuseField("account_not_found", "account_id", "The account does not exist.");

/** Makes the decision to close a trade or some of its lots, ready to be committed. */
export async function decideClosing(
  load: Load,
  context: Context,
  id: string,
  body: CloseSandboxTradeBody,
): Promise<Committable<Closed>> {
  const { trade } = await load({ trade: tradingRef.trade(id) });
  if (trade === undefined) return notFound();
  return decideTrading(load, context, {
    account_id: trade.account_id,
    refs: {},
    needs: () => ({ trades: [id] }),
    decide: (state, market, _found, now) => closeInSandbox(state, state.trades.get(id), market, body, now),
  });
}

/** Makes the decision to place a pending order, ready to be committed. */
export async function decideOrder(
  load: Load,
  context: Context,
  body: PlaceSandboxOrderBody,
): Promise<Committable<Order>> {
  const id = body.account_id;
  const { account, balance, symbol, quote } = await load({
    account: ref.account(id),
    balance: ref.balance(id),
    symbol: tradingRef.symbol(body.symbol),
    quote: tradingRef.quote(body.symbol),
  });
  if (account === undefined || balance === undefined) return noAccount;
  const { client } = await load({ client: ref.client(account.client_id) });
  if (client === undefined) return noAccount;
  const market = marketOf(body.symbol, symbol, quote);
  const decision = prepared(placeInSandbox({ account, balance, client }, market, body, context), context);
  if (!decision.ok) return decision;
  return { ...decision, changes: [...decision.changes, ...marksOf({ order: decision.result }, context)] };
}

function marketOf(name: string, symbol: TradingSymbol | undefined, quote: Quote | undefined): Market {
  return {
    symbols: new Map(symbol === undefined ? [] : [[name, symbol]]),
    quotes: new Map(quote === undefined ? [] : [[name, quote]]),
  };
}

/** Effect of the newest price on a pending order. */
export function orderMet(
  accountId: string,
  orderId: string,
): TradingRequest<Met<Order>, { readonly order: Ref<Order> }> {
  return {
    account_id: accountId,
    refs: { order: tradingRef.order(orderId) },
    needs: (state, { order }) =>
      order === undefined ? {} : { symbols: [order.symbol], trades: tradesOf(state, order.symbol) },
    decide: (state, market, { order }, context) => meetOrder(state, order, market, context),
  };
}

/** Effect of the newest price on a position with a stop loss or a take profit. */
export function stopsMet(accountId: string, tradeId: string): TradingRequest<Met<Trade>, Record<never, never>> {
  return {
    account_id: accountId,
    refs: {},
    needs: () => ({ trades: [tradeId] }),
    decide: (state, market, _found, context) => {
      const position = state.positions.find(({ trade_id }) => trade_id === tradeId);
      return meetStops(state, position, market, context);
    },
  };
}
