import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { driveTo } from "../../../shared/domain/sandbox/drive.ts";
import { metricsAt } from "../../../shared/domain/trading/margin.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { decisionTime } from "../../support/builders/decisions.ts";
import { someMarket, somePosition, someSymbol, tradingAccount } from "../../support/builders/trading.ts";

const market = someMarket({ XAUUSD: ["2400.20", "2400.50"], GER40: ["18500.0", "18501.0"] });

type Given = Parameters<typeof somePosition>[2];

function holding(balance: string, positions: readonly Given[], fields: Parameters<typeof tradingAccount>[1] = {}) {
  const { account, balance: money } = tradingAccount(balance, fields);
  return { account, balance: money, positions: positions.map((position) => somePosition(account, market, position)) };
}

const long = { symbol: "EURUSD", side: "buy", lots: "1.00", open_price: "1.10010" } as const;
const yen = { symbol: "USDJPY", side: "sell", lots: "0.50", open_price: "149.990" } as const;

/** Where a drive ends, and the levels there and one point nearer to where it began. */
function driven(holdings: ReturnType<typeof holding>, margin_level: string, symbol?: string, at: Market = market) {
  const drive = driveTo(holdings, at, { margin_level, symbol }, decisionTime);
  if (!drive.ok) throw new Error(`${drive.refusal.code}: ${drive.refusal.detail}`);
  return drive;
}

describe("an account is not driven", () => {
  it.each([
    ["without positions", holding("1000.00", []), {}, "margin_level_unreachable"],
    [
      "by a symbol that it does not depend on",
      holding("2000.00", [long]),
      { symbol: "AUDNZD" },
      "margin_level_unreachable",
    ],
    [
      "where all its positions cover each other",
      holding("2000.00", [long, { ...long, side: "sell" }]),
      { symbol: "EURUSD" },
      "margin_level_unreachable",
    ],
    ["by a symbol that there is none of", holding("2000.00", [long]), { symbol: "NOSUCH" }, "symbol_not_found"],
    ["on a platform", holding("2000.00", [long], { platform: "mt5" }), {}, "platform_account"],
    ["with a position of a platform", holding("2000.00", [{ ...long, source: "mt5:live-1" }]), {}, "platform_account"],
  ])("%s", (_, holdings, to, code) => {
    expect(driveTo(holdings, market, { margin_level: "80.00", ...to }, decisionTime)).toMatchObject({
      ok: false,
      refusal: { code },
    });
  });

  it("in a closed market, nor at a price that is too old", () => {
    const closed = someMarket({}, [someSymbol("EURUSD", { sessions: [] })]);
    const drive = (at: Market, now: string) => driveTo(holding("2000.00", [long]), at, { margin_level: "80.00" }, now);
    expect(drive(closed, decisionTime)).toMatchObject({ refusal: { code: "market_closed" } });
    expect(drive(market, "2026-11-21T07:00:00.000Z")).toMatchObject({ refusal: { code: "metrics_stale" } });
  });
});

