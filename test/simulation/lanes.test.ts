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
