import { describe, expect, it } from "vitest";
import { lasting } from "../functions/progress.ts";
import { type Contestant, contestants } from "./bundles.ts";
import { type Comparison, type Figures, missesOf, type Ratio, type Round, ratioOf } from "./figures.ts";
import { comparisonReport } from "./report.ts";

const names = Object.keys(contestants) as Contestant[];
const same = (ratio: number): Ratio => ({ ms: 10 * ratio, lowest: ratio, median: ratio, highest: ratio });

/** Each framework takes twice as much, but for what is given. */
function comparison(given: Partial<Record<Contestant, Partial<Figures>>> = {}): Comparison {
  const figuresOf = (name: Contestant): Figures => {
    const ratio = name === "ours" ? 1 : 2;
    const times = { init_ms: same(ratio), first_ms: same(ratio), cold_ms: same(ratio), warm_ms: same(ratio) };
    return { ...times, kibibytes: 100 * ratio, gzipped: 30 * ratio, ...given[name] };
  };
  const by = Object.fromEntries(names.map((name) => [name, figuresOf(name)])) as Comparison["get-client"];
  return { "get-client": by, "create-client": by };
}

describe("a ratio", () => {
  const took = (init_ms: number, first_ms: number) => ({ init_ms, first_ms, warm_ms: 1 });
  const round = (ours: number, hono: number): Round =>
    Object.fromEntries(names.map((name) => [name, name === "hono" ? took(hono, 3) : took(ours, 1)])) as Round;
  const rounds = [round(10, 20), round(20, 80), round(10, 30)];

  it("is that to ours of the same round: the lowest, the middle and the highest", () => {
    expect(ratioOf(rounds, "hono", "init_ms")).toEqual({ ms: 30, lowest: 2, median: 3, highest: 4 });
    expect(ratioOf(rounds, "ours", "init_ms")).toEqual({ ms: 10, lowest: 1, median: 1, highest: 1 });
  });

  it("of a cold start is that of the start and the first request together", () => {
    expect(ratioOf(rounds, "hono", "cold_ms").highest).toBe(83 / 21);
  });
});

describe("what must hold", () => {
  it("holds where every framework takes more", () => {
    expect(missesOf(comparison())).toEqual([]);
  });

  it.each<[string, Contestant, Partial<Figures>]>([
    ["the bundle", "express", { gzipped: 30 }],
    ["the start", "nest", { init_ms: same(0.9) }],
    ["the first request", "fastify", { first_ms: same(1) }],
    ["a warm request", "hono", { warm_ms: same(0.99) }],
  ])("names the framework that is ahead in %s, for both requests", (what, framework, better) => {
    const misses = missesOf(comparison({ [framework]: better }));
    expect(misses).toHaveLength(2);
    expect(misses[0]).toContain(`get-client, ${what}: ${contestants[framework]} takes`);
  });

  it("lets Hono take as much for a warm request, and the others less", () => {
    expect(missesOf(comparison({ hono: { warm_ms: same(1) }, express: { warm_ms: same(0.5) } }))).toEqual([]);
  });
});

describe("the results", () => {
  it("name every contestant with its ratios", () => {
    const given = { rounds: 3, runtime: "Node", versions: { hono: "1.2.3" } };
    const text = comparisonReport(comparison({ hono: { init_ms: { ...same(7), lowest: 5, highest: 9 } } }), given);
    for (const name of names) expect(text.split(`| ${contestants[name]} |`)).toHaveLength(3);
    expect(text).toContain("**7.00** (5.00 to 9.00)");
    expect(text).toContain("hono 1.2.3.");
  });
});

it("says a duration in minutes and seconds", () => {
  expect([400, 59_400, 59_600, 125_000].map(lasting)).toEqual(["0 s", "59 s", "1 min 00 s", "2 min 05 s"]);
});
