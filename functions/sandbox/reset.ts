import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { resetOverdue } from "../../shared/sandbox/reset.ts";
import type { Swept } from "../../shared/table/due.ts";

/** On a schedule, in the sandbox alone: removes what brokerages had before they were reset. */
export function handler(_event: unknown, context: Context): Promise<Swept> {
  return resetOverdue(() => context.getRemainingTimeInMillis() > limits.events.sweep_reserve_ms);
}
