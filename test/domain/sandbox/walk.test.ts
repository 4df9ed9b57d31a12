import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seedQuotes, seedSymbols } from "../../../shared/domain/sandbox/seed.ts";
import { draftWalk, nextStep, walkPrice } from "../../../shared/domain/sandbox/walk.ts";
import { limits } from "../../../shared/limits.ts";
import { decisionTime, tenantId } from "../../support/builders/decisions.ts";

const quotes = new Map(seedQuotes(decisionTime).map((quote) => [quote.symbol, quote]));
const symbols = seedSymbols(tenantId, decisionTime);

/** A walk of a symbol from the price that the sandbox begins with. */
function walkOf(name: string, seed = "1") {
  const symbol = symbols.find((each) => each.symbol === name);
  const quote = quotes.get(name);
  if (symbol === undefined || quote === undefined) throw new Error(`There is no ${name}.`);
  return { symbol, walk: draftWalk(symbol, quote, seed, { now: decisionTime, wake_at: decisionTime }) };
}

/** Bids of a walk, step by step, in points. */
function bids(name: string, steps: number, seed?: string): number[] {
  const { symbol, walk } = walkOf(name, seed);
  return Array.from({ length: steps }, (_, tick) => Number(walkPrice(symbol, walk, tick).bid.replace(".", "")));
}

describe("a walk", () => {
  it("is the published way of its symbol and seed: a change to it breaks the tests of integrators", () => {
    const { symbol, walk } = walkOf("EURUSD");
    const way = [0, 1, 2, 3, 60, 1440].map((tick) => walkPrice(symbol, walk, tick).bid);
    expect(way).toEqual(["1.10000", "1.09997", "1.09983", "1.09966", "1.09952", "1.09969"]);
  });

  it("steps where its path is at that step, whatever was looked at before", () => {
    const { symbol, walk } = walkOf("XAUUSD", "abc");
    let walking = walk;
    for (let step = 1; step <= 50; step += 1) {
      const { after, price } = nextStep(walking, symbol, decisionTime, decisionTime);
      expect(price).toEqual(walkPrice(symbol, walk, step));
      expect([after.tick, after.version]).toEqual([step, step + 1]);
      walking = after;
    }
  });

  it("begins where the price was, and goes another way for another seed or symbol", () => {
    const [own, other, sister] = [bids("EURUSD", 200), bids("EURUSD", 200, "2"), bids("GBPUSD", 200)];
    expect(own[0]).toBe(110_000);
    expect(own).not.toEqual(other);
    const moves = (way: readonly number[]) => way.slice(1).map((bid, place) => Math.sign(bid - (way[place] ?? 0)));
    expect(moves(own)).not.toEqual(moves(sister));
  });

  it("goes up and down about as often, a stride or so at a time, and does not jump", () => {
    const way = bids("EURUSD", 2000);
    const moves = way.slice(1).map((bid, place) => bid - (way[place] ?? 0));
    const ups = moves.filter((move) => move > 0).length / moves.length;
    expect(ups).toBeGreaterThan(0.4);
    expect(ups).toBeLessThan(0.6);
    expect(Math.max(...moves.map(Math.abs))).toBeLessThan(110_000 * 0.001);
    expect(new Set(way).size).toBeGreaterThan(200);
  });

  it("keeps its spread, stays above nothing and within a third of its beginning (any seed, any step)", () => {
    const property = fc.property(
      fc.constantFrom(...symbols.map(({ symbol }) => symbol)),
      fc.string({ maxLength: 64 }),
      fc.nat(limits.sandbox.max_walk_steps),
      (name, seed, tick) => {
        const { symbol, walk } = walkOf(name, seed);
        const { bid, ask } = walkPrice(symbol, walk, tick);
        const points = (price: string) => Math.round(Number(price) * 10 ** symbol.digits);
        expect(points(ask) - points(bid)).toBe(points(walk.spread));
        expect(Math.abs(Number(bid) / Number(walk.base) - 1)).toBeLessThan(1 / 3);
      },
    );
    fc.assert(property, { numRuns: 500 });
  });
});
