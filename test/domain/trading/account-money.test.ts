import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import { isRearmed, marginStatus, metricsOf, valuePositions } from "../../../shared/domain/trading/margin.ts";
import { decimalText, quotient, rational } from "../../../shared/domain/trading/pricing/rational.ts";
import { averagePrice, grossProfit, shareOf } from "../../../shared/domain/trading/profit.ts";
import { decisionTime, someAccount } from "../../support/builders/decisions.ts";
import {
  examplePrices,
  marketAt,
  someMarket,
  somePosition,
  someSymbol,
  tradingAccount,
  usd,
} from "../../support/builders/trading.ts";
import { market } from "./arithmetic-cases.ts";

describe("V19: the states of an account", () => {
  const levels = { margin_call_level: "100.00", stop_out_level: "50.00", margin_rearm_level: "105.00" };
  const used = usd("1000.00");

  it.each([
    ["999.99", "margin_call", false],
    ["1000.00", "margin_call", false],
    ["1000.01", "normal", false],
    ["1050.00", "normal", false],
    ["1050.01", "normal", true],
    ["500.01", "margin_call", false],
    ["500.00", "stop_out", false],
    ["-104.00", "stop_out", false],
  ] as const)("with equity %s of 1000.00 is %s, armed again: %s", (equity, status, rearmed) => {
    expect(marginStatus(levels, usd(equity), used, 1)).toBe(status);
    expect(isRearmed(levels, usd(equity), used, 1)).toBe(rearmed);
  });

  it("is decided by exact comparison, never by the percentage that is shown", () => {
    const huge = 10n ** 18n;
    expect(marginStatus(levels, huge + 1n, huge, 1)).toBe("normal");
    expect(marginStatus(levels, huge, huge, 1)).toBe("margin_call");
    expect(marginStatus({ ...levels, stop_out_level: "33.33" }, 3333n, 10_000n, 1)).toBe("stop_out");
    expect(marginStatus({ ...levels, stop_out_level: "33.33" }, 3334n, 10_000n, 1)).toBe("margin_call");
  });

  it.each([
    ["500.00", "0.01", "margin_call"],
    ["500.00", "0.00", "stop_out"],
    ["100.00", "5000.00", "margin_call"],
    ["1000.00", "5000.00", "margin_call"],
    ["1000.01", "0.00", "normal"],
  ] as const)("counts money that is put aside against a stop-out alone: %s and %s is %s", (equity, aside, status) => {
    expect(marginStatus(levels, usd(equity), used, 1, usd(aside))).toBe(status);
    const [account, balance] = [tradingAccount(equity, levels), usd(aside)];
    const with_aside = { ...account.balance, aside_minor: balance };
    const [plain, metrics] = [account.balance, with_aside].map((each) =>
      metricsOf(account.account, each, [], decisionTime),
    );
    expect({ ...metrics, aside_minor: 0n }).toEqual(plain);
  });

  it("without used margin is normal, unless covered positions have nothing behind them", () => {
    expect(marginStatus(levels, -1n, 0n, 0)).toBe("normal");
    expect(marginStatus(levels, 1n, 0n, 2)).toBe("normal");
    expect(marginStatus(levels, 0n, 0n, 2)).toBe("stop_out");
    expect(marginStatus(levels, 0n, 0n, 2, 1n)).toBe("normal");
    expect(isRearmed(levels, 0n, 0n, 0)).toBe(true);
    expect(isRearmed(levels, 0n, 0n, 2)).toBe(false);
    expect(isRearmed(levels, 1n, 0n, 2)).toBe(true);
  });
});

