import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Quote } from "../../../shared/domain/records/quote.ts";
import { heldQuote } from "../../../shared/domain/sandbox/prices.ts";
import { quoteBody } from "../../../shared/domain/trading/pricing/quote.ts";
import { acceptTick, type Tick } from "../../../shared/domain/trading/pricing/tick.ts";
import { decisionTime } from "../../support/builders/decisions.ts";
import { someQuote, someSymbol } from "../../support/builders/trading.ts";

const euro = someSymbol("EURUSD");
const [a, b] = ["mt5:a", "mt5:b"];

/** A moment so many milliseconds after the decision time. */
function at(ms: number): string {
  return new Date(Date.parse(decisionTime) + ms).toISOString();
}

function tick(source: string, sequence: number, fields: Partial<Tick> = {}): Tick {
  const price = { bid: "1.30000", ask: "1.30010" };
  return { ...price, time: decisionTime, sequence: String(sequence), source, epoch: 1, ...fields };
}

/** Offers ticks one after the other; what became of each, and the quote that stands at the end. */
function offered(ticks: readonly (readonly [Tick, nowMs?: number])[], first?: Quote) {
  let quote = first;
  const outcomes = ticks.map(([next, ms = 0]) => {
    const outcome = acceptTick(euro, quote, next, at(ms));
    quote = outcome.ok ? outcome.quote : (outcome.memory ?? quote);
    return outcome.ok ? "accepted" : outcome.reason;
  });
  return { quote, outcomes };
}

describe("a price that its source has replaced", () => {
  it("stays refused after another source has spoken", () => {
    const late = tick(a, 99, { bid: "1.00000", ask: "1.00010", time: at(-30_000) });
    const { quote, outcomes } = offered([[tick(a, 100)], [tick(b, 1)], [late]]);
    expect(outcomes).toEqual(["accepted", "accepted", "old_sequence"]);
    expect(quote).toMatchObject({ bid: "1.30000", source: b, sequence: "1" });
  });

  it("is refused where the one that replaced it was refused itself", () => {
    const { outcomes } = offered([[tick(b, 1)], [tick(a, 100, { bid: "1.40000" })], [tick(a, 99)], [tick(a, 101)]]);
    expect(outcomes).toEqual(["accepted", "crossed", "old_sequence", "accepted"]);
  });

  it("stays refused after the sandbox's market has set prices in between", () => {
    const first = offered([[tick(a, 100)]]).quote;
    const held = heldQuote(euro, first, { bid: "1.50000", ask: "1.50010" }, at(1000));
    if (!held.ok) throw new Error("refused");
    const again = heldQuote(euro, held.quote, { bid: "1.60000", ask: "1.60010" }, at(2000));
    if (!again.ok) throw new Error("refused");
    expect([held.quote.sequence, again.quote.sequence]).toEqual(["1", "2"]);
    const { outcomes, quote } = offered([[tick(a, 100)], [tick(a, 101, { time: at(3000) }), 3000]], again.quote);
    expect(outcomes).toEqual(["old_sequence", "accepted"]);
    const third = heldQuote(euro, quote, { bid: "1.70000", ask: "1.70010" }, at(4000));
    expect(third).toMatchObject({ quote: { sequence: "3", source: "sandbox" } });
  });

  it("is never accepted, whatever sources, epochs, clocks and prices do", () => {
    const step = fc.record({
      source: fc.constantFrom(a, b, "mt4:c"),
      epoch: fc.integer({ min: 1, max: 3 }),
      sequence: fc.integer({ min: 1, max: 12 }),
      late: fc.constantFrom(0, 4000, 6000, 30_000, 90_000, -6000),
      after: fc.constantFrom(0, 1, 3000, 9000),
      bid: fc.constantFrom("1.30000", "1.30005", "1.40000", "0.00000"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const seen = new Map<string, readonly [number, number]>();
        let [now, accepted] = [0, 0];
        let quote: Quote | undefined = someQuote("EURUSD", ["1.30000", "1.30010"]);
        for (const { source, epoch, sequence, late, after, bid } of steps) {
          now += after;
          const [knownEpoch, knownSequence] = seen.get(source) ?? [0, 0];
          const replaced = epoch < knownEpoch || (epoch === knownEpoch && sequence <= knownSequence);
          const next = tick(source, sequence, { epoch, bid, time: at(now - late) });
          const outcome = acceptTick(euro, quote, next, at(now));
          const reason = epoch < knownEpoch ? "old_epoch" : "old_sequence";
          if (replaced) expect(outcome).toEqual({ ok: false, reason });
          else {
            expect(outcome).not.toMatchObject({ reason: expect.stringMatching(/^old_/) });
            seen.set(source, [epoch, sequence]);
          }
          if (outcome.ok) accepted += 1;
          quote = outcome.ok ? outcome.quote : (outcome.memory ?? quote);
        }
        return steps.length < 30 || accepted > 0;
      }),
    );
  });
});

