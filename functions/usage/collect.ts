import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import type { SweepResult } from "../../shared/table/due.ts";
import { collectUsage } from "../../shared/usage/collect.ts";

/**
 * Runs on a schedule: counts the requests, the stream and the events since the run before.
 * @throws Error when requests could not be counted, or the events of a brokerage, after everything else was
 */
export async function handler(_event: unknown, context: Context): Promise<SweepResult> {
  const result = await collectUsage(() => context.getRemainingTimeInMillis() > limits.usage.reserve_ms);
  if (result.failed > 0) throw new Error(`The usage is not counted: ${result.failed} of its parts failed.`);
  return result;
}
