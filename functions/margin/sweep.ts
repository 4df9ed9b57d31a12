import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { runSweeps } from "../../shared/table/due.ts";
import { sweepBreaches, sweepRisks } from "../../shared/trading/margin-sweep.ts";
import { sumOpenInterest } from "../../shared/trading/open-interest.ts";
import { cancelVoidOrders, expireOrders } from "../../shared/trading/order-sweep.ts";

/**
 * Runs on a schedule: enqueues accounts whose evaluation is due without a message, expires orders, cancels orders of
 * disabled accounts, and sums open positions. The sweeps run concurrently, so that none delays the others.
 */
export async function handler(_event: unknown, context: Context): Promise<Record<string, number>> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  const hasTime = () => remainingMs() > limits.events.sweep_reserve_ms;
  return runSweeps({
    resumed: sweepRisks(hasTime),
    past_trigger: sweepBreaches(hasTime),
    expired: expireOrders({ hasTime, remainingMs }),
    cancelled: cancelVoidOrders({ hasTime, remainingMs }),
    summed: sumOpenInterest(hasTime),
  });
}
