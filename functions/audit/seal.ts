import type { Context } from "aws-lambda";
import { sealDays } from "../../shared/events/audit-sealing.ts";
import { limits } from "../../shared/limits.ts";
import type { SweepResult } from "../../shared/table/due.ts";

/**
 * Runs on a schedule: seals the days of the audit that are over in the locked bucket, and announces their heads.
 * @throws Error when it failed with a brokerage, after all the others: an alarm counts it
 */
export async function handler(_event: unknown, context: Context): Promise<SweepResult> {
  const result = await sealDays(() => context.getRemainingTimeInMillis() > limits.audit.seal_reserve_ms);
  if (result.failed > 0) throw new Error(`The audit of ${result.failed} brokerages could not be sealed.`);
  return result;
}
