import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CurrencyCode } from "../../../shared/currencies.ts";
import { post } from "../../../shared/domain/money/posting.ts";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import type { TradingSymbol } from "../../../shared/domain/records/symbol.ts";
import type { Transaction } from "../../../shared/domain/records/transaction.ts";
import { driveTo } from "../../../shared/domain/sandbox/drive.ts";
import { heldQuote, quoteOf } from "../../../shared/domain/sandbox/prices.ts";
import { seedQuotes, seedSymbols } from "../../../shared/domain/sandbox/seed.ts";
import { closeTrade } from "../../../shared/domain/trading/close-trade.ts";
import { executeTrade } from "../../../shared/domain/trading/open-trade.ts";
import type { Market } from "../../../shared/domain/trading/pricing/quote.ts";
import {
  decimalText,
  type Rational,
  rational,
  roundToward,
  unitsText,
} from "../../../shared/domain/trading/pricing/rational.ts";
import { acceptTick } from "../../../shared/domain/trading/pricing/tick.ts";
import { limits } from "../../../shared/limits.ts";
import { decisionContext, decisionTime, someAccount, tenantId } from "../../support/builders/decisions.ts";
import { somePosition, someQuote, someSymbol, tradingAccount } from "../../support/builders/trading.ts";
import { TradingDesk } from "../../support/builders/trading-desk.ts";

const bound = limits.money.max_minor;
const half = limits.money.max_traded_minor;
const huge = "999999999999999.00000";
const euro = someSymbol("EURUSD");
const index = someSymbol("GER40", { calc_mode: "cfd", digits: 5 });
const opened = someQuote("EURUSD", ["1.10000", "1.10010"], { session_open: "1.00000" });

/** A symbol of eight digits, as crypto currencies have. */
const coin = someSymbol("COINUSD", {
  ...{ calc_mode: "cfd", asset_class: "crypto", base_currency: "BTC", quote_currency: "USD" },
  ...{ contract_size: "1", digits: 8, lot_max: "1000000.00" },
});

const symbols: readonly TradingSymbol[] = [...seedSymbols(tenantId, decisionTime), coin];
const seeded: Market = {
  symbols: new Map(symbols.map((symbol) => [symbol.symbol, symbol])),
  quotes: new Map(
    [...seedQuotes(decisionTime), someQuote("COINUSD", ["64000.00000000", "64000.00000001"])].map((quote) => [
      quote.symbol,
      quote,
    ]),
  ),
};

