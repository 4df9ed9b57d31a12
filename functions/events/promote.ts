import type { Context } from "aws-lambda";
import { expireOverdue } from "../../shared/data/expiry.ts";
import { publishOverdue } from "../../shared/data/publish.ts";
import { limits } from "../../shared/limits.ts";
import { log } from "../../shared/runtime/log.ts";

/** On a schedule: publishes what the stream did not bring in time, and lets undecided transactions expire. */
export async function handler(_event: unknown, context: Context): Promise<Record<string, number>> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  const goOn = () => remainingMs() > limits.events.sweep_reserve_ms;
  const [{ expired, failed: stuck }, { published, failed }] = await Promise.all([
    expireOverdue(goOn, remainingMs),
    publishOverdue(goOn),
  ]);
  const done = { published, unpublished: failed, expired, stuck };
  if (Object.values(done).some((count) => count > 0)) log.warn("There was overdue work.", done);
  return done;
}
