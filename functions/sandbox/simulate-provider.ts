import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { simulateOverdue } from "../../shared/sandbox/provider.ts";
import type { SweepResult } from "../../shared/table/due.ts";

/** Runs on a schedule, in the sandbox only: simulates the payment provider for transactions that are due. */
export function handler(_event: unknown, context: Context): Promise<SweepResult> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  return simulateOverdue(() => remainingMs() > limits.events.sweep_reserve_ms, remainingMs);
}
