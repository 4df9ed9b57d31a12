import { releaseParked } from "./parking.ts";
import { resumeNumbers } from "./resume.ts";

/**
 * Runs an action of an operator in place of the sweep: `release_parked` publishes parked outboxes again,
 * `resume_numbers` lets the numbers of events go on after a restore. Undefined for any other action.
 */
export function operatorAction(
  event: { readonly action?: string },
  hasTime: () => boolean,
): Promise<Record<string, number>> | undefined {
  if (event.action === "release_parked") return releaseParked(hasTime);
  if (event.action === "resume_numbers") return resumeNumbers({ ...event });
  return undefined;
}
