import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BookDay, BookDays, refuseDayEnd, withBegunDays } from "../../../shared/domain/books/days.ts";
import { tenantId } from "../../support/builders/decisions.ts";

const hour = 3_600_000;
const at = (ms: number) => new Date(ms).toISOString();
const hoursOf = ({ starts_at, ends_at }: BookDay) => (Date.parse(ends_at) - Date.parse(starts_at)) / hour;
const zones = [
  ...["UTC", "America/New_York", "Asia/Tokyo", "Europe/Berlin", "Asia/Kolkata", "Pacific/Kiritimati"],
  ...["Pacific/Pago_Pago", "Australia/Lord_Howe", "America/St_Johns", "Africa/Cairo"],
];
const begin = { tenant_id: tenantId, at: "2026-01-05T10:11:12.000Z" };
const rules = fc.record({
  zone: fc.constantFrom(...zones),
  time: fc.constantFrom("00:00", "00:30", "02:30", "12:00", "17:00", "23:59"),
});

describe("the days of a brokerage", () => {
  it("end at midnight UTC where it has set nothing, the first one begun with the brokerage", () => {
    const days = new BookDays([], undefined, begin);
    const named = (day: string, starts_at: string, ends_at: string) => ({
      tenant_id: tenantId,
      day,
      starts_at,
      ends_at,
    });
    expect(days.until("2026-01-06T00:00:00.000Z")).toEqual([
      named("2026-01-05", begin.at, "2026-01-06T00:00:00.000Z"),
      named("2026-01-06", "2026-01-06T00:00:00.000Z", "2026-01-07T00:00:00.000Z"),
    ]);
    expect(days.at("2026-01-05T23:59:59.999Z").day).toBe("2026-01-05");
    expect(days.at("2026-01-06T00:00:00.000Z").day).toBe("2026-01-06");
  });

  it("end at 17:00 in New York, an hour earlier by UTC in summer", () => {
    const days = new BookDays([], { time: "17:00", zone: "America/New_York" }, begin);
    expect(days.at("2026-03-06T23:00:00.000Z")).toMatchObject({
      day: "2026-03-07",
      ends_at: "2026-03-07T22:00:00.000Z",
    });
    expect(days.at("2026-03-08T12:00:00.000Z")).toMatchObject({
      day: "2026-03-08",
      ends_at: "2026-03-08T21:00:00.000Z",
    });
  });

  it("have 23 to 25 hours while the rule stays", () => {
    for (const zone of zones) {
      for (const time of ["00:00", "02:30", "17:00"]) {
        const days = new BookDays([], { time, zone }, begin).until("2029-01-01T00:00:00.000Z").slice(1);
        const hours = days.map(hoursOf);
        expect([Math.min(...hours) >= 23, Math.max(...hours) <= 25, days.length > 1000], zone).toEqual([
          true,
          true,
          true,
        ]);
      }
    }
  });

  it("have no hole, no overlap and rising labels whatever the changes, which count from the next day", () => {
    let shortest = Number.POSITIVE_INFINITY;
    let longest = 0;
    fc.assert(
      fc.property(
        fc.array(fc.record({ rule: rules, hours: fc.integer({ min: 1, max: 400 }) }), { minLength: 1 }),
        (changes) => {
          let stored: readonly BookDay[] = [];
          let rule = changes[0]?.rule;
          let now = Date.parse(begin.at);
          for (const change of changes) {
            now += change.hours * hour;
            const days = new BookDays(stored, rule, begin);
            const running = days.at(at(now));
            stored = days.until(at(now));
            rule = change.rule;
            expect(new BookDays(stored, rule, begin).at(at(now))).toEqual(running);
          }
          const all = new BookDays(stored, rule, begin).until(at(now + 100 * hour));
          expect(all[0]?.starts_at).toBe(begin.at);
          for (const [place, day] of all.entries()) {
            const before = all[place - 1];
            if (before === undefined) continue;
            expect([day.starts_at, day.day > before.day]).toEqual([before.ends_at, true]);
            [shortest, longest] = [Math.min(shortest, hoursOf(day)), Math.max(longest, hoursOf(day))];
          }
        },
      ),
      { numRuns: 300 },
    );
    expect([shortest > 0, longest <= 73]).toEqual([true, true]);
  });
});

it("refuses a zone that does not exist", () => {
  expect(refuseDayEnd({ time: "17:00", zone: "Mars/Olympus" })).toMatchObject({
    refusal: { errors: [{ pointer: "#/day_end/zone", detail: "must be a time zone (IANA)" }] },
  });
  expect(refuseDayEnd({ time: "17:00", zone: "Asia/Tokyo" })).toBeUndefined();
  expect(refuseDayEnd(undefined)).toBeUndefined();
});

it("stores the days that have begun with a change of the rule alone", () => {
  const begun = [...new BookDays([], undefined, begin).until("2026-01-06T10:00:00.000Z")];
  const change = { op: "create", entity: "tenant", item: {} } as const;
  const changed = withBegunDays({ ok: true, result: 1, changes: [change], events: [] }, begun);
  expect(changed.ok && changed.changes.slice(1)).toEqual(begun.map((item) => ({ op: "create", entity: "day", item })));
  const same = { ok: true, result: 1, changes: [], events: [] } as const;
  expect(withBegunDays(same, begun)).toBe(same);
});
