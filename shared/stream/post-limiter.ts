import { nowMs, pause } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";

/** So much of a second may be used at once: a set of fifty connections is served without a wait. */
const burst_ms = 200;

/** When the posts that were let through so far are paid for, in epoch milliseconds. */
let paidUntil = 0;

/**
 * Waits until this environment may make one more post. All environments of the worker together make no more than the
 * stage may, so that no brokerage takes the posts of the others.
 */
export async function untilPostAllowed(): Promise<void> {
  const now = nowMs();
  paidUntil = Math.max(paidUntil, now - burst_ms) + 1000 / env.postsPerSecond;
  if (paidUntil > now) await pause(paidUntil - now);
}