describe("a price", () => {
  const outOf = { ok: false, reason: "price_out_of_bounds" };
  const tick = (bid: string, ask = bid) => ({
    ...{ bid, ask, time: decisionTime, sequence: "2", source: "sandbox", epoch: 1 },
  });

  it.each([
    ["above what anything costs, though it is the first", euro, undefined, huge, outOf],
    ["of ten billion, as the first", euro, undefined, "10000000000.00000", { ok: true }],
    ["of a pair twenty times the first of its day", euro, opened, "20.00000", { ok: true }],
    ["of a pair more than twenty times the first of its day", euro, opened, "20.00001", outOf],
    ["of a pair a twentieth of the first of its day", euro, opened, "0.05000", { ok: true }],
    ["of a pair below a twentieth of the first of its day", euro, opened, "0.04999", outOf],
    ["of an index that falls to one point", index, opened, "0.00001", { ok: true }],
    ["of an index a hundred times the first of its day", index, opened, "100.00000", { ok: true }],
    ["of an index more than a hundred times the first of its day", index, opened, "100.00001", outOf],
  ] as const)("%s", (_, symbol, before, bid, expected) => {
    expect(acceptTick(symbol, before, tick(bid), decisionTime)).toMatchObject(expected);
  });

  it("is measured from the last one of the day before when it is the first of its day", () => {
    const next = "2026-11-22T00:00:00.000Z";
    const last = { ...opened, received_at: "2026-11-21T23:59:00.000Z" };
    const at = (bid: string) => acceptTick(euro, last, { ...tick(bid), time: next }, next);
    expect(at("22.00000").ok).toBe(true);
    expect(at("22.00001")).toMatchObject(outOf);
  });

  it("that was wrong keeps the right ones out for an hour and not for ever", () => {
    const wrong = acceptTick(euro, undefined, tick("0.00011"), decisionTime);
    if (!wrong.ok) throw new Error(wrong.reason);
    const at = (quote: Quote, ms: number, sequence: string) => {
      const time = new Date(Date.parse(decisionTime) + ms).toISOString();
      return acceptTick(euro, quote, { ...tick("1.10000"), source: "mt5:b", time, sequence }, time);
    };
    expect(at(wrong.quote, 3_600_000, "1")).toMatchObject(outOf);
    const right = at(wrong.quote, 3_600_001, "2");
    if (!right.ok) throw new Error(right.reason);
    expect(at(right.quote, 3_600_002, "3").ok).toBe(true);
    const held = { ...wrong.quote, held: true } as const;
    expect(at(held, 3_600_001, "2")).toMatchObject(outOf);
  });

  it("of the sandbox's market is bound alike, and the refusal says where it may be", () => {
    expect(heldQuote(euro, opened, { bid: huge, ask: huge }, decisionTime)).toMatchObject({ ok: false });
    expect(quoteOf(euro, opened, { symbol: "EURUSD", ask: "20.00001" }, decisionTime)).toEqual({
      ok: false,
      errors: [{ pointer: "/ask", code: "invalid_price", detail: "must be between 0.05000 and 20.00000 today" }],
    });
  });

  it("that would take an account to a level is not looked for beyond", () => {
    const trader = tradingAccount("1000000.00");
    const positions = [
      somePosition(trader.account, seeded, { symbol: "EURUSD", side: "sell", lots: "0.01", open_price: "1.10000" }),
    ];
    const drive = driveTo({ ...trader, positions }, seeded, { margin_level: "80.00" }, decisionTime);
    expect(drive).toMatchObject({ ok: false, refusal: { code: "margin_level_unreachable" } });
    const nearer = { ...trader, balance: { ...trader.balance, balance_minor: 1_000_000n }, positions };
    expect(driveTo(nearer, seeded, { margin_level: "80.00" }, decisionTime)).toMatchObject({ ok: true });
  });
});

/** Result of an execution at the newest price. */
function open(desk: TradingDesk, market: Market, symbol: string, side: "buy" | "sell", lots: string, at?: string) {
  const quote = market.quotes.get(symbol);
  const price = at ?? (side === "buy" ? quote?.ask : quote?.bid) ?? "1";
  const execution = { symbol, side, lots, price, source: "internal" };
  const decision = executeTrade(desk.state, market, execution, decisionContext());
  if (decision.ok) desk.apply(decision);
  return decision.ok ? "opened" : decision.refusal.code;
}

