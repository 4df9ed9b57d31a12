import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { sweepStreams } from "../../shared/stream/sweep.ts";
import { runSweeps } from "../../shared/table/due.ts";

/** Runs on a schedule: wakes the sets of connections of every brokerage and repairs what was not finished. */
export async function handler(_event: unknown, context: Context): Promise<Record<string, number>> {
  return runSweeps({
    woken: sweepStreams(() => context.getRemainingTimeInMillis() > limits.events.sweep_reserve_ms),
  });
}
