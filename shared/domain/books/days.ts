import { dayOf, daysAfter } from "../../calendar.ts";
import { limits } from "../../limits.ts";
import { dayEndOf } from "../access/tenant.ts";
import { refuseFields } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Tenant } from "../records/tenant.ts";
import { instantOf, isZone } from "../trading/pricing/zone-clock.ts";

/** When the days of a brokerage end: a time on the clock of a zone. */
type DayEnd = NonNullable<Tenant["day_end"]>;

/** A day of a brokerage: from the end of the one before it, to its own, RFC 3339. */
export interface BookDay {
  readonly tenant_id: string;
  /** Its label, `2026-11-27`: each day has a later one than the day before it. */
  readonly day: string;
  readonly starts_at: string;
  readonly ends_at: string;
}

/** The moment at which a day ends under a rule: with 00:00 at the midnight after it. */
function endOf({ time, zone }: DayEnd, day: string): string {
  return new Date(instantOf(zone, day, time === "00:00" ? "24:00" : time)).toISOString();
}

/** The days of a brokerage: those that are stored, and after them those that follow under its rule. */
export class BookDays {
  private readonly known: BookDay[];
  private readonly rule: DayEnd;

  /**
   * @param stored days in their order, without one left out between two of them
   * @param begin the brokerage and its first moment, where none is stored
   */
  constructor(
    stored: readonly BookDay[],
    rule: DayEnd | undefined,
    begin: { readonly tenant_id: string; readonly at: string },
  ) {
    this.rule = rule ?? dayEndOf({});
    // A zone is at most a day from UTC.
    const before = { ...begin, day: daysAfter(dayOf(begin.at), -2), ends_at: begin.at };
    this.known = stored.length > 0 ? [...stored] : [this.following(before)];
  }

  /**
   * The day that a moment is in. A day that is not stored starts where the last one ends and has the first later label
   * whose end is after that: no day is without a length, and no moment is in two days or in none.
   */
  at(moment: string): BookDay {
    for (;;) {
      const found = this.known.find(({ ends_at }) => moment < ends_at);
      if (found !== undefined) return found;
      this.known.push(this.following(this.last));
    }
  }

  /** The days up to the one that a moment is in. */
  until(moment: string): readonly BookDay[] {
    const last = this.at(moment);
    return this.known.filter(({ day }) => day <= last.day);
  }

  private get last(): BookDay {
    const last = this.known.at(-1);
    if (last === undefined) throw new Error("A brokerage has a first day.");
    return last;
  }

  private following({ tenant_id, day, ends_at }: Omit<BookDay, "starts_at">): BookDay {
    for (let label = daysAfter(day, 1); ; label = daysAfter(label, 1)) {
      const end = endOf(this.rule, label);
      if (end > ends_at) return { tenant_id, day: label, starts_at: ends_at, ends_at: end };
    }
  }
}

/** The refusal of an end of days in a zone that does not exist; undefined of any other. */
export function refuseDayEnd(end: DayEnd | undefined): Decision<never> | undefined {
  if (end === undefined || isZone(end.zone)) return undefined;
  return refuseFields([{ pointer: "#/day_end/zone", code: "invalid_value", detail: "must be a time zone (IANA)" }]);
}

/**
 * A change of the rule with the days that have begun under the old one, which keep their ends: they are stored with it.
 * @param begun days that are not stored, in their order, up to the one of now
 */
export function withBegunDays<R>(decision: Decision<R>, begun: readonly BookDay[]): Decision<R> {
  if (!decision.ok || decision.changes.length === 0) return decision;
  const kept = begun.slice(0, limits.books.begun_days).map((item) => ({ op: "create", entity: "day", item }) as const);
  return { ...decision, changes: [...decision.changes, ...kept] };
}
