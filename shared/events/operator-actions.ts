import { releaseParked } from "./parking.ts";
import { resumeNumbers } from "./resume.ts";

/**
 * What an operator asks the sweep for in the place of its own work: `release_parked` publishes again what was set
 * aside, `resume_numbers` lets the numbers of events go on after a restore. Undefined for any other action.
 */
export function operatorAction(
  event: { readonly action?: string },
  hasTime: () => boolean,
): Promise<Record<string, number>> | undefined {
  if (event.action === "release_parked") return releaseParked(hasTime);
  if (event.action === "resume_numbers") return resumeNumbers({ ...event });
  return undefined;
}