describe("an epoch", () => {
  it("that is newer begins the numbers of its source again, and ends those before it", () => {
    const { outcomes } = offered([
      [tick(a, 100)],
      [tick(a, 1)],
      [tick(a, 1, { epoch: 2 })],
      [tick(a, 101)],
      [tick(a, 1, { epoch: 2 })],
      [tick(a, 2, { epoch: 2 })],
    ]);
    expect(outcomes).toEqual(["accepted", "old_sequence", "accepted", "old_epoch", "old_sequence", "accepted"]);
  });
});

describe("across sources", () => {
  // The present quote is of source b and was received at the decision time.
  const stands = offered([[tick(b, 1)]]).quote;

  it.each([
    ["the later arrival wins, though its clock is behind", -4000, 0, "accepted"],
    ["the later arrival wins, though its clock is ahead", 5000, 0, "accepted"],
    ["one more than 5 s ahead of our clock is refused", 5001, 0, "time_ahead"],
    ["one 5 s old wins", -5000, 0, "accepted"],
    ["one older than 5 s loses to one that came just now", -5001, 0, "superseded"],
    ["one older than 5 s loses to one that came 5 s ago", -1, 5000, "superseded"],
    ["one older than 5 s wins over one that came longer ago", -1, 5001, "accepted"],
    ["one that is as old as the stale bound wins over one that came long ago", -50_000, 10_000, "accepted"],
    ["one that is older than the stale bound is refused", -50_001, 10_000, "time_too_old"],
  ] as const)("%s", (_, timeMs, nowMs, expected) => {
    expect(offered([[tick(a, 1, { time: at(timeMs) }), nowMs]], stands).outcomes).toEqual([expected]);
  });

  it("a backlog that is flushed does not move the price, and leaves its numbers used up", () => {
    const backlog = [10, 11, 12].map((sequence, place) => {
      const stale = tick(a, sequence, { bid: "1.00000", ask: "1.00010", time: at(-8000 + place * 1000) });
      return [stale, place] as const;
    });
    const { outcomes, quote } = offered([...backlog, [tick(a, 11), 20_000]], stands);
    expect(outcomes).toEqual(["superseded", "superseded", "superseded", "old_sequence"]);
    expect(quote).toMatchObject({ bid: "1.30000", source: b, received_at: stands?.received_at });
  });

  it("neither bound of age is asked of the source whose quote stands, since its numbers tell the order", () => {
    expect(offered([[tick(b, 2, { time: at(-3_600_000) })]], stands).outcomes).toEqual(["accepted"]);
  });
});

describe("a quote", () => {
  it("is shown without what is remembered of its sources", () => {
    const { quote } = offered([[tick(a, 100)], [tick(b, 1)]]);
    if (quote === undefined) throw new Error("no quote");
    expect(quote.marks).toEqual({ [a]: [1, "100"], [b]: [1, "1"] });
    expect(Object.keys(quoteBody(euro, quote, decisionTime))).not.toEqual(expect.arrayContaining(["marks"]));
  });
});

