import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Account } from "../../../shared/domain/records/account.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { openBook } from "../../../shared/domain/trading/book.ts";
import { metricsAt, valuePositions } from "../../../shared/domain/trading/margin.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import { leastEnough, type Parts, partialLots, partsOf } from "../../../shared/domain/trading/partial-lots.ts";
import { decisionContext, decisionTime } from "../../support/builders/decisions.ts";
import { marketAt, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

type Commission = TradingSymbol["commission"];

interface Case {
  readonly price: string;
  readonly lot_step: string;
  readonly commission: Commission;
  readonly account: Partial<Account>;
  /** The prices are so many hundredths above that of now; the last position is closed. */
  readonly openings: readonly (readonly [side: "buy" | "sell", lots: string, above: number])[];
  /** The margin level that the account is brought to, in hundredths of a percent, and minor units more. */
  readonly level: bigint;
  readonly more: bigint;
}

/** The parts of the position that was opened last, on an account at a level. */
function partsAt({ price, lot_step, commission, account: terms, openings, level, more }: Case) {
  const some = marketAt({ XAUUSD: { bid: price, ask: price } });
  const gold = some.symbols.get("XAUUSD") as TradingSymbol;
  const sizes = { contract_size: "1", lot_step, lot_min: lot_step, lot_max: "1000", max_leverage: null };
  const market = { ...some, symbols: new Map([...some.symbols, ["XAUUSD", { ...gold, ...sizes, commission }]]) };
  const desk = new TradingDesk(tradingAccount("10000000.00", { stop_out_mode: "partial", ...terms }));
  for (const [side, lots, above] of openings) {
    const opened = (Number(price) + above / 100).toFixed(2);
    const execution = { symbol: "XAUUSD", side, lots, price: opened, source: "internal" };
    desk.apply(executeTrade(desk.state, market, execution, decisionContext()));
  }
  const { equity_minor, used_margin_minor } = metricsAt(market, desk.state, decisionTime);
  const wanted = (used_margin_minor * level) / 10_000n + more;
  const balance_minor = desk.balance.balance_minor + wanted - equity_minor;
  desk.balance = { ...desk.balance, balance_minor, available_minor: balance_minor };
  const victim = valuePositions(market, desk.state.positions, decisionTime).at(-1);
  if (victim === undefined) throw new Error("No position is open.");
  const book = openBook(desk.state);
  const parts = partsOf(book, victim, market, wanted);
  if (parts === undefined) throw new Error("The position has no price.");
  return { parts, lots: partialLots(book, victim, market, wanted) };
}

function counted(parts: Parts) {
  let trials = 0;
  const excessAt = (count: bigint) => {
    trials += 1;
    return parts.excessAt(count);
  };
  return { least: leastEnough({ ...parts, excessAt }), trials: () => trials };
}

const percent = { type: "percent", amount: "0.1", currency: "USD" } as const;

const crypto = {
  price: "2400.00",
  lot_step: "0.00001",
  commission: percent,
  openings: [["buy", "100.00000", 0]],
  more: 0n,
} as const;

const volume = fc
  .integer({ min: 1, max: 400 })
  .map((steps) => `${Math.floor(steps / 100)}.${`${100 + (steps % 100)}`.slice(1)}`);

const cases: fc.Arbitrary<Case> = fc.record({
  price: fc.constantFrom("2400.00", "1.50", "0.07"),
  lot_step: fc.constant("0.01"),
  commission: fc.oneof(
    fc.constant<Commission>({ type: "none", amount: "0", currency: "USD" }),
    fc.record<Commission>({
      type: fc.constantFrom("percent" as const, "per_lot" as const),
      amount: fc.constantFrom("0.1", "0.5", "2"),
      currency: fc.constant("USD" as const),
    }),
  ),
  account: fc.record({
    leverage: fc.constantFrom(1, 20, 100, 500),
    margin_calculation: fc.constantFrom("sum" as const, "max" as const, "net" as const),
    stop_out_level: fc.constantFrom("0.00", "20.00", "50.00", "95.00"),
  }),
  openings: fc
    .array(fc.tuple(fc.constantFrom("buy" as const, "sell" as const), volume, fc.integer({ min: -3, max: 90 })), {
      minLength: 1,
      maxLength: 4,
    })
    .map((all) => all.map(([side, lots, above]) => [side, lots === "0.00" ? "0.01" : lots, above] as const)),
  level: fc.bigInt({ min: 0n, max: 9_500n }),
  more: fc.bigInt({ min: -5n, max: 5n }),
});

describe("the part that a partial stop-out closes", () => {
  it("is enough while one lot step less is not, and where each step helps it is the least of all", () => {
    let [found, whole] = [0, 0];
    fc.assert(
      fc.property(cases, (one) => {
        const { parts, lots } = partsAt(one);
        const enough = Array.from(
          { length: Number(parts.last) },
          (_, at) => (parts.excessAt(BigInt(at + 1)) ?? 0n) > 0n,
        );
        const count = enough.findIndex((_, at) => parts.textOf(BigInt(at + 1)) === lots);
        if (lots !== undefined) expect([enough[count], enough[count - 1] ?? false]).toEqual([true, false]);
        const [first, last] = [enough.indexOf(true), enough.lastIndexOf(false)];
        if (last < first || first === -1) expect(count).toBe(first);
        if (count > 0) found += 1;
        if (lots === undefined) whole += 1;
      }),
      { numRuns: 150 },
    );
    expect([found > 8, whole > 8]).toEqual([true, true]);
  });

  it.each([
    ["where no part is enough, of ten million", { leverage: 500 }, 4_950n, undefined],
    ["where the freed margin is little more than the commission", { leverage: 100 }, 2_500n, "62.50021"],
  ])("is found in 24 trials %s", (_name, account, level, lots) => {
    const { parts, lots: found } = partsAt({ ...crypto, account: { ...account, stop_out_level: "50.00" }, level });
    expect(found).toBe(lots);
    const search = counted(parts);
    expect(search.least === undefined ? undefined : parts.textOf(search.least)).toBe(lots);
    expect(search.trials()).toBeLessThanOrEqual(24);
  });

  it("is all of it where a hedge in net mode helps up to some lots and no step that is tried passes", () => {
    const least = leastEnough({ last: 99n, textOf: String, excessAt: (count) => (count < 10n ? 1n : 0n) });
    expect(least).toBeUndefined();
  });
});
