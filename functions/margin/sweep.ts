import type { Context } from "aws-lambda";
import { limits } from "../../shared/limits.ts";
import { sweptBy } from "../../shared/table/due.ts";
import { sweepBreaches, sweepRisks } from "../../shared/trading/margin-sweep.ts";
import { cancelVoidOrders, expireOrders } from "../../shared/trading/order-sweep.ts";

/**
 * On a schedule: sends for the accounts that no message may wake any more, and ends orders whose time has come or whose
 * account was disabled. Side by side, so that none holds the others.
 */
export async function handler(_event: unknown, context: Context): Promise<Record<string, number>> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  const goOn = () => remainingMs() > limits.events.sweep_reserve_ms;
  return sweptBy({
    resumed: sweepRisks(goOn),
    beyond: sweepBreaches(goOn),
    expired: expireOrders({ goOn, remainingMs }),
    cancelled: cancelVoidOrders({ goOn, remainingMs }),
  });
}
