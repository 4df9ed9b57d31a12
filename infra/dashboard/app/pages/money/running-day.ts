import { daysAfter } from "../../../../../shared/calendar.ts";
import type { Schemas } from "../../api/types.ts";

/** When the days of the brokerage end, as its settings have it. */
export type DayEnd = Schemas["Settings"]["day_end"];

/** The date and the time of day that the clock of a zone shows. */
function clockOf(zone: string, nowMs: number): readonly [date: string, time: string] {
  const parts = new Intl.DateTimeFormat("en-CA", {
    ...{ timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit" },
    ...{ hour: "2-digit", minute: "2-digit" },
  }).formatToParts(nowMs);
  const of = (wanted: string) => parts.find(({ type }) => type === wanted)?.value ?? "";
  return [`${of("year")}-${of("month")}-${of("day")}`, `${of("hour")}:${of("minute")}`];
}

/**
 * The label of the day that runs at a moment: a day that ends at 17:00 has the date on which it ends. The service
 * decides; on the day after a change of the rule its label may be another one.
 */
export function runningDay({ time, zone }: DayEnd, nowMs: number): string {
  const [date, now] = clockOf(zone, nowMs);
  if (time === "00:00" || now < time) return date;
  return daysAfter(date, 1);
}

/** When the running day began, in words: `17:00 America/New_York`. */
export const startText = ({ time, zone }: DayEnd): string => `${time} ${zone}`;