describe("the money of an account", () => {
  it.each([
    ["-60.00", "0.00", "499.96"],
    ["-60.00", "300.00", "199.96"],
    ["250.00", "0.00", "809.96"],
    ["900.00", "0.00", "1000.00"],
  ])("V16: with %s floating and %s held lets %s be withdrawn", (floating, held, expected) => {
    const { account, balance } = tradingAccount("1000.00", {}, { credit_minor: usd("100.00"), held_minor: usd(held) });
    const fields = { symbol: "EURUSD", side: "buy", lots: "0.40", open_price: "1.10010" } as const;
    const position = somePosition(account, market, fields);
    const [valuation] = valuePositions(market, [position], decisionTime);
    if (valuation === undefined) throw new Error("No position was valued.");
    const metrics = metricsOf(account, balance, [{ ...valuation, floating_minor: usd(floating) }], decisionTime);
    expect(metrics.used_margin_minor).toBe(usd("440.04"));
    expect(metrics.withdrawable_minor).toBe(usd(expected));
  });

  it("V22: counts credit as backing of margin and never as withdrawable", () => {
    const { account, balance } = tradingAccount("100.00", {}, { credit_minor: usd("100.00") });
    const fields = { symbol: "EURUSD", side: "buy", lots: "0.10", open_price: "1.10000" } as const;
    const position = somePosition(account, market, {
      ...fields,
      margin_terms: [{ max_leverage: null, per_lot: "150000" }],
    });
    expect(metricsOf(account, balance, valuePositions(market, [position], decisionTime), decisionTime)).toMatchObject({
      equity_minor: usd("200.00"),
      free_margin_minor: usd("50.00"),
      margin_level: "133.33",
      withdrawable_minor: 0n,
    });
  });

  it("V13: follows the prices, and used margin does not", () => {
    const { account, balance } = tradingAccount("2000.00");
    const positions = [
      somePosition(account, market, { symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.10010" }),
      somePosition(account, market, { symbol: "USDJPY", side: "sell", lots: "0.50", open_price: "149.990" }),
    ];
    const at = (bid: string, ask: string) => {
      const values = valuePositions(marketAt({ EURUSD: { bid }, USDJPY: { ask } }), positions, decisionTime);
      return [
        values.map(({ floating_minor }) => floating_minor),
        metricsOf(account, balance, values, decisionTime),
      ] as const;
    };
    const [callValues, call] = at("1.09700", "150.290");
    expect(callValues).toEqual([usd("-310.00"), usd("-99.81")]);
    expect(call).toMatchObject({
      equity_minor: usd("1590.19"),
      used_margin_minor: usd("1600.10"),
      free_margin_minor: usd("-9.91"),
      margin_level: "99.38",
      margin_status: "margin_call",
    });
    const [stopValues, stop] = at("1.08850", "150.590");
    expect(stopValues).toEqual([usd("-1160.00"), usd("-199.22")]);
    expect(stop).toMatchObject({ equity_minor: usd("640.78"), margin_level: "40.04", margin_status: "stop_out" });
  });

  it("I10: never moves its used margin with a tick, whatever the prices do", () => {
    const step = fc.constantFrom(...Object.keys(examplePrices));
    const lots = fc.integer({ min: 1, max: 500 }).map((n) => decimalText(quotient(BigInt(n), 100n), 2));
    const trade = fc.record({ symbol: step, side: fc.constantFrom("buy" as const, "sell" as const), lots });
    const mode = fc.constantFrom<Account["margin_calculation"]>("max", "sum", "net");
    const factor = fc.integer({ min: 50, max: 200 });
    fc.assert(
      fc.property(fc.array(trade, { minLength: 1, maxLength: 8 }), mode, factor, (trades, calculation, percent) => {
        const { account, balance } = someAccount({ leverage: 100, margin_calculation: calculation });
        const positions = trades.map((one) =>
          somePosition(account, market, { ...one, open_price: examplePrices[one.symbol]?.[1] ?? "1" }),
        );
        const moved = Object.entries(examplePrices).map(([name, [bid]]) => {
          const price = decimalText(rational(bid).mul(BigInt(percent)).div(100n), name.endsWith("JPY") ? 3 : 5);
          return [name, [price, price] as const] as const;
        });
        const before = metricsOf(account, balance, valuePositions(market, positions, decisionTime), decisionTime);
        const later = valuePositions(someMarket(Object.fromEntries(moved)), positions, decisionTime);
        expect(metricsOf(account, balance, later, decisionTime).used_margin_minor).toBe(before.used_margin_minor);
      }),
    );
  });
});

describe("a netting position", () => {
  it("V23: has the volume-weighted price, from which profits are computed", () => {
    const symbol = someSymbol("EURUSD");
    const parts = [
      { lots: "1.00", open_price: "1.10010" },
      { lots: "1.00", open_price: "1.10210" },
    ];
    expect(averagePrice(symbol, parts)).toBe("1.10110");
    const deal = { side: "buy", lots: "1.50", open_price: "1.10110", currency: "USD" } as const;
    expect(grossProfit(market, symbol, deal, "1.10300")?.gross_minor).toBe(usd("285.00"));
  });

  it("has a price of at most twelve decimals where the mean has no end", () => {
    const parts = [
      { lots: "0.01", open_price: "1.10000" },
      { lots: "0.02", open_price: "1.10001" },
    ];
    expect(averagePrice(someSymbol("EURUSD"), parts)).toBe("1.100006666667");
  });
});

describe("I9: shares of a total", () => {
  it("V25: lose no cent", () => {
    const first = shareOf(usd("-10.00"), "0.33", "1.00");
    const second = shareOf(usd("-10.00") - first, "0.33", "0.67");
    const third = shareOf(usd("-10.00") - first - second, "0.34", "0.34");
    expect([first, second, third]).toEqual([usd("-3.30"), usd("-3.30"), usd("-3.40")]);
  });

  it("add up to the total however the lots are cut", () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), cuts, (total, sizes) => {
        const lots = (units: number) => decimalText(quotient(BigInt(units), 100n), 2);
        let open = sizes.reduce((sum, size) => sum + size, 0);
        let rest = total;
        for (const size of sizes) {
          rest -= shareOf(rest, lots(size), lots(open));
          open -= size;
        }
        expect(rest).toBe(0n);
      }),
    );
  });
});
