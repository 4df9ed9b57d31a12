import fc from "fast-check";
import { expect, it } from "vitest";
import { runningDay } from "../../infra/dashboard/app/pages/money/running-day.ts";
import { BookDays } from "../../shared/domain/books/days.ts";

const zones = ["UTC", "America/New_York", "Europe/Prague", "Africa/Cairo", "Asia/Kolkata", "Pacific/Kiritimati"];

it("the running day has the label that the service gives it, at any moment under any rule", () => {
  const rules = fc.record({
    time: fc.constantFrom("00:00", "00:30", "05:00", "17:00", "23:59"),
    zone: fc.constantFrom(...zones),
  });
  // Minutes: the clock of the page shows no seconds.
  const minutes = fc.integer({ min: 0, max: 3 * 365 * 24 * 60 });
  fc.assert(
    fc.property(rules, minutes, (rule, minute) => {
      const ms = Date.UTC(2026, 0, 3) + minute * 60_000;
      const begin = { tenant_id: "brk_1", at: new Date(ms - 30 * 86_400_000).toISOString() };
      expect(runningDay(rule, ms)).toBe(new BookDays([], rule, begin).at(new Date(ms).toISOString()).day);
    }),
    { numRuns: 2000 },
  );
});