describe("an account is driven", () => {
  it("to the point at or just below the level that it falls to", () => {
    // 1,100.10 of margin: 80 % are 880.08 of equity, 1,119.92 less than 2,000; a point is one dollar.
    expect(driven(holding("2000.00", [long]), "80.00")).toEqual({
      ok: true,
      symbol: "EURUSD",
      price: { bid: "1.08890", ask: "1.08900" },
      margin_level: "79.99",
    });
  });

  it("to the point at or just above the level that it rises to", () => {
    const { price, margin_level } = driven(holding("500.00", [long]), "105.00");
    expect({ price, margin_level }).toEqual({ price: { bid: "1.10666", ask: "1.10676" }, margin_level: "105.08" });
  });

  it("by the symbol of its largest position unless one is named, the other way for a sell", () => {
    const both = holding("2000.00", [yen, long]);
    expect(driven(both, "80.00").symbol).toBe("EURUSD");
    const { price } = driven(both, "80.00", "USDJPY");
    expect(Number(price.ask)).toBeGreaterThan(150.01);
  });

  it("below nothing where the level is 0, and stays where it is already", () => {
    const holdings = holding("1100.10", [long]);
    expect(Number(driven(holdings, "0.00").margin_level)).toBeLessThanOrEqual(0);
    expect(driven(holding("1110.10", [long]), "100.00")).toMatchObject({
      price: { bid: "1.10000" },
      margin_level: "100.00",
    });
  });

  it("to the nearest point of any mix of positions, in any currency, from any side (300 random accounts)", () => {
    const names = ["EURUSD", "USDJPY", "EURGBP", "GBPJPY", "XAUUSD", "GER40"] as const;
    const deal = fc.record({
      symbol: fc.constantFrom(...names),
      side: fc.constantFrom("buy" as const, "sell" as const),
      lots: fc.constantFrom("0.10", "0.37", "1.00", "2.50"),
    });
    const reached = { down: 0, up: 0 };
    const random = fc.property(
      fc.array(deal, { minLength: 1, maxLength: 5 }),
      fc.constantFrom("USD" as const, "EUR" as const, "JPY" as const),
      fc.integer({ min: 100_000, max: 3_000_000 }),
      fc.integer({ min: 0, max: 30_000 }),
      (deals, currency, balance, hundredths) => {
        const positions = deals.map((each) => {
          const quote = market.quotes.get(each.symbol);
          return { ...each, open_price: (each.side === "buy" ? quote?.ask : quote?.bid) ?? "1" };
        });
        const holdings = holding("0.00", positions, { currency });
        const money = { balance_minor: BigInt(balance), available_minor: BigInt(balance) };
        const state = { ...holdings, balance: { ...holdings.balance, currency, ...money } };
        const level = `${Math.floor(hundredths / 100)}.${String(hundredths % 100).padStart(2, "0")}`;
        const drive = driveTo(state, market, { margin_level: level }, decisionTime);
        if (!drive.ok) {
          expect(drive.refusal.code).toBe("margin_level_unreachable");
          return;
        }
        const over = (bid: bigint) => {
          const symbol = market.symbols.get(drive.symbol);
          const before = market.quotes.get(drive.symbol);
          if (symbol === undefined || before === undefined) throw new Error("There is no such price.");
          const text = (points: bigint) => {
            const digits = points.toString().padStart(symbol.digits + 1, "0");
            return `${digits.slice(0, -symbol.digits)}.${digits.slice(-symbol.digits)}`;
          };
          const spread = BigInt(before.ask.replace(".", "")) - BigInt(before.bid.replace(".", ""));
          const quote = { ...before, bid: text(bid), ask: text(bid + spread) };
          const quotes = new Map(market.quotes).set(drive.symbol, quote);
          const { equity_minor, used_margin_minor } = metricsAt({ ...market, quotes }, state, decisionTime);
          return equity_minor * 10_000n - BigInt(hundredths) * used_margin_minor;
        };
        const start = BigInt(market.quotes.get(drive.symbol)?.bid.replace(".", "") ?? "0");
        const end = BigInt(drive.price.bid.replace(".", ""));
        const before = over(start);
        if (before === 0n) expect(end).toBe(start);
        else if (before > 0n) {
          reached.down += 1;
          expect(over(end) <= 0n).toBe(true);
          expect(over(end > start ? end - 1n : end + 1n) > 0n).toBe(true);
        } else {
          reached.up += 1;
          expect(over(end) >= 0n).toBe(true);
          expect(over(end > start ? end - 1n : end + 1n) < 0n).toBe(true);
        }
      },
    );
    fc.assert(random, { numRuns: 300 });
    expect(reached.down).toBeGreaterThan(20);
    expect(reached.up).toBeGreaterThan(20);
  });
});