describe("a filter of outliers", () => {
  const filtered = someSymbol("EURUSD", { max_deviation_percent: "1" });
  const stands = someQuote("EURUSD", ["1.00000", "1.00010"], { source: a, sequence: "1" });

  /** Offers bids with a spread of one pip, each so many milliseconds after the one before. */
  function asides(bids: readonly (readonly [bid: string, afterMs?: number, source?: string, fields?: object])[]) {
    let quote = stands;
    let [now, sequence] = [0, 1];
    const outcomes = bids.map(([bid, afterMs = 1000, source = a, fields = {}]) => {
      now += afterMs;
      sequence += 1;
      const ask = (Number(bid) + 0.0001).toFixed(5);
      const next = tick(source, sequence, { bid, ask, time: at(now), ...fields });
      const outcome = acceptTick(filtered, quote, next, at(now));
      quote = outcome.ok ? outcome.quote : (outcome.memory ?? quote);
      return outcome.ok ? "accepted" : outcome.reason;
    });
    return { outcomes, bid: quote.bid, aside: quote.aside?.bid };
  }

  const put = "deviation_unconfirmed";
  it.each([
    ["within the bound passes", [["1.01000"]], ["accepted"], "1.01000", undefined],
    ["beyond it waits", [["1.01001"]], [put], "1.00000", "1.01001"],
    ["below it waits too", [["0.98999"]], [put], "1.00000", "0.98999"],
    ["is confirmed by a second one near it", [["1.20000"], ["1.20500"]], [put, "accepted"], "1.20500", undefined],
    ["is confirmed by another source", [["1.20000"], ["1.20000", 1, b]], [put, "accepted"], "1.20000", undefined],
    ["is confirmed after 10 s", [["1.20000"], ["1.20000", 10_000]], [put, "accepted"], "1.20000", undefined],
    ["is not confirmed later", [["1.20000"], ["1.20000", 10_001]], [put, put], "1.00000", "1.20000"],
    ["is not confirmed by one elsewhere", [["1.20000"], ["1.30000"]], [put, put], "1.00000", "1.30000"],
    [
      "is forgotten when one comes where the price was",
      [["1.20000"], ["1.00010"], ["1.20000"]],
      [put, "accepted", put],
      "1.00010",
      "1.20000",
    ],
    [
      "is confirmed by no repetition of its own number",
      [["1.20000"], ["1.20000", 1000, a, { sequence: "2" }]],
      [put, "old_sequence"],
      "1.00000",
      "1.20000",
    ],
    [
      "is confirmed by none that is refused, and outlasts it",
      [["1.20000"], ["1.20000", 1000, a, { ask: "1.10000" }], ["1.20000"]],
      [put, "crossed", "accepted"],
      "1.20000",
      undefined,
    ],
  ] as const)("a price that %s", (_, bids, outcomes, bid, aside) => {
    expect(asides(bids)).toEqual({ outcomes, bid, aside });
  });

  it("asks each side: an ask that is far off waits though the middle is not", () => {
    const outcome = acceptTick(filtered, stands, tick(a, 2, { bid: "1.00000", ask: "1.01100" }), decisionTime);
    expect(outcome).toMatchObject({ ok: false, reason: put });
  });

  it("does nothing where it is off, to the first price, and to prices that the sandbox's market sets", () => {
    const far = tick(a, 2, { bid: "9.00000", ask: "9.00010" });
    expect(acceptTick(euro, stands, far, decisionTime).ok).toBe(true);
    expect(acceptTick(filtered, undefined, far, decisionTime).ok).toBe(true);
    expect(heldQuote(filtered, stands, { bid: "9.00000", ask: "9.00010" }, decisionTime).ok).toBe(true);
  });

  it("lets no price stand that is further off than the bound, unless one within the bound came just before", () => {
    const step = fc.record({
      bid: fc.integer({ min: 90_000, max: 110_000 }),
      after: fc.constantFrom(1, 4000, 10_000, 10_001),
      source: fc.constantFrom(a, b),
    });
    const near = (one: string, other: string) => Math.abs(Number(one) - Number(other)) * 100 <= Number(other) + 1e-9;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let [now, quote] = [0, stands];
        let last: { readonly bid: string; readonly now: number } | undefined;
        for (const [place, { bid: points, after, source }] of steps.entries()) {
          now += after;
          const bid = (points / 100_000).toFixed(5);
          const outcome = acceptTick(
            filtered,
            quote,
            tick(source, place + 2, { bid, ask: bid, time: at(now) }),
            at(now),
          );
          const far = !near(bid, quote.bid) || !near(bid, quote.ask);
          const confirmed = last !== undefined && now - last.now <= 10_000 && near(bid, last.bid);
          expect(outcome.ok).toBe(!far || confirmed);
          last = outcome.ok ? undefined : { bid, now };
          quote = outcome.ok ? outcome.quote : (outcome.memory ?? quote);
        }
      }),
    );
  });
});
