import { describe, expect, it } from "vitest";
import { exposureBody, OpenInterest, type SummedPosition } from "../../../shared/domain/trading/open-interest.ts";
import { someMarket, someSymbol } from "../../support/builders/trading.ts";
import { seeded } from "../../support/stack/chaos.ts";

const now = "2026-11-21T10:01:24.900Z";

const held = (side: "buy" | "sell", lots: string, open_price: string, more: Partial<SummedPosition> = {}) => ({
  ...({ account_type: "live", symbol: "EURUSD", side, lots, open_price } as const),
  ...more,
});

function exposureOf(positions: readonly SummedPosition[], market = someMarket()) {
  const sums = new OpenInterest();
  for (const position of positions) sums.add(position);
  const stored = { tenant_id: "brk", account_type: "live", as_of: "2026-11-21T10:01:00.000Z" } as const;
  return exposureBody({ ...stored, rows: sums.rowsOf("live") }, market, now);
}

describe("the exposure of open positions", () => {
  it("is their lots by symbol and side, with the mean price and the profit at the price that closes the side", () => {
    const body = exposureOf([
      held("buy", "1.00", "1.09900"),
      held("buy", "0.50", "1.10200"),
      held("sell", "2.00", "1.10500"),
      held("sell", "0.10", "190.000", { symbol: "GBPJPY" }),
      held("buy", "7.00", "1.00000", { account_type: "demo" }),
    ]);
    expect(body).toMatchObject({ object: "exposure", account_type: "live", age_seconds: 24 });
    const shared = { symbol: "EURUSD", currency: "USD" };
    expect(body.data).toEqual([
      // (1.10000 - 1.09900) x 100,000 + (1.10000 - 1.10200) x 50,000
      {
        ...shared,
        side: "buy",
        lots: "1.50",
        positions: 2,
        average_price: "1.10000",
        price: "1.10000",
        floating_pnl: "0.00",
      },
      // (1.10500 - 1.10010) x 200,000
      {
        ...shared,
        side: "sell",
        lots: "2.00",
        positions: 1,
        average_price: "1.10500",
        price: "1.10010",
        floating_pnl: "980.00",
      },
      {
        ...{ symbol: "GBPJPY", side: "sell", lots: "0.10", positions: 1, average_price: "190.000", price: "191.270" },
        ...{ floating_pnl: "-12700.00", currency: "JPY" },
      },
    ]);
    expect(body.net).toEqual([
      { symbol: "EURUSD", lots: "-0.50" },
      { symbol: "GBPJPY", lots: "-0.10" },
    ]);
  });

  it("has no profit while the symbol has no price", () => {
    const market = someMarket({ EURUSD: undefined }, [someSymbol("EURUSD")]);
    expect(exposureOf([held("buy", "1.00", "1.09900")], market).data).toMatchObject([
      { lots: "1.00", price: null, floating_pnl: null },
    ]);
  });

  it("leaves out a symbol that a reset of the sandbox removed with its positions", () => {
    const body = exposureOf([held("buy", "1.00", "1.1", { symbol: "GONE" }), held("buy", "1.00", "1.1")]);
    expect([body.data.map(({ symbol }) => symbol), body.net]).toEqual([
      ["EURUSD"],
      [{ symbol: "EURUSD", lots: "1.00" }],
    ]);
  });

  it("is exact for every order of 2,000 positions with prices of twelve decimals", () => {
    const random = seeded(5);
    const digits = (count: number) => String(Math.floor(random() * 10 ** count)).padStart(count, "0");
    const all = Array.from({ length: 2000 }, () =>
      held(
        random() < 0.5 ? "buy" : "sell",
        `${1 + Math.floor(random() * 9)}.${digits(2)}`,
        `1.${digits(6)}${digits(6)}`,
      ),
    );
    const body = exposureOf(all);
    expect(exposureOf(all.toReversed())).toEqual(body);
    for (const { side, lots, positions, floating_pnl, price } of body.data) {
      const own = all.filter((each) => each.side === side);
      const units = (text: string, scale: number) => BigInt(Math.round(Number(text) * 10 ** scale));
      const exact = (text: string) => BigInt(text.replace(".", ""));
      const cents = own.reduce((sum, each) => sum + units(each.lots, 2), 0n);
      expect([lots.replace(".", ""), positions]).toEqual([String(cents), own.length]);
      // In units of 10^-9: lots in hundredths, a contract of 100,000 and prices in 10^-12.
      const at = BigInt((price ?? "").replace(".", "")) * 10n ** 7n;
      const moved = own.reduce((sum, each) => sum + units(each.lots, 2) * (at - exact(each.open_price)), 0n);
      const signed = side === "buy" ? moved : -moved;
      const [whole = "", part = ""] = (floating_pnl ?? "").split(".");
      expect(BigInt(whole + part.padEnd(9, "0"))).toBe(signed);
    }
  });

  it.each([
    ["without lots", { lots: undefined }],
    ["of no account type", { account_type: undefined }],
    ["of no side", { side: "both" }],
  ])("is not made of an entry %s", (_, damage) => {
    const sums = new OpenInterest();
    expect(() => sums.add({ ...held("buy", "1.00", "1.1"), ...damage } as unknown as SummedPosition)).toThrow();
  });
});
