import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { stepWalks } from "../../shared/sandbox/walks.ts";
import type { SweepResult } from "../../shared/table/due.ts";

/** Runs on a schedule, in the sandbox only: moves prices in `walk` mode by their next step. */
export function handler(_event: unknown, context: Context): Promise<SweepResult> {
  return stepWalks(() => context.getRemainingTimeInMillis() > limits.events.sweep_reserve_ms);
}
