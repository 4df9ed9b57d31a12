import { seedQuotes, seedSymbols } from "../domain/sandbox/seed.ts";
import { env } from "../runtime/env.ts";
import { quotes, symbols } from "../table/entities.ts";
import { itemOf, putNew, type TransactItem } from "../table/write.ts";

/** The market of a new tenant of the sandbox, symbols with their prices, as items of the transaction that makes it. */
export function seedMarket(tenant: string, now: string): TransactItem[] {
  const prices = seedQuotes(now).map((quote) => itemOf(quotes, { ...quote, tenant_id: tenant }));
  return [
    ...seedSymbols(tenant, now).map((symbol) => putNew(symbols, symbol)),
    ...prices.map((Item) => ({ Put: { TableName: env.volatileTableName, Item } })),
  ];
}
