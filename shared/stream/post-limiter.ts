import { limits } from "../limits.ts";
import { nowMs, pause } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";

/** When the posts that were let through so far are paid for, in epoch milliseconds. */
let paidUntil = 0;

/**
 * Waits until this environment may make one more post. All environments of the worker together make no more than the
 * stage may, so that no brokerage takes the posts of the others.
 */
export async function untilPostAllowed(): Promise<void> {
  const now = nowMs();
  paidUntil = Math.max(paidUntil, now - limits.stream.posts_burst_ms) + 1000 / env.postsPerSecond;
  if (paidUntil > now) await pause(paidUntil - now);
}
