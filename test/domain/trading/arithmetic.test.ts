import { readFileSync } from "node:fs";
import fc from "fast-check";
import Fraction from "fraction.js";
import { describe, expect, it } from "vitest";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { effectiveLeverage, positionMargin, symbolMargin } from "../../../shared/domain/trading/margin.ts";
import { commissionMinor } from "../../../shared/domain/trading/pricing/commission.ts";
import { conversion, conversionBody, isConvertible } from "../../../shared/domain/trading/pricing/convert.ts";
import { symbolsNeeded } from "../../../shared/domain/trading/pricing/needs.ts";
import {
  decimalText,
  quotient,
  rational,
  ratioText,
  roundHalfAway,
  roundToward,
  shortDecimalText,
} from "../../../shared/domain/trading/pricing/rational.ts";
import { grossProfit } from "../../../shared/domain/trading/profit.ts";
import { nightsOf, swapMinor } from "../../../shared/domain/trading/swap.ts";
import {
  exampleCfds,
  examplePrices,
  someMarket,
  somePosition,
  someSymbol,
  tradingAccount,
  usd,
} from "../../support/builders/trading.ts";
import { type Case, computed, market } from "./arithmetic-cases.ts";

interface Vectors {
  readonly quotes: Readonly<Record<string, { readonly bid: string; readonly ask: string }>>;
  readonly cases: readonly Case[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../fixtures/margin-vectors.json", import.meta.url), "utf8"),
) as Vectors;

const [gold, index] = exampleCfds;

describe("a cent currency", () => {
  const cents = someMarket({ EURUSC: ["9.00000", "9.00000"] }, [someSymbol("EURUSC", { quote_currency: "USC" })]);

  it.each([
    ["USC", "USD", "0.010000000000", [["USC", "divide", "100"]]],
    ["USD", "USC", "100.000000000000", [["USC", "multiply", "100"]]],
    [
      "EUR",
      "USC",
      "110.005000000000",
      [
        ["EURUSD", "multiply", "1.10005"],
        ["USC", "multiply", "100"],
      ],
    ],
    [
      "USC",
      "JPY",
      "1.500000000000",
      [
        ["USC", "divide", "100"],
        ["USDJPY", "multiply", "150.000"],
      ],
    ],
    [
      "EUC",
      "GBC",
      "0.862600000000",
      [
        ["EUC", "divide", "100"],
        ["EURGBP", "multiply", "0.86260"],
        ["GBC", "multiply", "100"],
      ],
    ],
    ["USC", "USC", "1.000000000000", []],
  ] as const)("%s to %s is converted by a hundredth of its parent alone, at %s", (from, to, rate, via) => {
    const path = conversion(cents, from, to);
    if (path === undefined) throw new Error("There is no way.");
    const steps = via.map(([symbol, op, price]) => ({ symbol, op, price }));
    expect(conversionBody(path)).toEqual({ from, to, via: steps, rate });
    expect(isConvertible(cents, from, to)).toBe(true);
  });

  it("needs the pairs of its parent, and is never as old as a quote", () => {
    expect(symbolsNeeded(cents.symbols.values(), [{ symbol: "EURUSD", currency: "USC" }])).toEqual(new Set(["EURUSD"]));
    expect(symbolsNeeded(cents.symbols.values(), [{ symbol: "USDJPY", currency: "EUC" }])).toEqual(
      new Set(["USDJPY", "EURUSD", "EURJPY"]),
    );
  });
});

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

describe("exact numbers", () => {
  const texts = fc.oneof(
    fc
      .tuple(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.stringMatching(/^\d{0,12}$/))
      .map(([whole, part]) => (part === "" ? `${whole}` : `${whole}.${part}`)),
    fc
      .tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.bigInt({ min: 1n, max: 10n ** 60n }))
      .map(([numerator, denominator]) => `${numerator}/${denominator}`),
  );
  const steps = fc.array(fc.tuple(fc.constantFrom("add", "sub", "mul", "div"), texts), { maxLength: 8 });

  it("are those of fraction.js after any calculation", () => {
    fc.assert(
      fc.property(texts, steps, texts, (first, calculation, last) => {
        let [own, other] = [rational(first), new Fraction(first)];
        for (const [operation, text] of calculation) {
          if (operation === "div" && rational(text).equals(0n)) continue;
          own = own[operation](text);
          other = other[operation](text);
        }
        expect(ratioText(own)).toBe(`${other.s * other.n}/${other.d}`);
        expect(ratioText(own.abs().neg())).toBe(`${-other.n}/${other.d}`);
        for (const compared of ["lt", "lte", "gt", "gte", "equals"] as const) {
          expect(own[compared](last), compared).toBe(other[compared](last));
        }
        expect(own.mul(last).divisible(own)).toBe(other.mul(last).divisible(other));
      }),
    );
  });

  it.each(["", ".5", "1.", "1e3", " 1", "1/", "0x1", "1.(3)", "--1"])("are not read from %j", (text) => {
    expect(() => rational(text)).toThrow(SyntaxError);
  });

  it("are not divided by zero", () => {
    expect(() => rational("1").div("0.00")).toThrow(RangeError);
    expect(() => rational("1/0")).toThrow(RangeError);
    expect(rational("1").divisible("0.0")).toBe(false);
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
    expect(symbolMargin(mode, 100, [buy, sell])).toBe(usd(expected));
    expect(symbolMargin(mode, 100, [sell, buy])).toBe(usd(expected));
  });

  it("is nothing without positions, and nothing net of two sides that cover each other", () => {
    for (const mode of ["sum", "max", "net"] as const) expect(symbolMargin(mode, 100, [])).toBe(0n);
    expect(symbolMargin("net", 100, [buy, { ...sell, lots: "1.00" }])).toBe(0n);
  });

  it("follows from the terms of its opening at every leverage, up to the cap of its symbol then", () => {
    const strict = someMarket({}, [someSymbol("EURUSD", { max_leverage: 20 })]);
    const own = somePosition(account, strict, { symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.10010" });
    expect([500, 100, 20, 10].map((leverage) => positionMargin(buy, leverage))).toEqual(
      ["220.02", "1100.10", "5500.50", "11001.00"].map(usd),
    );
    expect([500, 100, 20, 10].map((leverage) => positionMargin(own, leverage))).toEqual(
      ["5500.50", "5500.50", "5500.50", "11001.00"].map(usd),
    );
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