describe("an opening", () => {
  const big: Market = {
    ...seeded,
    symbols: new Map([...seeded.symbols].map(([name, symbol]) => [name, { ...symbol, lot_max: "100000000.000" }])),
  };
  const account = (currency: CurrencyCode, balance_minor = 0n) =>
    new TradingDesk(someAccount({ currency, leverage: 1000 }, { currency, balance_minor }));

  it.each([
    ["USD", "EURUSD", "909033.00", "909034.00"],
    ["JPY", "EURUSD", "606062.00", "606063.00"],
    ["USD", "GER40", "4914004.9", "4914005.0"],
    ["USD", "COINUSD", "1562500.00", "1562500.01"],
  ] as const)("on an account in %s of %s is bounded by what it is worth", (currency, symbol, fits, over) => {
    expect(open(account(currency), big, symbol, "buy", over)).toBe("exposure_too_large");
    expect(open(account(currency), big, symbol, "buy", fits)).toBe("opened");
  });

  it("counts what is open already, also what raises a netting position", () => {
    for (const position_mode of ["hedging", "netting"] as const) {
      const desk = new TradingDesk(someAccount({ currency: "USD", leverage: 1000, position_mode }, {}));
      expect(open(desk, big, "EURUSD", "buy", "600000.00")).toBe("opened");
      expect(open(desk, big, "EURUSD", "buy", "400000.00")).toBe("exposure_too_large");
      expect(open(desk, big, "GER40", "buy", "2000000.0")).toBe("exposure_too_large");
    }
  });

  it("is refused while the balance is above half of its bound, a close is not", () => {
    const desk = account("USD", half);
    expect(open(desk, big, "EURUSD", "buy", "1.00")).toBe("opened");
    desk.balance = { ...desk.balance, balance_minor: half + 1n };
    expect(open(desk, big, "EURUSD", "buy", "1.00")).toBe("exposure_too_large");
    const closing = { price: "1.10000", reason: "client" } as const;
    expect(closeTrade(desk.state, desk.open(), big, closing, decisionContext()).ok).toBe(true);
  });

  it("by a platform is refused at a price beyond those that are taken, a close is booked at any", () => {
    const desk = account("USD");
    expect(open(desk, seeded, "EURUSD", "buy", "1.00", "22.00001")).toBe("invalid_price");
    expect(open(desk, seeded, "EURUSD", "buy", "1.00", "22.00000")).toBe("opened");
    const closing = { price: huge, reason: "platform" } as const;
    expect(closeTrade(desk.state, desk.open(), seeded, closing, decisionContext()).ok).toBe(true);
  });

  it("of the most lots of every symbol of the seed is within the bounds", () => {
    for (const currency of ["USD", "JPY", "EUR", "AUD"] as const) {
      for (const { symbol, lot_max } of seedSymbols(tenantId, decisionTime)) {
        if (currency === "AUD" && symbol === "USDCHF") continue;
        const desk = account(currency);
        for (let place = 0; place < 2; place += 1) expect(open(desk, seeded, symbol, "buy", lot_max)).toBe("opened");
      }
    }
  });
});

/** A quote at the edge of what its day allows. */
function atEdge(symbol: TradingSymbol, quote: Quote, edge: "lowest" | "highest"): Quote {
  const reference = rational(quote.bid);
  const pair = symbol.calc_mode === "forex";
  const { max_daily_factor, max_daily_pair_factor } = limits.trading;
  const factor = pair ? max_daily_pair_factor : max_daily_factor;
  const lowest = pair ? reference.div(factor) : rational(symbol.point);
  const points = (value: Rational, way: "up" | "down") =>
    unitsText(roundToward(value, symbol.digits, way), symbol.digits);
  const price = edge === "highest" ? points(reference.mul(factor), "down") : points(lowest, "up");
  const outcome = heldQuote(symbol, quote, { bid: price, ask: price }, decisionTime);
  if (!outcome.ok) throw new Error(`${symbol.symbol} ${price}`);
  return outcome.quote;
}

