import { limits } from "../../../limits.ts";

const dayMs = 24 * 3600 * 1000;

/** A zone's clock, by its name: to make one takes longer than everything that is asked of it. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  const fields = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const;
  const made = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", second: "2-digit", ...fields });
  if (clocks.size >= limits.trading.remembered_zones) clocks.clear();
  clocks.set(zone, made);
  return made;
}

/** Whether a text names a time zone (IANA) that this service has the rules of. */
export function isZone(zone: string): boolean {
  try {
    return clockOf(zone) !== undefined;
  } catch {
    return false;
  }
}

/** How far a zone's clock is ahead of UTC at a moment, in milliseconds. */
function aheadMs(zone: string, ms: number): number {
  if (zone === "UTC") return 0;
  const parts = new Map(
    clockOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const of = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
  const shown = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return shown - Math.floor(ms / 1000) * 1000;
}

const instants = new Map<string, number>();

/**
 * The moment at which the clock of a zone shows a time of a calendar day, in milliseconds since 1970. A time that a
 * change to summer time leaves out is that much later; of one that comes twice it is the first. `24:00` is midnight of
 * the next day.
 */
export function instantOf(zone: string, date: string, time: string): number {
  const name = `${zone} ${time} ${date}`;
  const known = instants.get(name);
  if (known !== undefined) return known;
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  const shown = Date.parse(`${date}T00:00:00.000Z`) + (hours * 60 + minutes) * 60_000;
  const [before, after] = [aheadMs(zone, shown - dayMs), aheadMs(zone, shown + dayMs)];
  const exact = [before, after].map((ahead) => shown - ahead).filter((ms) => ms + aheadMs(zone, ms) === shown);
  const instant = exact.length > 0 ? Math.min(...exact) : shown - before;
  if (instants.size >= limits.trading.remembered_instants) instants.clear();
  instants.set(name, instant);
  return instant;
}
