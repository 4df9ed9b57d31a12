import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { requiredEquity } from "../../infra/dashboard/app/pages/customers/margin-room.ts";
import {
  clockTime,
  grouped,
  inWords,
  isNegative,
  isZero,
  lengthOf,
  less,
  relative,
  shortId,
  signed,
  sum,
} from "../../infra/dashboard/app/parts/format.ts";

const cents = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
const decimal = (units: bigint) => {
  const digits = String(units < 0n ? -units : units).padStart(3, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
};

describe("amounts", () => {
  it.each([
    ["12500.00", "12,500.00"],
    ["-1157.30", "−1,157.30"],
    ["0.00000001", "0.00000001"],
    ["999", "999"],
    ["90071992547409931234.10", "90,071,992,547,409,931,234.10"],
    ["not a number", "not a number"],
  ])("%s is shown as %s", (given, shown) => expect(grouped(given)).toBe(shown));

  it("keep all their digits", () => {
    fc.assert(
      fc.property(cents, (units) => grouped(decimal(units)).replaceAll(",", "").replace("−", "-") === decimal(units)),
    );
  });

  it("carry a sign as a profit, except zero", () => {
    expect(["285.18", "-136.18", "0.00"].map(signed)).toEqual(["+285.18", "−136.18", "0.00"]);
    expect([isZero("-0.00"), isNegative("-0.00"), isNegative("-0.01")]).toEqual([true, false, true]);
  });

  it("add up and subtract exactly, however large", () => {
    fc.assert(
      fc.property(fc.array(cents, { minLength: 1, maxLength: 6 }), cents, (all, other) => {
        expect(sum(all.map(decimal))).toBe(decimal(all.reduce((total, one) => total + one, 0n)));
        expect(less(decimal(all[0] ?? 0n), decimal(other))).toBe(decimal((all[0] ?? 0n) - other));
      }),
    );
  });

  it("of different decimals add up in the longer ones", () => expect(sum(["1.5", "2.25", "3"])).toBe("6.75"));
});

describe("the equity of a margin level", () => {
  it.each([
    ["5248.75", "100.00", "5248.75"],
    ["5248.75", "50.00", "2624.37"],
    ["0.00", "50.00", "0.00"],
    ["1000", "33.3", "333"],
  ])("of %s at %s%% is %s", (margin, level, equity) => expect(requiredEquity(margin, level)).toBe(equity));
});

describe("identifiers and words", () => {
  it("keeps the prefix and the end of an identifier, which differ", () => {
    expect(shortId("txn_01M7WH2EGWEV0A01KYZKJ8")).toBe("txn_…KYZKJ8");
    expect(shortId("app_1")).toBe("app_1");
  });

  it("spells values of the API", () => {
    expect(["bank_transfer", "stop_out", "mt5", "margin_call"].map(inWords)).toEqual([
      "Bank transfer",
      "Stop-out",
      "MT5",
      "Margin call",
    ]);
  });
});

describe("times", () => {
  const now = Date.parse("2026-11-20T13:42:10.000Z");

  it.each([
    [2_000, "2 s"],
    [101_000, "1 min 41 s"],
    [58 * 60_000, "58 min"],
    [(3 * 60 + 12) * 60_000, "3 h 12 min"],
    [(2 * 60 + 5) * 60_000, "2 h 05 min"],
    [(41 * 24 + 0) * 3_600_000, "41 d"],
    [-5, "0 s"],
  ])("%d ms are %s", (ms, text) => expect(lengthOf(ms)).toBe(text));

  it("are relative to now, before and after it", () => {
    expect(relative("2026-11-20T13:42:01.000Z", now)).toBe("9 s ago");
    expect(relative("2026-11-20T13:42:58.000Z", now)).toBe("in 48 s");
  });

  it("have a date when they are not of today, and a year when they are of another one", () => {
    expect(clockTime("2026-11-20T13:06:58.204Z", now)).toBe("13:06:58");
    expect(clockTime("2026-11-19T13:06:58.204Z", now)).toBe("19 Nov 13:06");
    expect(clockTime("2025-11-19T13:06:58.204Z", now)).toBe("19 Nov 2025 13:06");
  });
});
