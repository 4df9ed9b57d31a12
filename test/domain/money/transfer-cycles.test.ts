import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CurrencyCode } from "../../../shared/currencies.ts";
import { transferRate } from "../../../shared/domain/money/transfers/rate.ts";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import { clientConversion, clientPairs } from "../../../shared/domain/trading/pricing/client-rate.ts";
import { conversion } from "../../../shared/domain/trading/pricing/convert.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import { accepted, decisionTime, refused } from "../../support/builders/decisions.ts";
import { someMarket, someQuote, someSymbol } from "../../support/builders/trading.ts";
import { seeded } from "../../support/stack/chaos.ts";

/** Markets of the property; `CYCLE_RUNS` makes it longer. */
const runs = Number(process.env["CYCLE_RUNS"] ?? 250);
const cyclesOfOne = 20;

type Pairs = readonly (readonly [name: string, base: string, quote: string, bid: string, ask: string])[];

const stale = { time: "2026-11-21T06:29:00.000Z" } as const;

/** A market of these pairs alone; a name that ends with `*` has a stale quote. */
function marketOf(pairs: Pairs): Market {
  const symbols = new Map<string, TradingSymbol>();
  const quotes = new Map<string, Quote>();
  for (const [named, base_currency, quote_currency, bid, ask] of pairs) {
    const name = named.replace("*", "");
    symbols.set(name, someSymbol(name, { base_currency, quote_currency, digits: 5 }));
    quotes.set(name, someQuote(name, [bid, ask], named.endsWith("*") ? stale : {}));
  }
  return { symbols, quotes };
}

const rateOf = (market: Market, from: string, to: string) => {
  const { steps, rate } = accepted(clientConversion(market, from, to, decisionTime)).result;
  const number = Number(rate.numerator) / Number(rate.denominator);
  return { via: steps.map(({ symbol }) => symbol).join(" "), rate: number.toFixed(5) };
};

describe("the rate of a client", () => {
  const usual: Pairs = [
    ["EURUSD", "EUR", "USD", "1.10000", "1.10010"],
    ["GBPUSD", "GBP", "USD", "1.27500", "1.27520"],
  ];

  it("is the lesser of the pair of both currencies and of the way over USD, at bid and ask", () => {
    const dear: Pairs = [["EURGBP", "EUR", "GBP", "0.86250", "0.86270"]];
    expect(rateOf(marketOf([...usual, ...dear]), "EUR", "GBP")).toEqual({ via: "EURGBP", rate: "0.86250" });
    expect(rateOf(marketOf([...usual, ...dear]), "GBP", "EUR")).toEqual({ via: "GBPUSD EURUSD", rate: "1.15899" });
    expect(rateOf(marketOf(usual), "EUR", "GBP")).toEqual({ via: "EURUSD GBPUSD", rate: "0.86261" });
  });

  it("is the least of all pairs of both currencies, whichever way they are quoted", () => {
    const both: Pairs = [
      ["EURUSD", "EUR", "USD", "1.10000", "1.10010"],
      ["EURUSD.r", "EUR", "USD", "1.09000", "1.11000"],
      ["USDEUR", "USD", "EUR", "0.90000", "0.91000"],
    ];
    expect(rateOf(marketOf(both), "EUR", "USD")).toEqual({ via: "EURUSD.r", rate: "1.09000" });
    expect(rateOf(marketOf(both), "USD", "EUR")).toEqual({ via: "USDEUR", rate: "0.90000" });
  });

  it("leads over the first pair by name where a currency has none with USD, and not twice over the same pair", () => {
    const others: Pairs = [
      ["KWDEUR", "KWD", "EUR", "2.90000", "2.95000"],
      ["KWDGBP", "KWD", "GBP", "2.60000", "2.61000"],
      ["EURBHD", "EUR", "BHD", "0.40000", "0.41000"],
      ["AKWDUSC", "KWD", "USC", "1.00000", "1.00000"],
      ["USDUSC", "USD", "USC", "1.00000", "1.00000"],
    ];
    const market = marketOf([...usual, ...others]);
    expect(rateOf(market, "KWD", "USD")).toEqual({ via: "KWDEUR EURUSD", rate: "3.19000" });
    expect(rateOf(market, "KWD", "EUR")).toEqual({ via: "KWDEUR", rate: "2.90000" });
    expect(rateOf(market, "KWD", "BHD")).toEqual({ via: "KWDEUR EURBHD", rate: "1.16000" });
    expect(rateOf(market, "EUC", "USD")).toEqual({ via: "EUC EURUSD", rate: "0.01100" });
    expect(refused(clientConversion(market, "CHF", "USD", decisionTime)).code).toBe("no_conversion_path");
    const alone = marketOf([["EURGBP", "EUR", "GBP", "0.86250", "0.86270"]]);
    expect(refused(clientConversion(alone, "EUR", "GBP", decisionTime)).code).toBe("no_conversion_path");
  });

  it("is refused where the way has no price of now, and leaves out another pair that has none", () => {
    const pairs = (cross: string, euro: string): Pairs => [
      [euro, "EUR", "USD", "1.10000", "1.10010"],
      ["GBPUSD", "GBP", "USD", "1.27500", "1.27520"],
      [cross, "EUR", "GBP", "0.50000", "0.50000"],
    ];
    expect(rateOf(marketOf(pairs("EURGBP", "EURUSD")), "EUR", "GBP").via).toBe("EURGBP");
    expect(rateOf(marketOf(pairs("EURGBP*", "EURUSD")), "EUR", "GBP").via).toBe("EURUSD GBPUSD");
    const late = clientConversion(marketOf(pairs("EURGBP", "EURUSD*")), "EUR", "GBP", decisionTime);
    expect(refused(late).code).toBe("metrics_stale");
    const { symbols, quotes } = marketOf(pairs("EURGBP", "EURUSD"));
    const unquoted = { symbols, quotes: new Map([...quotes].filter(([name]) => name !== "EURUSD")) };
    expect(refused(clientConversion(unquoted, "EUR", "GBP", decisionTime)).code).toBe("metrics_stale");
  });

  it("needs no more symbols than are read for it", () => {
    fc.assert(
      fc.property(markets, fc.constantFrom(...currencies), fc.constantFrom(...currencies), ({ market }, from, to) => {
        const all = clientConversion(market, from, to, decisionTime);
        const pairs = clientPairs(market.symbols.values(), from, to);
        const read = [...(pairs?.up ?? []), ...(pairs?.down ?? []), ...(pairs?.direct ?? [])];
        const symbols = new Map(read.map((symbol) => [symbol.symbol, symbol]));
        expect(clientConversion({ ...market, symbols }, from, to, decisionTime)).toEqual(all);
      }),
      { numRuns: 500 },
    );
  });
});

