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
    ["below zero", { bid: "-1.10000" }, "invalid_price"],
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

  // Foreign exchange as it is: from Sunday 17:00 to Friday 17:00 in New York, with a pause of five minutes a day.
  const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday"] as const;
  const newYork = someSymbol("EURUSD", {
    zone: "America/New_York",
    sessions: [
      day("sunday", "17:05", "24:00"),
      ...weekdays.map((name) => ({ day: name, open: "00:00", close: "17:00" })),
      ...weekdays.slice(0, 4).map((name) => ({ day: name, open: "17:05", close: "24:00" })),
    ],
    holidays: ["2026-12-25"],
  });

  it.each([
    ["before summer time", "2026-03-06T22:00:00.000Z", "2026-03-08T21:05:00.000Z"],
    ["in July", "2026-07-10T21:00:00.000Z", "2026-07-12T21:05:00.000Z"],
    ["after summer time", "2026-10-30T21:00:00.000Z", "2026-11-01T22:05:00.000Z"],
    ["on a day of the week", "2026-07-14T21:00:00.000Z", "2026-07-14T21:05:00.000Z"],
    ["before a holiday there", "2026-12-25T05:00:00.000Z", "2026-12-27T22:05:00.000Z"],
  ])("closes and opens on the minute of New York %s", (_, closes, opens) => {
    const before = new Date(Date.parse(closes) - 1).toISOString();
    expect(marketClock(newYork, before)).toEqual({ market_status: "open", next_open_at: null, next_close_at: closes });
    expect(marketClock(newYork, closes)).toMatchObject({ market_status: "closed", next_open_at: opens });
    expect(isMarketOpen(newYork, new Date(Date.parse(opens) - 1).toISOString())).toBe(false);
    expect(isMarketOpen(newYork, opens)).toBe(true);
  });

  it.each([
    ["Pacific/Kiritimati", "2026-11-21T12:00:00.000Z", "2026-11-21T22:00:00.000Z"],
    ["Pacific/Pago_Pago", "2026-11-22T13:00:00.000Z", "2026-11-22T23:00:00.000Z"],
  ])("is open on the Sunday of %s", (zone, from, to) => {
    const sunday = someSymbol("EURUSD", { zone, sessions: [day("sunday", "02:00", "12:00")] });
    const millisecond = (at: string, more: number) => new Date(Date.parse(at) + more).toISOString();
    expect([millisecond(from, -1), from, millisecond(to, -1), to].map((now) => isMarketOpen(sunday, now))).toEqual([
      ...[false, true, true, false],
    ]);
    expect(marketClock(sunday, millisecond(from, -1)).next_open_at).toBe(from);
  });

  it.each([
    // Summer time begins at 02:00 on 2026-03-08 in New York, which is 07:00 UTC, and ends at 06:00 UTC on 2026-11-01.
    ["opens an hour later at a time that is left out", "02:30", "05:00", "03-08T07:30", "03-08T09:00"],
    ["closes an hour later at a time that is left out", "01:00", "02:30", "03-08T06:00", "03-08T07:30"],
    ["opens at the first of a time that comes twice", "01:30", "05:00", "11-01T05:30", "11-01T10:00"],
    ["closes at the first of a time that comes twice", "00:30", "01:30", "11-01T04:30", "11-01T05:30"],
  ])("%s", (_, open, close, ...times) => {
    const [from, to] = times.map((time) => `2026-${time}:00.000Z`) as [string, string];
    const early = someSymbol("EURUSD", { zone: "America/New_York", sessions: [day("sunday", open, close)] });
    expect(marketClock(early, new Date(Date.parse(from) - 1).toISOString())).toMatchObject({ next_open_at: from });
    expect(marketClock(early, from)).toEqual({ market_status: "open", next_open_at: null, next_close_at: to });
    expect(isMarketOpen(early, to)).toBe(false);
  });

  it("has no session where summer time leaves out the whole of it", () => {
    const never = someSymbol("EURUSD", { zone: "America/New_York", sessions: [day("sunday", "02:30", "03:00")] });
    expect(isMarketOpen(never, "2026-03-08T07:15:00.000Z")).toBe(false);
    expect(isMarketOpen(never, "2026-03-08T07:45:00.000Z")).toBe(false);
    expect(marketClock(never, "2026-03-08T06:59:00.000Z").next_open_at).toBe("2026-03-15T06:30:00.000Z");
  });

  it("that touches itself over a midnight that summer time moves stays open", () => {
    // Summer time of Beirut begins at midnight: 2026-03-29T00:00 is 01:00.
    const beirut = someSymbol("EURUSD", {
      zone: "Asia/Beirut",
      sessions: [{ day: "saturday", open: "00:00", close: "24:00" }, day("sunday", "00:00", "24:00")],
    });
    expect(marketClock(beirut, "2026-03-28T21:30:00.000Z")).toMatchObject({
      market_status: "open",
      next_close_at: "2026-03-29T21:00:00.000Z",
    });
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

  it("takes all decimals of a price, for every price", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), (units) => {
        const price = decimalText(quotient(units, 100_000n), 5);
        expect(acceptTick(euro, undefined, { ...tick, bid: price, ask: price }, decisionTime).ok).toBe(true);
        const longer = { bid: `${price}1`, ask: `${price}1` };
        expect(acceptTick(euro, undefined, { ...tick, ...longer }, decisionTime)).toMatchObject({ quote: longer });
      }),
    );
  });
});
