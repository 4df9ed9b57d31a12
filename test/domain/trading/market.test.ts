import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ageMs, quoteBody } from "../../../shared/domain/trading/pricing/quote.ts";
import { decimalText, quotient } from "../../../shared/domain/trading/pricing/rational.ts";
import { isMarketOpen, marketClock, symbolBody } from "../../../shared/domain/trading/pricing/symbol.ts";
import { acceptTick } from "../../../shared/domain/trading/pricing/tick.ts";
import { Quote as QuoteSchema } from "../../../shared/schema/quote.ts";
import { TradingSymbol as SymbolSchema } from "../../../shared/schema/symbol.ts";
import { decisionTime } from "../../support/builders/decisions.ts";
import { someQuote, someSymbol } from "../../support/builders/trading.ts";

const euro = someSymbol("EURUSD");
const tick = { bid: "1.10000", ask: "1.10010", time: decisionTime, sequence: "771", source: "mt5:live-1", epoch: 1 };
const day = (name: "monday" | "friday" | "sunday", open: string, close: string) => ({ day: name, open, close });

describe("a tick is refused", () => {
  it.each([
    ["crossed", { bid: "1.10011" }, "crossed"],
    ["of zero", { bid: "0" }, "invalid_price"],
    ["of zero at the ask", { ask: "0.00000" }, "invalid_price"],
    ["with a digit too many", { ask: "1.100101" }, "invalid_price"],
    ["of the same sequence", { sequence: "770" }, "old_sequence"],
    ["of an older sequence", { sequence: "99" }, "old_sequence"],
  ])("%s", (_, fields, reason) => {
    const before = someQuote("EURUSD", ["1.09990", "1.10000"], { sequence: "770", source: "mt5:live-1" });
    expect(acceptTick(euro, before, { ...tick, ...fields }, decisionTime)).toMatchObject({ ok: false, reason });
  });
});

describe("a tick", () => {
  it("without a spread is taken, with zeros at its end cut or added", () => {
    const outcome = acceptTick(euro, undefined, { ...tick, bid: "1.1", ask: "1.1000000" }, decisionTime);
    expect(outcome).toMatchObject({ ok: true, quote: { bid: "1.10000", ask: "1.10000" } });
  });

  it("of a larger sequence wins as a number, not as a text", () => {
    const before = someQuote("EURUSD", ["1.1", "1.1"], { sequence: "9", source: "mt5:live-1" });
    expect(acceptTick(euro, before, { ...tick, sequence: "10" }, decisionTime).ok).toBe(true);
  });

  it("of another source starts a sequence of its own", () => {
    const before = someQuote("EURUSD", ["1.1", "1.1"], { sequence: "999", source: "mt4:old" });
    expect(acceptTick(euro, before, { ...tick, sequence: "1" }, decisionTime).ok).toBe(true);
  });

  it("keeps the extremes of its day and restarts them on the next", () => {
    const bids = ["1.10000", "1.10050", "1.09950", "1.10010"];
    let quote = undefined as Parameters<typeof acceptTick>[1];
    for (const [place, bid] of bids.entries()) {
      const outcome = acceptTick(euro, quote, { ...tick, bid, ask: "1.20000", sequence: String(place) }, decisionTime);
      if (outcome.ok) quote = outcome.quote;
    }
    expect(quote).toMatchObject({ session_open: "1.10000", day_high: "1.10050", day_low: "1.09950" });
    const next = acceptTick(euro, quote, { ...tick, sequence: "9" }, "2026-11-22T00:00:00.000Z");
    expect(next).toMatchObject({ quote: { session_open: "1.10000", day_high: "1.10000", day_low: "1.10000" } });
  });
});

describe("a quote", () => {
  it("tells its mid, its spread and its age in the shape that is published", () => {
    const quote = someQuote("EURUSD", ["1.10000", "1.10010"], { received_at: "2026-11-21T06:30:00.012Z" });
    const body = quoteBody(euro, quote, "2026-11-21T06:30:00.240Z");
    expect(body).toMatchObject({
      mid: "1.100050",
      spread_points: 10,
      age_ms: 240,
      stale: false,
      market_status: "open",
    });
    expect(QuoteSchema.parse(body)).toEqual(body);
  });

  it("is stale after more than ten seconds of an open market, and never in a closed one", () => {
    const quote = someQuote("EURUSD", ["1.1", "1.1"]);
    expect(quoteBody(euro, quote, "2026-11-21T06:30:10.000Z").stale).toBe(false);
    expect(quoteBody(euro, quote, "2026-11-21T06:30:10.001Z").stale).toBe(true);
    expect(quoteBody(someSymbol("EURUSD", { sessions: [] }), quote, "2026-11-21T09:00:00.000Z").stale).toBe(false);
  });

  it("is as old as the older of its two clocks says, and never younger than now", () => {
    const late = someQuote("EURUSD", ["1.1", "1.1"], { time: "2026-11-21T06:29:00.000Z" });
    expect(ageMs(late, decisionTime)).toBe(60_000);
    const ahead = someQuote("EURUSD", ["1.1", "1.1"], { time: "2026-11-21T07:00:00.000Z" });
    expect(ageMs(ahead, decisionTime)).toBe(0);
    expect(ageMs(ahead, "2026-11-21T06:30:01.000Z")).toBe(1000);
  });
});

