import { seedQuotes, seedSymbols } from "../domain/sandbox/seed.ts";
import { quotes, symbols } from "../table/entities.ts";
import { putMember, putNew, type TransactItem } from "../table/write.ts";

/** The market of a new tenant of the sandbox, symbols with their prices, as items of the transaction that makes it. */
export function seedMarket(tenant: string, now: string): TransactItem[] {
  return [
    ...seedSymbols(tenant, now).map((symbol) => putNew(symbols, symbol)),
    ...seedQuotes(now).map((quote) => putMember(quotes, { ...quote, tenant_id: tenant, seeded: true })),
  ];
}
