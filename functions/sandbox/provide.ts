import type { Context } from "aws-lambda";
import type { Swept } from "../../shared/data/due.ts";
import { provideOverdue } from "../../shared/data/sandbox-provider.ts";
import { limits } from "../../shared/limits.ts";

/** On a schedule, in the sandbox alone: its payment provider does what is due. */
export function handler(_event: unknown, context: Context): Promise<Swept> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  return provideOverdue(() => remainingMs() > limits.events.sweep_reserve_ms, remainingMs);
}
