import type { Context } from "aws-lambda";
import type { Swept } from "../../shared/data/due.ts";
import { resetOverdue } from "../../shared/data/sandbox-reset.ts";
import { limits } from "../../shared/limits.ts";

/** On a schedule, in the sandbox alone: removes what brokerages had before they were reset. */
export function handler(_event: unknown, context: Context): Promise<Swept> {
  return resetOverdue(() => context.getRemainingTimeInMillis() > limits.events.sweep_reserve_ms);
}
