import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maxAttempts, nextAttempt, retryAfterSeconds } from "../../shared/webhooks/ladder.ts";

const now = Date.parse("2026-11-21T06:30:00.000Z");

/** When the attempts start, in seconds, if each fails at once. */
function times(chance: () => number, retryAfter?: number): number[] {
  const at = [0];
  for (let attempt = 1; ; attempt += 1) {
    const next = nextAttempt(attempt, { chance: chance(), retryAfterSeconds: retryAfter });
    if (next === undefined) return at;
    at.push((at.at(-1) ?? 0) + next.delay_seconds);
  }
}

describe("the ladder", () => {
  it("has no seventh attempt", () => {
    expect(nextAttempt(6, { chance: 0 })).toBeUndefined();
    expect(nextAttempt(7, { chance: 0 })).toBeUndefined();
    expect(maxAttempts).toBe(6);
  });

  it("tries at 0, 60, 360, 2160, 9360 and 95760 seconds", () => {
    expect(times(() => 0)).toEqual([0, 60, 360, 2160, 9360, 95_760]);
  });

  it("is never early and at most a tenth late, whatever the dice say", () => {
    const delays = [60, 300, 1800, 7200, 86_400];
    const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), dice, (attempt, chance) => {
        const base = delays[attempt - 1] ?? 0;
        const delay = nextAttempt(attempt, { chance })?.delay_seconds ?? 0;
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(base);
        expect(delay).toBeLessThanOrEqual(base * 1.1);
      }),
    );
  });

  it("is woken by a queue where a queue can hold the message, else by the sweep", () => {
    const queues = [1, 2, 3, 4, 5].map((attempt) => nextAttempt(attempt, { chance: 0.99 })?.queue);
    expect(queues).toEqual(["retry_1m", "retry_5m", undefined, undefined, undefined]);
    expect(nextAttempt(1, { chance: 0, retryAfterSeconds: 900 })?.queue).toBe("retry_1m");
    expect(nextAttempt(1, { chance: 0, retryAfterSeconds: 901 })?.queue).toBeUndefined();
  });

  it("waits longer for a receiver that asks for it, never shorter, and never longer than a day", () => {
    const delay = (attempt: number, retryAfter: number) =>
      nextAttempt(attempt, { chance: 0, retryAfterSeconds: retryAfter })?.delay_seconds;
    expect(delay(1, 1)).toBe(60);
    expect(delay(1, 60.5)).toBe(61);
    expect(delay(1, 3600)).toBe(3600);
    expect(delay(1, 9_999_999_999)).toBe(86_400);
    expect(delay(5, 90_000)).toBe(86_400);
    expect(times(() => 0, 7200)).toEqual([0, 7200, 14_400, 21_600, 28_800, 115_200]);
  });
});

describe("Retry-After", () => {
  it.each([10, 11, 20, 400])("of %d digits is as long as any receiver may ask for", (digits) => {
    const asked = retryAfterSeconds("9".repeat(digits), now);
    expect(nextAttempt(1, { chance: 0, retryAfterSeconds: asked })?.delay_seconds).toBe(86_400);
    const padded = retryAfterSeconds("120".padStart(digits, "0"), now);
    expect(nextAttempt(1, { chance: 0, retryAfterSeconds: padded })?.delay_seconds).toBe(120);
  });

  it.each([
    ["nothing", undefined],
    ["an empty text", ""],
    ["a negative number", "-5"],
    ["a fraction", "1.5"],
    ["an exponent", "1e9"],
    ["a date that has passed", "Sat, 21 Nov 2026 06:29:59 GMT"],
    ["a date of this moment", "Sat, 21 Nov 2026 06:30:00 GMT"],
    ["a date in another zone", "Sat, 21 Nov 2026 07:30:00 +0100"],
    ["RFC 3339", "2026-11-21T07:30:00Z"],
    ["a month that is none", "Sat, 21 Nox 2026 07:30:00 GMT"],
    ["an hour that is none", "Sat, 21 Nov 2026 25:30:00 GMT"],
    ["two values", "5, 6"],
  ])("that is %s asks for nothing", (_, header) => {
    expect(retryAfterSeconds(header, now)).toBeUndefined();
  });

  it.each([
    ["120", 120],
    [" 0 ", 0],
    ["Sat, 21 Nov 2026 06:40:00 GMT", 600],
    ["Saturday, 21-Nov-26 06:40:00 GMT", 600],
    ["Sat Nov 21 06:40:00 2026", 600],
    ["Sat Nov 21 06:40:00 2026 ", 600],
    ["Tue Dec  1 06:30:00 2026", 864_000],
  ])("%s is understood (RFC 9110 10.2.3)", (header, seconds) => {
    expect(retryAfterSeconds(header, now)).toBe(seconds);
  });

  it("takes a year of two digits that is far ahead for one of the past", () => {
    expect(retryAfterSeconds("Saturday, 21-Nov-99 06:40:00 GMT", now)).toBeUndefined();
  });
});
