import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { provideOverdue } from "../../shared/sandbox/provider.ts";
import type { Swept } from "../../shared/table/due.ts";

/** On a schedule, in the sandbox alone: its payment provider does what is due. */
export function handler(_event: unknown, context: Context): Promise<Swept> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  return provideOverdue(() => remainingMs() > limits.events.sweep_reserve_ms, remainingMs);
}
