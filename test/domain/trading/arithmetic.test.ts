import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/account.ts";
import { formatAmount } from "../../../shared/domain/money.ts";
import { commissionMinor } from "../../../shared/domain/trading/commission.ts";
import { conversion, conversionBody } from "../../../shared/domain/trading/convert.ts";
import { underLeverage } from "../../../shared/domain/trading/leverage-change.ts";
import {
  effectiveLeverage,
  isRearmed,
  marginRatio,
  marginStatus,
  metricsOf,
  positionMargin,
  symbolMargin,
  valuePositions,
} from "../../../shared/domain/trading/margin.ts";
import { averagePrice, grossProfit, shareOf } from "../../../shared/domain/trading/profit.ts";
import {
  decimalText,
  quotient,
  rational,
  ratioText,
  roundHalfAway,
  roundToward,
  shortDecimalText,
} from "../../../shared/domain/trading/rational.ts";
import { nightsOf, swapMinor } from "../../../shared/domain/trading/swap.ts";
import type { TradingSymbol } from "../../../shared/domain/trading/symbol.ts";
import type { CurrencyCode } from "../../../shared/schema/fields.ts";
import { decisionTime, someAccount } from "../../support/decisions.ts";
import {
  exampleCfds,
  examplePrices,
  marketAt,
  someMarket,
  somePosition,
  someSymbol,
  tradingAccount,
  usd,
} from "../../support/trading.ts";

interface Case {
  readonly name: string;
  readonly account_currency: CurrencyCode;
  readonly symbol: string;
  readonly calc_mode: TradingSymbol["calc_mode"];
  readonly contract_size: string;
  readonly side: "buy" | "sell";
  readonly lots: string;
  readonly leverage: number;
  readonly open_price: string;
  readonly close_price: string;
  readonly used_margin: string;
  readonly gross_pnl: string;
}

