import type { Context } from "aws-lambda";
import { expireVerifications } from "../../shared/clients/expiry.ts";
import { operatorAction } from "../../shared/events/operator-actions.ts";
import { wakePublisher } from "../../shared/events/publish-groups.ts";
import { writeCountedRefusals } from "../../shared/events/refusals.ts";
import { settleOverdueCommands } from "../../shared/feed/command-sweep.ts";
import { endAdoptions } from "../../shared/feed/end-adoption.ts";
import { watchSources } from "../../shared/feed/source-sweep.ts";
import { limits } from "../../shared/limits.ts";
import { expireOverdue } from "../../shared/money/expiry.ts";
import { continueTransfers } from "../../shared/money/transfer-steps.ts";
import { runSweeps } from "../../shared/table/due.ts";
import { cancelUnwanted, wakeDeliveries } from "../../shared/webhooks/delivery-sweep.ts";
import { completeFanOut } from "../../shared/webhooks/owed-deliveries.ts";
import { replayOverdue } from "../../shared/webhooks/replay.ts";
import { switchOffNoted } from "../../shared/webhooks/switch-off.ts";

/** Runs on a schedule: does all that is due and completes unfinished work; or runs an operator's action. */
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
