import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CurrencyCode, currencyCodes, minorDigits, wholeOf } from "../../shared/currencies.ts";
import {
  formatAmount,
  formatPercent,
  greatest,
  least,
  parseAmount,
  parseReported,
} from "../../shared/domain/kernel/money.ts";
import { limits } from "../../shared/limits.ts";
import iso from "./fixtures/iso-4217.json" with { type: "json" };

const currencies = Object.keys(minorDigits) as CurrencyCode[];
const currency = fc.constantFrom(...currencies);
const bound = limits.money.max_minor;
const amount = fc.bigInt({ min: 0n, max: bound });

describe("an amount", () => {
  it("is the same after it was printed and read, for every currency and every size up to the bound", () => {
    fc.assert(
      fc.property(amount, currency, (minor, code) => {
        expect(parseAmount(formatAmount(minor, code), code)).toBe(minor);
      }),
    );
  });

  it("is printed with exactly the digits of its currency, negative ones with one sign", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -bound, max: bound }), currency, (minor, code) => {
        const digits = minorDigits[code];
        const pattern = digits === 0 ? /^-?(?:0|[1-9]\d*)$/ : new RegExp(`^-?(?:0|[1-9]\\d*)\\.\\d{${digits}}$`);
        const text = formatAmount(minor, code);
        expect(text).toMatch(pattern);
        expect(text.startsWith("-")).toBe(minor < 0n);
        expect(BigInt(text.replace(".", ""))).toBe(minor);
      }),
    );
  });

  it("keeps its value when zeros are added up to the digits of the currency", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 10n }), currency, (whole, code) => {
        const expected = whole * 10n ** BigInt(minorDigits[code]);
        expect(parseAmount(String(whole), code)).toBe(expected);
        for (let digits = 1; digits <= minorDigits[code]; digits += 1) {
          expect(parseAmount(`${whole}.${"0".repeat(digits)}`, code)).toBe(expected);
        }
      }),
    );
  });

  it("is refused with one digit more than its currency has, even when that digit is zero: nothing is rounded", () => {
    fc.assert(
      fc.property(amount, currency, fc.integer({ min: 0, max: 9 }), (minor, code, digit) => {
        // Programs write two digits for every currency.
        if (minorDigits[code] === 0 && digit === 0) return;
        const text = formatAmount(minor, code);
        const longer = minorDigits[code] === 0 ? `${text}.${digit}` : `${text}${digit}`;
        expect(parseAmount(longer, code)).toBe("amount_precision");
      }),
    );
  });

  it.each([
    ["0.01", "USD", 1n],
    ["0.1", "USD", 10n],
    ["100", "USD", 10_000n],
    ["90071992547409.93", "USD", 9_007_199_254_740_993n],
    ["999999999999999.99", "USD", 99_999_999_999_999_999n],
    ["15000", "JPY", 15_000n],
    ["10000000000000000.00", "USD", bound],
    ["10000000000000000.01", "USD", "amount_too_large"],
    ["1000000000000000000", "JPY", bound],
    ["1000000000000000001", "JPY", "amount_too_large"],
    ["0.001", "USD", "amount_precision"],
    ["1.0", "JPY", 1n],
    ["100.00", "JPY", 100n],
    ["0.00", "JPY", 0n],
    ["1000000000000000001.00", "JPY", "amount_too_large"],
    ["1.000", "JPY", "amount_precision"],
    ["1.01", "JPY", "amount_precision"],
    ["100.000", "USD", "amount_precision"],
    ["1000000000000000.000", "KWD", bound],
    ["100000000000000.0000", "CLF", bound],
    ["1000000000000.000000", "USDT", bound],
    ["10000000000.00000000", "BTC", bound],
    ["10000000000.00000001", "BTC", "amount_too_large"],
    ["10000000000000000.00", "USC", bound],
    ["0.00000001", "ETH", 1n],
    ["0.0000001", "USDC", "amount_precision"],
  ] as const)("%s %s is read as %s", (text, code, expected) => {
    expect(parseAmount(text, code)).toBe(expected);
  });
});

describe("the table of currencies", () => {
  const { digits } = iso as { digits: Record<string, number | null> };

  it("has every code of ISO 4217 that has a minor unit, with its digits, and no code twice", () => {
    const listed = Object.entries(digits).filter(([, count]) => count !== null);
    const others = ["USDT", "USDC", "BTC", "ETH", "USC", "EUC", "GBC"];
    expect(listed).toHaveLength(166);
    expect(Object.fromEntries(listed.map(([code]) => [code, minorDigits[code as CurrencyCode]]))).toEqual(
      Object.fromEntries(listed),
    );
    expect([...currencyCodes].toSorted()).toEqual([...listed.map(([code]) => code), ...others].toSorted());
    expect(currencyCodes.slice(0, 6)).toEqual(["USD", "EUR", "GBP", "CHF", "JPY", "AUD"]);
  });

  it("gives a cent currency the digits of its parent and no code of ISO 4217", () => {
    for (const [cent, parent] of [
      ["USC", "USD"],
      ["EUC", "EUR"],
      ["GBC", "GBP"],
    ] as const) {
      expect([wholeOf(cent), minorDigits[cent], cent in digits]).toEqual([parent, minorDigits[parent], false]);
    }
    expect(currencyCodes.filter((code) => wholeOf(code) !== code)).toHaveLength(3);
  });
});

describe("a percentage", () => {
  it("is truncated toward zero at two digits, so a level never looks better than it is", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -bound, max: bound }), fc.bigInt({ min: 1n, max: bound }), (part, whole) => {
        const shown = BigInt(formatPercent(part, whole).replace(".", ""));
        const size = (value: bigint) => (value < 0n ? -value : value);
        expect(size(shown) * whole <= size(part) * 10_000n).toBe(true);
        expect((size(shown) + 1n) * whole > size(part) * 10_000n).toBe(true);
        expect(shown === 0n || shown < 0n === part < 0n).toBe(true);
      }),
    );
  });

  it.each([
    [104_000n, 44_004n, "236.34"],
    [1n, 3n, "33.33"],
    [2n, 3n, "66.66"],
    [9_999_999n, 10_000_000n, "99.99"],
    [-1n, 3n, "-33.33"],
    [-1n, 1_000_000n, "0.00"],
    [0n, 7n, "0.00"],
    [7n, 7n, "100.00"],
  ] as const)("%s of %s is %s", (part, whole, shown) => {
    expect(formatPercent(part, whole)).toBe(shown);
  });
});

describe("an amount that a platform reports", () => {
  it.each([
    ["7.00", "JPY", 7n],
    ["-500.000", "JPY", -500n],
    ["100", "JPY", 100n],
    ["10.10000000", "USD", 1010n],
    ["-0.00", "USD", 0n],
    ["7.01", "JPY", "amount_precision"],
    ["-0.001", "USD", "amount_precision"],
  ] as const)("%s of %s is %s", (text, currency, minor) => {
    expect(parseReported(text, currency)).toBe(minor);
  });
});

describe("the smaller and the larger of two amounts", () => {
  it("are the two amounts in order", () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (a, b) => {
        expect([least(a, b), greatest(a, b)]).toEqual([a, b].toSorted((x, y) => (x < y ? -1 : x > y ? 1 : 0)));
      }),
    );
  });
});
