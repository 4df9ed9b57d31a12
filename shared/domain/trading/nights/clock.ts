import { daysAfter } from "../../../calendar.ts";
import type { TradingSymbol } from "../../records/symbol.ts";
import { instantOf } from "../pricing/zone-clock.ts";

type Rolled = Pick<TradingSymbol, "swap">;

/** The moment of a symbol's rollover of a calendar day, in milliseconds since 1970: {@link instantOf}. */
export function rolloverMs({ swap }: Rolled, date: string): number {
  return instantOf(swap.rollover_zone ?? "UTC", date, swap.rollover_time);
}

/** The calendar day of the last rollover of a symbol that is not after a moment. */
export function lastRollover(symbol: Rolled, now: string): string {
  const ms = Date.parse(now);
  // A zone is at most a day ahead of UTC, and 24:00 of a day is on the next one.
  const latest = daysAfter(now.slice(0, 10), 1);
  return [0, -1, -2, -3].map((days) => daysAfter(latest, days)).find((date) => rolloverMs(symbol, date) <= ms) ?? "";
}
