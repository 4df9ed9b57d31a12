import { publishOverdue } from "../../shared/data/publish.ts";
import { log } from "../../shared/runtime/log.ts";

/** On a schedule: publishes outbox items that the stream did not bring in time. */
export async function handler(): Promise<{ readonly published: number; readonly failed: number }> {
  const done = await publishOverdue();
  if (done.published + done.failed > 0) log.warn("Outbox items were overdue.", { ...done });
  return done;
}
