import type { Context } from "aws-lambda";
import { runJobs } from "../../shared/jobs/run-jobs.ts";
import { limits } from "../../shared/limits.ts";
import type { SweepResult } from "../../shared/table/due.ts";

/**
 * Runs on a schedule: works on the jobs that are due.
 * @throws Error when a step of a job failed, after everything else was done
 */
export async function handler(_event: unknown, context: Context): Promise<SweepResult> {
  const result = await runJobs(() => context.getRemainingTimeInMillis() > limits.jobs.step_reserve_ms);
  if (result.failed > 0) throw new Error(`${result.failed} steps of jobs failed.`);
  return result;
}
