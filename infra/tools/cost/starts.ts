import { limits } from "../../../shared/limits.ts";
import { traffic } from "./traffic.ts";

/** How environments of a function are kept. */
export interface Kept {
  /** Minutes after which an idle environment ends: nothing is promised, 5 to 15 are seen. */
  readonly idle_minutes: number;
  /** Whether a schedule keeps one environment of each function. */
  readonly warm: boolean;
}

/** Requests of a month per millisecond. */
export function perMs(requests: number): number {
  return requests / (traffic.hours_per_month * 3_600_000);
}

/**
 * Share of the invocations of one function that wait for the start of an environment, where they come at random: those
 * that find none, or find the only one busy.
 * @param per_ms invocations per millisecond
 * @param takes_ms how long one takes
 */
export function startingShare(per_ms: number, takes_ms: number, { idle_minutes, warm }: Kept): number {
  const idle_ms = idle_minutes * 60_000;
  const none = warm ? 0 : Math.exp(-per_ms * idle_ms);
  const busy = 1 - Math.exp(-per_ms * takes_ms);
  // A second environment is there if one was needed within the time that it is kept.
  const noSecond = Math.exp(-per_ms * busy * idle_ms);
  return none + (1 - none) * busy * noSecond;
}

/** Share of the requests about whose token the authorizer is asked: one caller's token is kept from then on. */
export function askedShare(per_ms: number): number {
  return 1 / (1 + per_ms * limits.authorizer.cache_seconds * 1000);
}
