import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { resetOverdue } from "../../shared/sandbox/reset.ts";
import type { SweepResult } from "../../shared/table/due.ts";

/** Runs on a schedule, in the sandbox only: removes the data that brokerages had before their reset. */
export function handler(_event: unknown, context: Context): Promise<SweepResult> {
  return resetOverdue(() => context.getRemainingTimeInMillis() > limits.events.sweep_reserve_ms);
}
