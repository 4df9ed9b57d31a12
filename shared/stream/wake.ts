import { causeOf, log } from "../runtime/log.ts";
import { type StreamCause, sendStreamWakes } from "../runtime/stream-queue.ts";

/** Wakes the worker for one set. When that fails, the sweep does it within a minute: its caller goes on. */
export async function wakeSet(
  { tenant_id, set }: { readonly tenant_id: string; readonly set: number },
  cause: StreamCause,
): Promise<void> {
  try {
    await sendStreamWakes([{ tenant_id, set, cause }]);
  } catch (error) {
    log.error("The stream's worker could not be woken.", { tenant_id, set, cause, ...causeOf(error) });
  }
}
