/** The day of a moment, `2026-11-23` in UTC; empty for a text that is not one. */
export function dayOf(moment: string): string {
  const time = Date.parse(moment);
  return Number.isNaN(time) ? "" : new Date(time).toISOString().slice(0, 10);
}

/** Whether a text is a day of the calendar, `2026-11-23`. */
export function isDay(text: string): boolean {
  return text !== "" && dayOf(text) === text;
}

/** A day of the calendar so many days after another one; before it for a negative number. */
export function daysAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00.000Z`) + days * 86_400_000).toISOString().slice(0, 10);
}
