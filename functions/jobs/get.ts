import { jobBody } from "../../shared/domain/jobs/job.ts";
import { read } from "../../shared/http/operations.ts";
import { getJob } from "../../shared/routes/jobs.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /jobs/{id}` */
export const handler = await read(getJob, async ({ path, load }) => {
  const { job } = await load({ job: ref.job(path.id) });
  return job && jobBody(job);
});
