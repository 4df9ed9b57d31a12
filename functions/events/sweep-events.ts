import type { Context } from "aws-lambda";
import { releaseParked } from "../../shared/events/parking.ts";
import { wakePublisher } from "../../shared/events/publish-groups.ts";
import { writeCountedRefusals } from "../../shared/events/refusals.ts";
import { settleOverdueCommands } from "../../shared/feed/command-sweep.ts";
import { endAdoptions } from "../../shared/feed/end-adoption.ts";
import { watchSources } from "../../shared/feed/source-sweep.ts";
import { limits } from "../../shared/limits.ts";
import { runSweeps } from "../../shared/table/due.ts";
import { expireOverdue } from "../../shared/trading/expiry.ts";
import { continueTransfers } from "../../shared/trading/transfer-steps.ts";
import { cancelUnwanted, wakeDeliveries } from "../../shared/webhooks/delivery-sweep.ts";
import { completeFanOut } from "../../shared/webhooks/owed-deliveries.ts";
import { replayOverdue } from "../../shared/webhooks/replay.ts";
import { switchOffNoted } from "../../shared/webhooks/switch-off.ts";

/**
 * Runs on a schedule: sends deliveries that are due, and completes work that was started and not finished. The sweeps
 * run concurrently, so that neither a backlog nor a failure of one delays the others. With the action `release_parked`
 * it puts back what an operator wants to have published again, and does nothing else.
 */
export async function handler(event: { action?: string }, context: Context): Promise<Record<string, number>> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  const hasTime = () => remainingMs() > limits.events.sweep_reserve_ms;
  if (event.action === "release_parked") return releaseParked(hasTime);
  return runSweeps({
    unpublished: wakePublisher(hasTime),
    fanned_out: completeFanOut(hasTime),
    woken: wakeDeliveries(hasTime),
    replayed: replayOverdue(hasTime),
    switched_off: switchOffNoted(hasTime),
    cancelled: cancelUnwanted(hasTime),
    expired: expireOverdue(hasTime, remainingMs),
    transferred: continueTransfers(hasTime, remainingMs),
    settled: settleOverdueCommands(hasTime, remainingMs),
    retried: endAdoptions(hasTime, remainingMs),
    announced: watchSources(hasTime, remainingMs),
    refusals: writeCountedRefusals(hasTime),
  });
}
