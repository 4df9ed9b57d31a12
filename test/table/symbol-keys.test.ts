import { describe, expect, it } from "vitest";
import { keyPart } from "../../shared/table/entities/keys.ts";
import {
  breaches,
  exposures,
  nameInKey,
  newlyWaiting,
  orders,
  positions,
  priceWalks,
  quotes,
  rollovers,
  symbols,
} from "../../shared/table/entities.ts";
import { brokerNames } from "../support/builders/symbol-names.ts";

const tenant = "brk_01JD0000000000000000000000";

/** Every key that a name of a symbol stands in. */
function keysOf(symbol: string): string[] {
  const date = "2026-11-20";
  const waiting = {
    tenant_id: tenant,
    symbol,
    kind: "order",
    account_id: "acc_1",
    since: date,
    expires_at: 0,
  } as const;
  const walk = { tenant_id: tenant, symbol, wake_at: date } as Parameters<typeof priceWalks.keyOf>[0];
  const breach = { tenant_id: tenant, symbol, wake_at: date, checks: 0 };
  return [
    symbols.key(tenant, symbol).sk,
    quotes.key(tenant, symbol).pk,
    positions.ofSymbol(tenant, symbol),
    positions.withStops(tenant, symbol),
    orders.waiting(tenant, symbol, "buy", "dn"),
    rollovers.key(tenant, symbol, date, "USD").pk,
    exposures.partition(tenant, symbol, "up", 0),
    breaches.key(tenant, symbol).pk,
    breaches.indexesOf(breach).due_sk ?? "",
    newlyWaiting.keyOf({ ...waiting, id: "ord_1" }).pk,
    priceWalks.keyOf(walk).sk,
    priceWalks.indexesOf(walk).due_sk ?? "",
  ];
}

describe("a name of a symbol in a key", () => {
  it.each(brokerNames)("of %j adds no separator, and is read back from it", (name) => {
    const separators = (text: string) => text.replaceAll(/[^#|*?]/g, "");
    expect(keysOf(name).map(separators)).toEqual(keysOf("EURUSD").map(separators));
    expect(nameInKey(keyPart(name))).toBe(name);
  });

  it("makes another key for each name", () => {
    const all = brokerNames.map((name) => keysOf(name).join(" "));
    expect(new Set(all).size).toBe(brokerNames.length);
  });
});
