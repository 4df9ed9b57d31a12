import { limits } from "../limits.ts";

/**
 * The next attempt after a failed one, and how it is woken. Attempts start at these times after the first, when each
 * fails at once and nothing is added:
 *
 *     attempt   1     2      3        4        5         6
 *     wait            60 s   300 s    30 min   2 h       24 h
 *     at        0 s   60 s   360 s    2,160 s  9,360 s   95,760 s
 *     woken by        retry_1m retry_5m  the sweep, through retry_long
 */
export interface NextAttempt {
  readonly attempt: number;
  /** Whole business seconds from the failure on. */
  readonly delay_seconds: number;
  /** Queue that holds the message; undefined where the wait is longer than a queue can hold one. */
  readonly queue: "retry_1m" | "retry_5m" | undefined;
}

/** A failure of an attempt besides its number. */
export interface Failure {
  /** A random number from 0 up to, not including, 1. */
  readonly chance: number;
  /** How long the receiver asked to be left alone, in seconds. */
  readonly retryAfterSeconds?: number | undefined;
}

/** Attempts that an event gets at most: the first one and one after each delay. */
export const maxAttempts = limits.webhooks.retry_delays_seconds.length + 1;

/**
 * The attempt after a failed one, undefined when that was the last. The delay is never shorter than the ladder's; a
 * receiver may ask for a longer one, up to a day.
 */
export function nextAttempt(attempt: number, { chance, retryAfterSeconds = 0 }: Failure): NextAttempt | undefined {
  const { retry_delays_seconds: delays, jitter_max, retry_after_max_seconds } = limits.webhooks;
  const base = delays[attempt - 1];
  if (base === undefined) return undefined;
  // A whole number of seconds, as SQS takes it: never early, and at most a tenth late.
  const scheduled = Math.floor(base * (1 + jitter_max * chance));
  const delay_seconds = Math.max(scheduled, Math.min(Math.ceil(retryAfterSeconds), retry_after_max_seconds));
  const queue = attempt === 1 ? "retry_1m" : attempt === 2 ? "retry_5m" : undefined;
  return {
    attempt: attempt + 1,
    delay_seconds,
    queue: delay_seconds > limits.queues.max_delay_seconds ? undefined : queue,
  };
}

// IMF-fixdate and the two obsolete forms that RFC 9110 5.6.7 asks to be understood.
const dates = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/,
];
const asctime = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/**
 * Seconds that a `Retry-After` asks for (RFC 9110 10.2.3): a number of seconds or a date. Undefined for what is
 * neither, and for a date that has passed. A number may have any length, and is Infinity with hundreds of digits:
 * {@link nextAttempt} caps it.
 */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text);
  const atMs = dateMs(text, nowMs);
  return atMs === undefined || atMs <= nowMs ? undefined : (atMs - nowMs) / 1000;
}

function dateMs(text: string, nowMs: number): number | undefined {
  const [, day, month, year, ...time] = dates.map((form) => form.exec(text)).find((found) => found !== null) ?? [];
  if (year !== undefined) return momentOf(year, month, day, time, nowMs);
  const [, named, padded, hour, minute, second, full] = asctime.exec(text) ?? [];
  return full === undefined ? undefined : momentOf(full, named, padded, [hour, minute, second], nowMs);
}

function momentOf(
  year: string,
  month: string | undefined,
  day: string | undefined,
  time: readonly (string | undefined)[],
  nowMs: number,
): number | undefined {
  const [hour = 0, minute = 0, second = 0] = time.map(Number);
  const index = months.indexOf(month ?? "");
  const inRange = index >= 0 && Number(day) >= 1 && Number(day) <= 31 && hour < 24 && minute < 60 && second <= 60;
  return inRange ? Date.UTC(fullYear(year, nowMs), index, Number(day), hour, minute, second) : undefined;
}

/** A year of two digits that would lie more than 50 years ahead is one of the past (RFC 9110 5.6.7). */
function fullYear(year: string, nowMs: number): number {
  if (year.length === 4) return Number(year);
  const present = new Date(nowMs).getUTCFullYear();
  const here = present - (present % 100) + Number(year);
  return here > present + 50 ? here - 100 : here;
}
