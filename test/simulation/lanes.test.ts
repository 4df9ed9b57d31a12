import { describe, expect, it } from "vitest";
import { quantiles } from "../support/stack/webhooks.ts";
import { type LanesRun, simulateLanes } from "./lanes.ts";

const play = (silent: number, more: Partial<LanesRun> = {}) =>
  simulateLanes({ silent, flood: 5, seconds: 200, lanes: true, ...more });
const slowest = (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value), 0);

describe("fresh endpoints that never answer", () => {
  const alone = quantiles(play(0).proven).p99;

  it.each([1, 2, 20])(
    "%i of them leave a proven endpoint under twice its p99 alone, an honest fresh one 90 s",
    (silent) => {
      const { proven, fresh, attempts, most_in_lane } = play(silent);
      expect(proven).toHaveLength(2000);
      expect(quantiles(proven).p99).toBeLessThan(2 * alone);
      expect(fresh).toHaveLength(199);
      expect(slowest(fresh)).toBeLessThan(90_000);
      // One attempt at the start and one after each closing of 30, 60 and 120 s.
      for (const count of attempts) expect(count).toBe(4);
      expect(most_in_lane).toBeLessThanOrEqual(silent + 20);
    },
  );

  it("would hold up both in one queue: the simulation finds what the lanes are for", () => {
    const { proven, fresh } = play(20, { lanes: false });
    expect(proven.length).toBeLessThan(1000);
    expect(slowest(fresh)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("an endpoint with more events than four slots take", () => {
  const alone = quantiles(play(0, { seconds: 60 }).proven).p99;
  const loud = (answer_ms: number, grows: boolean) => play(0, { seconds: 60, loud: { pace: 100, answer_ms, grows } });

  it.each([
    { answer_ms: 100, before: [39, 41], after: 99 },
    { answer_ms: 300, before: [13, 14], after: 45 },
  ])("is sent to at more than twice the pace when it answers in $answer_ms ms", ({ answer_ms, before, after }) => {
    const [least = 0, most = 0] = before;
    const fixed = loud(answer_ms, false).loud_per_second;
    expect(fixed).toBeGreaterThan(least);
    expect(fixed).toBeLessThan(most);
    const grown = loud(answer_ms, true);
    expect(grown.loud_per_second).toBeGreaterThan(after);
    // Another one waits for one of its answers at most: the workers that it holds are free again by then.
    expect(grown.proven).toHaveLength(600);
    expect(quantiles(grown.proven).p99).toBeLessThan(alone + answer_ms);
  });

  it("gains nothing by slow answers, which would hold every worker", () => {
    expect(loud(900, true).loud_per_second).toBe(loud(900, false).loud_per_second);
  });
});
