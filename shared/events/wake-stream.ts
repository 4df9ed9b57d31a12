import type { StreamFlag } from "../domain/stream/connection.ts";
import { looksByItself } from "../domain/stream/pace.ts";
import { nowMs } from "../runtime/clock.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { sendStreamWakes } from "../runtime/stream-queue.ts";

/**
 * Wakes the worker of the stream for what was just published: one message for each set of connections that no run looks
 * at by itself, and no call where there is none. A queue that fails is no error of the publisher: the sweep of each
 * minute wakes every set.
 */
export async function wakeStream(tenant: string, flag: StreamFlag | undefined): Promise<void> {
  const now = nowMs();
  const sets = Object.entries(flag?.sets ?? {}).filter(([, state]) => !looksByItself(state, now));
  if (sets.length === 0) return;
  try {
    await sendStreamWakes(sets.map(([set]) => ({ tenant_id: tenant, set: Number(set), cause: "published" })));
  } catch (error) {
    countMetric("StreamWakeFailed", sets.length);
    log.error("The stream could not be woken; the sweep retries it.", {
      tenant_id: tenant,
      ...causeOf(error),
    });
  }
}