describe("a market", () => {
  // 2026-11-21 is a Saturday.
  const week = someSymbol("GER40", {
    quote_currency: "EUR",
    base_currency: "EUR",
    sessions: [day("monday", "08:00", "22:00"), day("friday", "08:00", "16:30"), day("friday", "17:00", "22:00")],
  });

  it.each([
    ["2026-11-20T07:59:59.999Z", "closed", "2026-11-20T08:00:00.000Z", null],
    ["2026-11-20T08:00:00.000Z", "open", null, "2026-11-20T16:30:00.000Z"],
    ["2026-11-20T16:30:00.000Z", "closed", "2026-11-20T17:00:00.000Z", null],
    ["2026-11-20T21:59:59.999Z", "open", null, "2026-11-20T22:00:00.000Z"],
    ["2026-11-20T22:00:00.000Z", "closed", "2026-11-23T08:00:00.000Z", null],
  ] as const)("at %s is %s", (now, market_status, next_open_at, next_close_at) => {
    expect(marketClock(week, now)).toEqual({ market_status, next_open_at, next_close_at });
  });

  it("is closed on its holidays", () => {
    const holiday = { ...week, holidays: ["2026-11-23"] };
    expect(isMarketOpen(holiday, "2026-11-23T12:00:00.000Z")).toBe(false);
    expect(marketClock(holiday, "2026-11-22T12:00:00.000Z").next_open_at).toBe("2026-11-27T08:00:00.000Z");
  });

  it("whose days touch is open over midnight", () => {
    const both = someSymbol("EURUSD", {
      sessions: [day("sunday", "22:00", "24:00"), day("monday", "00:00", "24:00")],
    });
    expect(marketClock(both, "2026-11-22T23:00:00.000Z").next_close_at).toBe("2026-11-24T00:00:00.000Z");
  });

  it("that never closes tells no closing, one without sessions no opening, a halted one is halted", () => {
    expect(marketClock(euro, decisionTime)).toEqual({ market_status: "open", next_open_at: null, next_close_at: null });
    const none = marketClock(someSymbol("EURUSD", { sessions: [] }), decisionTime);
    expect(none).toEqual({ market_status: "closed", next_open_at: null, next_close_at: null });
    expect(isMarketOpen(someSymbol("EURUSD", { halted: true }), decisionTime)).toBe(false);
    expect(symbolBody(someSymbol("EURUSD", { halted: true }), decisionTime).market_status).toBe("halted");
  });

  it("is shown in the shape that is published", () => {
    const body = symbolBody(week, "2026-11-20T12:00:00.000Z");
    expect(SymbolSchema.parse(body)).toEqual(body);
    expect(body).not.toHaveProperty("tenant_id");
  });

  it("says at every moment what its sessions say", () => {
    const minute = fc.integer({ min: 0, max: 14 * 24 * 60 });
    fc.assert(
      fc.property(minute, (minutes) => {
        const now = new Date(Date.parse("2026-11-16T00:00:00.000Z") + minutes * 60_000);
        const time = now.toISOString().slice(11, 16);
        const open = week.sessions.some(
          (session) =>
            ["sunday", "monday", "", "", "", "friday"][now.getUTCDay()] === session.day &&
            session.open <= time &&
            time < session.close,
        );
        expect(isMarketOpen(week, now.toISOString())).toBe(open);
      }),
    );
  });

  it("takes no more decimals of a price than it has, for every price", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), (units) => {
        const price = decimalText(quotient(units, 100_000n), 5);
        expect(acceptTick(euro, undefined, { ...tick, bid: price, ask: price }, decisionTime).ok).toBe(true);
        const longer = { ...tick, bid: `${price}1`, ask: `${price}1` };
        expect(acceptTick(euro, undefined, longer, decisionTime).ok).toBe(false);
      }),
    );
  });
});
