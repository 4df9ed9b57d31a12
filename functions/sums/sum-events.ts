import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { sumAllEvents } from "../../shared/sums/sum-events.ts";
import type { SweepResult } from "../../shared/table/due.ts";

/**
 * Runs on a schedule: adds the events of transactions since the run before to the sums of their days.
 * @throws Error when those of a brokerage could not be summed, after everything else was
 */
export async function handler(_event: unknown, context: Context): Promise<SweepResult> {
  const result = await sumAllEvents(() => context.getRemainingTimeInMillis() > limits.sums.reserve_ms);
  if (result.failed > 0) throw new Error(`The transactions of ${result.failed} brokerages could not be summed.`);
  return result;
}
