import { seedQuotes, seedSymbols } from "../../../shared/domain/sandbox/seed.ts";
import { quotes as quoteEntity, symbols as symbolEntity } from "../../../shared/table/entities.ts";
import { brokerage } from "../../support/builders/brokerage.ts";
import { putItem } from "../../support/builders/trading-data.ts";
import { startJudgedApi } from "../../support/emulator/judged-api.ts";
import { newCaller } from "../../support/emulator/request.ts";

export const api = await startJudgedApi();

export const caller = newCaller();

export const broker = brokerage(api, caller);

export const { tenant_id } = caller;

const begun = new Date(Date.now() - 3_600_000).toISOString();

for (const symbol of seedSymbols(tenant_id, begun)) {
  // Shares keep the hours of their exchange; here their market is open whenever the tests run.
  const sessions = symbol.asset_class === "equity" ? [] : symbol.sessions;
  await putItem(api, symbolEntity, { ...symbol, sessions });
}

for (const quote of seedQuotes(begun)) await putItem(api, quoteEntity, { ...quote, tenant_id });

export const post = (address: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call(caller, "POST", address, { body, headers });

export const setPrices = (...prices: object[]) => post("/sandbox/prices", { prices });

export const quote = (symbol: string) => broker.get(`/quotes/${symbol}`);

export const open = (account: { id: string }, more: object = {}) =>
  post("/sandbox/trades", { account_id: account.id, symbol: "EURUSD", side: "buy", lots: "1.00", ...more });

export const place = (account: { id: string }, more: object = {}) =>
  post("/sandbox/orders", {
    account_id: account.id,
    symbol: "EURUSD",
    side: "buy",
    type: "limit",
    lots: "0.10",
    ...more,
  });

/** Sets EURUSD to a bid, with the ask a pip above. */
export const euroAt = (bid: string) => setPrices({ symbol: "EURUSD", bid, ask: (Number(bid) + 0.0001).toFixed(5) });

export const trader = (amount = "10000.00", more: object = {}) =>
  broker.account(amount, { type: "demo", leverage: 100, ...more });
