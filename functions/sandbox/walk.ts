import type { Context } from "aws-lambda";
import type { Swept } from "../../shared/data/due.ts";
import { stepWalks } from "../../shared/data/sandbox-walks.ts";
import { limits } from "../../shared/limits.ts";

/** On a schedule, in the sandbox alone: prices that walk take their next step. */
export function handler(_event: unknown, context: Context): Promise<Swept> {
  return stepWalks(() => context.getRemainingTimeInMillis() > limits.events.sweep_reserve_ms);
}