interface Vectors {
  readonly quotes: Readonly<Record<string, { readonly bid: string; readonly ask: string }>>;
  readonly cases: readonly Case[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../fixtures/margin-vectors.json", import.meta.url), "utf8"),
) as Vectors;

const [gold, index] = exampleCfds;
const market = someMarket();

/** What a case comes to, as the API would print it. */
function computed(one: Case, symbol: TradingSymbol) {
  const account = { currency: one.account_currency, leverage: one.leverage, margin_calculation: "sum" as const };
  const margin_ratio = marginRatio(market, account, symbol, one.open_price);
  const profit = grossProfit(market, symbol, { ...one, currency: one.account_currency }, one.close_price);
  if (margin_ratio === undefined || profit === undefined) throw new Error(`${one.name} has no way to convert.`);
  const margin = positionMargin(account, symbol, { ...one, margin_ratio });
  return {
    used_margin: formatAmount(margin, one.account_currency),
    gross_pnl: formatAmount(profit.gross_minor, one.account_currency),
  };
}

describe("the published vectors", () => {
  it("use the prices of the worked examples", () => {
    const prices = Object.entries(vectors.quotes).map(([name, { bid, ask }]) => [name, [bid, ask]]);
    expect(Object.fromEntries(prices)).toEqual(examplePrices);
    expect(vectors.cases.length).toBeGreaterThanOrEqual(8);
  });

  it.each(vectors.cases.map((one) => [one.name, one] as const))("%s come out to the last digit", (_, one) => {
    const { calc_mode, contract_size } = one;
    const { used_margin, gross_pnl } = one;
    expect(computed(one, someSymbol(one.symbol, { calc_mode, contract_size }))).toEqual({ used_margin, gross_pnl });
  });

  it.each([
    [
      "V8 metal",
      gold,
      { side: "buy", lots: "0.50", leverage: 100, open_price: "2400.50", close_price: "2391.00" },
      { used_margin: "6001.25", gross_pnl: "-475.00" },
    ],
    [
      "V9 index quoted in EUR",
      index,
      { side: "sell", lots: "3.00", leverage: 20, open_price: "18500.0", close_price: "18440.0" },
      { used_margin: "3052.64", gross_pnl: "198.01" },
    ],
  ] as const)("%s, margin in the quote currency, comes out to the last digit", (name, symbol, given, expected) => {
    if (symbol === undefined) throw new Error("The symbol is missing.");
    const one = { ...given, name, account_currency: "USD", symbol: symbol.symbol } as unknown as Case;
    expect(computed(one, symbol)).toEqual(expected);
  });
});

describe("rounding", () => {
  it.each([
    ["-0.005", 2, "-0.01"],
    ["0.005", 2, "0.01"],
    ["0.0049999", 2, "0.00"],
    ["-0.0049999", 2, "0.00"],
    ["2.5", 0, "3"],
    ["-2.5", 0, "-3"],
    ["1.2345", 3, "1.235"],
    ["-1.2345", 3, "-1.235"],
    ["1.2344999", 3, "1.234"],
  ] as const)("takes %s at %i digits half away from zero to %s", (exact, digits, shown) => {
    expect(decimalText(rational(exact), digits)).toBe(shown);
  });

  it("is never further than half a unit off, and the same for both signs", () => {
    const anyRatio = fc.tuple(
      fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
      fc.bigInt({ min: 1n, max: 10n ** 12n }),
    );
    fc.assert(
      fc.property(anyRatio, fc.integer({ min: 0, max: 8 }), ([n, d], digits) => {
        const value = quotient(n, d);
        const units = roundHalfAway(value, digits);
        const off = value
          .mul(10n ** BigInt(digits))
          .sub(units)
          .abs();
        expect(off.lte(quotient(1n, 2n))).toBe(true);
        expect(roundHalfAway(value.neg(), digits)).toBe(-units);
        expect(rational(ratioText(value)).equals(value)).toBe(true);
        const down = roundToward(value, digits, "down");
        const up = roundToward(value, digits, "up");
        expect(down <= units && units <= up && up - down <= 1n).toBe(true);
        expect(value.mul(10n ** BigInt(digits)).gte(down) && value.mul(10n ** BigInt(digits)).lte(up)).toBe(true);
      }),
    );
  });

  it.each([
    ["1.1011", 5, "1.10110"],
    ["1.275100", 0, "1.2751"],
    ["150", 0, "150"],
    ["1/3", 2, "0.333333333333"],
  ] as const)("shows %s with at least %i digits as %s", (exact, least, shown) => {
    expect(shortDecimalText(rational(exact), least, 12)).toBe(shown);
  });
});

describe("a conversion", () => {
  it("that is not needed has the rate 1 and no steps", () => {
    const path = conversion(market, "USD", "USD");
    expect(path && conversionBody(path)).toEqual({ from: "USD", to: "USD", via: [], rate: "1.000000000000" });
  });

  it.each([
    ["GBP", "USD", [{ symbol: "GBPUSD", op: "multiply", price: "1.27510" }], "1.275100000000"],
    ["JPY", "USD", [{ symbol: "USDJPY", op: "divide", price: "150.000" }], "0.006666666667"],
    ["EUR", "USD", [{ symbol: "EURUSD", op: "multiply", price: "1.10005" }], "1.100050000000"],
    [
      "NZD",
      "EUR",
      [
        { symbol: "NZDUSD", op: "multiply", price: "0.60500" },
        { symbol: "EURUSD", op: "divide", price: "1.10005" },
      ],
      "0.549975001136",
    ],
  ] as const)("from %s to %s takes the pair at mid, else two steps over USD", (from, to, via, rate) => {
    const path = conversion(market, from, to);
    expect(path && conversionBody(path)).toEqual({ from, to, via, rate });
  });

  it("uses the price of the traded symbol where that is the pair itself", () => {
    const symbol = someSymbol("USDJPY");
    const path = conversion(market, "JPY", "USD", { symbol, price: "149.490" });
    expect(path && conversionBody(path).via).toEqual([{ symbol: "USDJPY", op: "divide", price: "149.490" }]);
  });

  it("finds a pair under another name, and the one named after its currencies first", () => {
    const plain = someMarket({ EURUSD: undefined, "EURUSD.R": ["1.2", "1.2"] }, [
      someSymbol("EURUSD.R", { base_currency: "EUR", quote_currency: "USD" }),
    ]);
    expect(conversion(plain, "EUR", "USD")?.steps[0]?.symbol).toBe("EURUSD.R");
    const both = someMarket({ AEURUSD: ["1.2", "1.2"] }, [
      someSymbol("AEURUSD", { base_currency: "EUR", quote_currency: "USD" }),
    ]);
    expect(conversion(both, "EUR", "USD")?.steps[0]?.symbol).toBe("EURUSD");
  });

  it.each([
    ["no pair", "KRW", "USD"],
    ["no second step", "EUR", "KRW"],
    ["a pair that was never quoted", "CHF", "USD"],
  ])("does not exist with %s", (_, from, to) => {
    const unquoted = someMarket({ USDCHF: undefined }, [someSymbol("USDCHF")]);
    expect(conversion(unquoted, from, to)).toBeUndefined();
  });

  it("never goes over an instrument that is no currency pair", () => {
    expect(conversion(someMarket({ XAUUSD: ["2400.00", "2400.50"] }), "XAU", "USD")).toBeUndefined();
  });
});

describe("V20: an amount in another currency", () => {
  it.each([
    ["100.00", "USD", "EUR", "90.90"],
    ["100.00", "USD", "JPY", "15000"],
    ["33.33", "EUR", "USD", "36.66"],
    ["250.00", "GBP", "EUR", "289.82"],
  ] as const)("%s %s is %s %s", (amount, from, to, expected) => {
    const path = conversion(market, from, to);
    const digits = to === "JPY" ? 0 : 2;
    expect(path && decimalText(rational(amount).mul(path.rate), digits)).toBe(expected);
  });
});

describe("the margin of a symbol", () => {
  const { account } = tradingAccount("10000.00");
  const buy = somePosition(account, market, { symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.10010" });
  const sell = somePosition(account, market, { symbol: "EURUSD", side: "sell", lots: "0.60", open_price: "1.10200" });

  it.each([
    ["sum", "1761.30"],
    ["max", "1100.10"],
    ["net", "440.04"],
  ] as const)("V10: with %s is %s", (mode, expected) => {
    expect(symbolMargin(mode, [buy, sell])).toBe(usd(expected));
    expect(symbolMargin(mode, [sell, buy])).toBe(usd(expected));
  });

  it("is nothing without positions, and nothing net of two sides that cover each other", () => {
    for (const mode of ["sum", "max", "net"] as const) expect(symbolMargin(mode, [])).toBe(0n);
    expect(symbolMargin("net", [buy, { ...sell, lots: "1.00" }])).toBe(0n);
  });

  it("follows a change of leverage with the frozen rate, and its symbol has to be known", () => {
    const holdings = { ...tradingAccount("10000.00"), positions: [buy] };
    const halved = underLeverage(someMarket({ EURUSD: ["1.5", "1.5"] }), { ...holdings, account }, 50);
    expect(halved?.balance.used_margin_minor).toBe(usd("2200.20"));
    expect(halved?.positions).toMatchObject([{ margin_minor: usd("2200.20"), margin_ratio: buy.margin_ratio }]);
    expect(underLeverage({ symbols: new Map(), quotes: new Map() }, holdings, 50)).toBeUndefined();
  });

  it("takes the smaller of the account's leverage and the symbol's", () => {
    expect(effectiveLeverage({ leverage: 100 }, someSymbol("EURUSD"))).toBe(100);
    expect(effectiveLeverage({ leverage: 100 }, someSymbol("EURUSD", { max_leverage: 20 }))).toBe(20);
    expect(effectiveLeverage({ leverage: 10 }, someSymbol("EURUSD", { max_leverage: 20 }))).toBe(10);
  });
});

describe("V12: swap", () => {
  const yen = someSymbol("USDJPY", {
    swap: { type: "points", long: "-12.5", short: "3", triple_day: "wednesday", rollover_time: "22:00" },
  });
  const position = { side: "buy", lots: "2.00", open_price: "149.990", currency: "USD" } as const;

  it("in points is rounded once for the posting, a triple night too", () => {
    expect(swapMinor(market, yen, position, 1)).toBe(usd("-16.67"));
    expect(swapMinor(market, yen, position, 3)).toBe(usd("-50.00"));
    expect(swapMinor(market, yen, { ...position, side: "sell" }, 1)).toBe(usd("4.00"));
    expect(swapMinor(market, yen, position, 0)).toBe(0n);
  });

  it("V12b: in percent a year is paid by a long and got by a short", () => {
    if (index === undefined) throw new Error("The symbol is missing.");
    const swap = { ...index.swap, type: "percent_annual", long: "4.5", short: "4.5" } as const;
    const long = { side: "buy", lots: "3.00", open_price: "18500.0", currency: "USD" } as const;
    expect(swapMinor(market, { ...index, swap }, long, 1)).toBe(usd("-7.63"));
    expect(swapMinor(market, { ...index, swap }, { ...long, side: "sell" }, 1)).toBe(usd("7.63"));
  });

  it("cannot be told without a way to convert", () => {
    const none = someMarket({ USDJPY: undefined, EURJPY: undefined, GBPJPY: undefined });
    expect(swapMinor(none, yen, position, 1)).toBeUndefined();
  });

  it("counts three nights on the triple day and none on the weekend, or one every day", () => {
    const week = ["16", "17", "18", "19", "20", "21", "22"].map((day) => `2026-11-${day}`);
    expect(week.map((date) => nightsOf(yen, date))).toEqual([1, 1, 3, 1, 1, 0, 0]);
    const daily = someSymbol("BTCUSD", { swap: { ...yen.swap, triple_day: null } });
    expect(week.map((date) => nightsOf(daily, date))).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });
});

describe("V21: commission", () => {
  const euro = (commission: TradingSymbol["commission"]) => someSymbol("EURUSD", { commission });
  const metal = { ...gold, commission: { type: "percent", amount: "0.01", currency: "USD" } } as TradingSymbol;

  it.each([
    ["per million", euro({ type: "per_million", amount: "35", currency: "USD" }), "1.00", "1.10010", "-3.85"],
    ["in percent", metal, "0.50", "2400.50", "-12.00"],
    ["per lot", euro({ type: "per_lot", amount: "3.50", currency: "USD" }), "0.37", "1.10010", "-1.30"],
    ["in another currency", euro({ type: "per_lot", amount: "2", currency: "GBP" }), "1.00", "1.10010", "-2.55"],
    ["of none", euro({ type: "none", amount: "9", currency: "USD" }), "1.00", "1.10010", "0.00"],
  ] as const)("%s comes out to the last digit", (_, symbol, lots, price, expected) => {
    expect(commissionMinor(market, symbol, { lots, price, currency: "USD" })).toBe(usd(expected));
  });

  it("cannot be told without a way to convert", () => {
    const symbol = euro({ type: "per_lot", amount: "2", currency: "KRW" });
    expect(commissionMinor(market, symbol, { lots: "1.00", price: "1.1", currency: "USD" })).toBeUndefined();
  });
});

describe("V18: profits of less than a cent", () => {
  it.each([
    ["0.86271", "0.01"],
    ["0.86272", "0.03"],
  ])("0.01 EURGBP up to %s earns %s", (price, expected) => {
    const deal = { side: "buy", lots: "0.01", open_price: "0.86270", currency: "USD" } as const;
    expect(grossProfit(market, someSymbol("EURGBP"), deal, price)?.gross_minor).toBe(usd(expected));
  });
});

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

  it("without used margin is normal, unless covered positions have nothing behind them", () => {
    expect(marginStatus(levels, -1n, 0n, 0)).toBe("normal");
    expect(marginStatus(levels, 1n, 0n, 2)).toBe("normal");
    expect(marginStatus(levels, 0n, 0n, 2)).toBe("stop_out");
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
    const metrics = metricsOf(account, balance, [{ ...valuation, floating_minor: usd(floating) }]);
    expect(metrics.used_margin_minor).toBe(usd("440.04"));
    expect(metrics.withdrawable_minor).toBe(usd(expected));
  });

  it("V22: counts credit as backing of margin and never as withdrawable", () => {
    const { account, balance } = tradingAccount("100.00", {}, { credit_minor: usd("100.00") });
    const fields = { symbol: "EURUSD", side: "buy", lots: "0.10", open_price: "1.10000" } as const;
    const position = somePosition(account, market, { ...fields, margin_minor: usd("150.00") });
    expect(metricsOf(account, balance, valuePositions(market, [position], decisionTime))).toMatchObject({
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
      return [values.map(({ floating_minor }) => floating_minor), metricsOf(account, balance, values)] as const;
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
        const before = metricsOf(account, balance, valuePositions(market, positions, decisionTime));
        const later = valuePositions(someMarket(Object.fromEntries(moved)), positions, decisionTime);
        expect(metricsOf(account, balance, later).used_margin_minor).toBe(before.used_margin_minor);
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