describe("trading", () => {
  const names = symbols.map(({ symbol }) => symbol);
  const deal = fc.record({
    symbol: fc.constantFrom(...names),
    side: fc.constantFrom("buy" as const, "sell" as const),
    /** Millionths of the most that may be open. */
    share: fc.integer({ min: 1, max: 1_000_000 }),
  });
  const loose: Market = {
    ...seeded,
    symbols: new Map(
      symbols.map((symbol) => [symbol.symbol, { ...symbol, lot_max: "100000000000.000", lot_step: "0.001" }]),
    ),
  };

  it("takes no balance beyond its bound, whatever was opened and wherever the prices of the day go", () => {
    const program = fc.record({
      currency: fc.constantFrom("USD", "JPY", "EUR", "AUD", "CHF") as fc.Arbitrary<CurrencyCode>,
      position_mode: fc.constantFrom("hedging" as const, "netting" as const),
      start: fc.constantFrom(0n, half, -half, half / 2n),
      deals: fc.array(deal, { minLength: 1, maxLength: 12 }),
      edges: fc.array(fc.constantFrom("lowest" as const, "highest" as const), {
        minLength: names.length,
        maxLength: names.length,
      }),
    });
    let largest = 0n;
    fc.assert(
      fc.property(program, ({ currency, position_mode, start, deals, edges }) => {
        const desk = new TradingDesk(
          someAccount({ currency, position_mode, leverage: 1000 }, { currency, balance_minor: start }),
        );
        for (const { symbol, side, share } of deals) {
          const { contract_size } = loose.symbols.get(symbol) ?? coin;
          const price = loose.quotes.get(symbol)?.bid ?? "1";
          const most = rational("120000000000").div(rational(contract_size)).div(rational(price));
          const lots = decimalText(most.mul(BigInt(share)).div(1_000_000n), 3);
          if (Number(lots) >= 1) open(desk, loose, symbol, side, lots);
        }
        const quotes = new Map(
          names.map((name, place) => {
            const symbol = loose.symbols.get(name) ?? coin;
            const quote = loose.quotes.get(name) ?? opened;
            return [name, atEdge(symbol, quote, edges[place] ?? "lowest")] as const;
          }),
        );
        const market = { ...loose, quotes };
        while (desk.positions.size > 0) {
          const { position } = desk.open();
          const { bid, ask } = quotes.get(position.symbol) ?? opened;
          const closing = { price: position.side === "buy" ? bid : ask, reason: "client" } as const;
          desk.apply(closeTrade(desk.state, desk.open(), market, closing, decisionContext()));
          const { balance_minor: balance } = desk.balance;
          const size = balance < 0n ? -balance : balance;
          const moved = balance < start ? start - balance : balance - start;
          if (moved > largest) largest = moved;
          expect(size).toBeLessThanOrEqual(bound);
        }
      }),
      { numRuns: 300 },
    );
    // The programs come near enough to the bound to say something about it.
    expect(largest).toBeGreaterThan(10n ** 15n);
  });

  it("takes no balance beyond its bound on the worst day: an index and both pairs that convert it at the edge", () => {
    const desk = new TradingDesk(
      someAccount({ currency: "AUD", leverage: 1000 }, { currency: "AUD", balance_minor: half }),
    );
    const rate = rational("1.10000").div(rational("0.66000"));
    const lots = decimalText(rational("99999000000").div(rational("18500")).div(rate), 1);
    expect(open(desk, loose, "GER40", "buy", lots)).toBe("opened");
    const quotes = new Map(loose.quotes);
    for (const [name, edge] of [
      ["GER40", "highest"],
      ["EURUSD", "highest"],
      ["AUDUSD", "lowest"],
    ] as const) {
      quotes.set(name, atEdge(loose.symbols.get(name) ?? coin, loose.quotes.get(name) ?? opened, edge));
    }
    const closing = { price: quotes.get("GER40")?.bid ?? "1", reason: "client" } as const;
    desk.apply(closeTrade(desk.state, desk.open(), { ...loose, quotes }, closing, decisionContext()));
    const gained = desk.balance.balance_minor - half;
    expect(gained).toBeGreaterThan(39n * 10n ** 16n);
    expect(desk.balance.balance_minor).toBeLessThan(bound);
    expect(open(desk, loose, "EURUSD", "buy", "1.00")).toBe("exposure_too_large");
  });
});

describe("money", () => {
  const booking = (kind: "deposit" | "withdrawal", customer_minor: bigint) => {
    return { kind, customer_minor, legs: [["clearing", -customer_minor]], captured_minor: 0n, final: false } as const;
  };
  const transaction = { id: "txn_01JD0000000000000000000003", tenant_id: tenantId, currency: "USD" } as Transaction;
  const balanceOf = (balance_minor: bigint, positions = 0) =>
    someAccount({}, { balance_minor, available_minor: balance_minor, positions }).balance;

  it("can leave an account that holds more than the bound", () => {
    const decision = post(transaction, balanceOf(2n * bound), decisionContext(), booking("withdrawal", -100n));
    expect(decision).toMatchObject({ ok: true, result: { balance_after_minor: 2n * bound - 100n } });
  });

  it("that comes in leaves room for what open positions may gain", () => {
    const deposit = (balance: bigint, positions: number) =>
      post(transaction, balanceOf(balance, positions), decisionContext(), booking("deposit", 1n)).ok;
    expect([deposit(bound - 1n, 0), deposit(bound, 0)]).toEqual([true, false]);
    expect([deposit(half - 1n, 1), deposit(half, 1)]).toEqual([true, false]);
  });
});
