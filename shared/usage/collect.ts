import { causeOf, log } from "../runtime/log.ts";
import type { SweepResult } from "../table/due.ts";
import { countAllEvents } from "./events.ts";
import { countRequests } from "./requests.ts";

/**
 * Counts requests and the stream from their log, and events from their list. Returns how many hours and brokerages were
 * counted, and how many failed; neither keeps the other from being counted.
 */
export async function collectUsage(hasTime: () => boolean): Promise<SweepResult> {
  // One after the other: both write the items of the day.
  const requests = await requestsOrFailure(hasTime);
  const events = await countAllEvents(hasTime);
  return { done: requests.done + events.done, failed: requests.failed + events.failed };
}

async function requestsOrFailure(hasTime: () => boolean): Promise<SweepResult> {
  try {
    return { done: await countRequests(hasTime), failed: 0 };
  } catch (error) {
    log.error("Requests could not be metered.", causeOf(error));
    return { done: 0, failed: 1 };
  }
}
