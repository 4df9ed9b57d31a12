import { cancelJob, jobBody } from "../../shared/domain/jobs/job.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { cancelJob as row } from "../../shared/routes/jobs.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /jobs/{id}/cancel` */
export const handler = await command(
  row,
  async ({ path, load, context, expectVersion }) => {
    const { job } = await load({ job: ref.job(path.id) });
    if (job === undefined) return notFound();
    expectVersion(job.version);
    return cancelJob(job, context);
  },
  jobBody,
);
