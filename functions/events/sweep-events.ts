import type { Context } from "aws-lambda";
import { operatorAction } from "../../shared/events/operator-actions.ts";
import { wakePublisher } from "../../shared/events/publish-groups.ts";
import { writeCountedRefusals } from "../../shared/events/refusals.ts";
import { settleOverdueCommands } from "../../shared/feed/command-sweep.ts";
import { endAdoptions } from "../../shared/feed/end-adoption.ts";
import { watchSources } from "../../shared/feed/source-sweep.ts";
import { limits } from "../../shared/limits.ts";
import { runSweeps } from "../../shared/table/due.ts";
import { expireOverdue, expireVerifications } from "../../shared/trading/expiry.ts";
import { continueTransfers } from "../../shared/trading/transfer-steps.ts";
import { cancelUnwanted, wakeDeliveries } from "../../shared/webhooks/delivery-sweep.ts";
import { completeFanOut } from "../../shared/webhooks/owed-deliveries.ts";
import { replayOverdue } from "../../shared/webhooks/replay.ts";
import { switchOffNoted } from "../../shared/webhooks/switch-off.ts";

/**
 * Runs on a schedule: sends due deliveries and completes unfinished work, all at once; or runs an operator's action.
 */
export async function handler(event: { action?: string }, context: Context): Promise<Record<string, number>> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  const hasTime = () => remainingMs() > limits.events.sweep_reserve_ms;
  const asked = operatorAction(event, hasTime);
  if (asked !== undefined) return asked;
  return runSweeps({
    unpublished: wakePublisher(hasTime),
    fanned_out: completeFanOut(hasTime),
    woken: wakeDeliveries(hasTime),
    replayed: replayOverdue(hasTime),
    switched_off: switchOffNoted(hasTime),
    cancelled: cancelUnwanted(hasTime),
    expired: expireOverdue(hasTime, remainingMs),
    lapsed: expireVerifications(hasTime, remainingMs),
    transferred: continueTransfers(hasTime, remainingMs),
    settled: settleOverdueCommands(hasTime, remainingMs),
    retried: endAdoptions(hasTime, remainingMs),
    announced: watchSources(hasTime, remainingMs),
    refusals: writeCountedRefusals(hasTime),
  });
}
