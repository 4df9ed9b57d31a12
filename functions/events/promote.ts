import type { Context } from "aws-lambda";
import { cancelUnwanted, wakeDeliveries } from "../../shared/data/delivery-sweep.ts";
import { expireOverdue } from "../../shared/data/expiry.ts";
import { fanOutOverdue } from "../../shared/data/fan-out.ts";
import { publishOverdue } from "../../shared/data/publish.ts";
import { replayOverdue } from "../../shared/data/replay.ts";
import { switchOffNoted } from "../../shared/data/switch-off.ts";
import { limits } from "../../shared/limits.ts";
import { log } from "../../shared/runtime/log.ts";

/**
 * On a schedule: sends the deliveries that are due, and does what was begun and not done. Side by side, so that neither
 * a backlog nor a failure of one sweep holds the others.
 */
export async function handler(_event: unknown, context: Context): Promise<Record<string, number>> {
  const remainingMs = () => context.getRemainingTimeInMillis();
  const goOn = () => remainingMs() > limits.events.sweep_reserve_ms;
  const sweeps = {
    published: publishOverdue(goOn),
    fanned_out: fanOutOverdue(goOn),
    woken: wakeDeliveries(goOn),
    replayed: replayOverdue(goOn),
    switched_off: switchOffNoted(goOn),
    cancelled: cancelUnwanted(goOn),
    expired: expireOverdue(goOn, remainingMs),
  };
  const done: Record<string, number> = { failed: 0 };
  const results = await Promise.allSettled(Object.values(sweeps));
  for (const [index, name] of Object.keys(sweeps).entries()) {
    const result = results[index];
    if (result?.status !== "fulfilled") continue;
    done[name] = result.value.done;
    done["failed"] = (done["failed"] ?? 0) + result.value.failed;
  }
  if (Object.values(done).some((count) => count > 0)) log.warn("There was work to do.", done);
  const broken = results.find((result) => result.status === "rejected");
  if (broken !== undefined) throw broken.reason;
  return done;
}
