import { limits } from "../limits.ts";

/** When the usage of a day expires, epoch seconds. */
export function expiryOf(day: string): number {
  return Date.parse(day) / 1000 + limits.usage.kept_seconds;
}