const currencies = ["USD", "EUR", "GBP", "JPY", "KWD", "BHD", "BTC", "USC", "EUC"] as const satisfies CurrencyCode[];

/** Worth of a unit of each currency. */
const worth: Readonly<Record<string, number>> = {
  ...{ USD: 1, EUR: 1.1, GBP: 1.27, JPY: 0.0066, KWD: 3.25, BHD: 2.65, BTC: 60_000 },
};

/**
 * Markets where crosses disagree by up to five percent, some currencies have no pair with USD, some pairs are there
 * twice and the other way round, some spreads are zero, and some quotes are stale.
 */
const markets = fc.integer().map((seed) => {
  const next = seeded(seed);
  const wholes = Object.keys(worth);
  const pairs: (readonly [string, string, string, string, string])[] = [];
  for (const [place, one] of wholes.entries()) {
    for (const other of wholes.slice(place + 1)) {
      const count = Math.floor(next() * (one === "USD" ? 3 : 2.5));
      for (let copy = 0; copy < count; copy += 1) {
        const [base, quote] = next() < 0.5 ? [one, other] : [other, one];
        const apart = 1 + (next() - 0.5) * ([0, 0.002, 0.1][Math.floor(next() * 3)] ?? 0);
        const middle = ((worth[base] ?? 1) / (worth[quote] ?? 1)) * apart;
        const spread = middle * ([0, 0.0001, 0.01][Math.floor(next() * 3)] ?? 0);
        const name = `${next() < 0.5 ? "" : "A"}${base}${quote}${copy}${next() < 0.05 ? "*" : ""}`;
        const bid = Math.max(middle - spread / 2, 1e-8);
        pairs.push([name, base, quote, bid.toFixed(8), (bid + spread).toFixed(8)]);
      }
    }
  }
  return { market: marketOf(pairs), next };
});

/** Value of an amount on another currency; undefined where no rate leads there now, or nothing arrives. */
function transferred(market: Market, from: CurrencyCode, to: CurrencyCode, amount_minor: bigint, markUp: string) {
  const rate = transferRate(
    market,
    { from: { currency: from }, to: { currency: to }, amount_minor },
    markUp,
    decisionTime,
  );
  return rate.ok ? rate.result.credit_minor : undefined;
}

describe("transfers between currencies", () => {
  it("make nothing of 100,000.00 EUR that go over USD and GBP ten times, and did at the mid", () => {
    const market = someMarket();
    const round = ["EUR", "USD", "GBP", "EUR"] as const;
    let [amount, atMid] = [10_000_000n, 10_000_000n];
    for (let turn = 0; turn < 30; turn += 1) {
      const [from = "EUR", to = "EUR"] = [round[turn % 3], round[(turn % 3) + 1]];
      amount = transferred(market, from, to, amount, "0.00") ?? 0n;
      const { rate } =
        conversion(market, from, to) ?? accepted(clientConversion(market, from, to, decisionTime)).result;
      atMid = (atMid * rate.numerator) / rate.denominator;
    }
    expect([amount, atMid]).toEqual([9_975_239n, 10_013_517n]);
  });

  it(`end ${runs * cyclesOfOne} cycles over six currencies at no more than they began with, rounding included`, () => {
    let closed = 0;
    fc.assert(
      fc.property(markets, ({ market, next }) => {
        for (let cycle = 0; cycle < cyclesOfOne; cycle += 1) {
          const six = currencies.toSorted(() => next() - 0.5).slice(0, 6);
          const start = six[0] ?? "USD";
          const markUp = next() < 0.7 ? "0.00" : "0.50";
          const began = BigInt(1 + Math.floor(10 ** (next() * 11)));
          let [at, amount]: [CurrencyCode, bigint] = [start, began];
          for (let step = 0; step < 20; step += 1) {
            const to = six[Math.floor(next() * 6)] ?? start;
            const credited = transferred(market, at, to, amount, markUp);
            if (credited !== undefined) [at, amount] = [to, credited];
            const back = transferred(market, at, start, amount, markUp);
            if (back === undefined || step === 0) continue;
            closed += 1;
            if (back > began) throw new Error(`${began} ${start} became ${back} in ${step + 2} transfers.`);
          }
        }
      }),
      { numRuns: runs },
    );
    expect(closed).toBeGreaterThan(runs * cyclesOfOne);
  }, 600_000);
});
