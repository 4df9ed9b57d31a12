import { quietAt, stopOutEvent } from "../risk.ts";
import type { Judged, Step } from "./request.ts";

/**
 * The end of a stop-out that a platform did by itself: one `stop.out` for all positions that it closed, once no deal
 * has continued it for some seconds. Before that the step stays as it is.
 */
export function endPlatformRun({ account, balance, metrics }: Judged, step: Step, now: string): Step {
  const { platform_run: run, ...risk } = step.result;
  if (run === undefined || now < quietAt(run)) return step;
  return { ...step, result: risk, events: [...step.events, stopOutEvent({ account, balance }, metrics, run)] };
}
