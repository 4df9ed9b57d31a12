import { jobBody, startJob } from "../../shared/domain/jobs/job.ts";
import { refuseFields } from "../../shared/domain/kernel/decision.ts";
import { command } from "../../shared/http/operations.ts";
import { checkedValue } from "../../shared/http/validate.ts";
import { createJob } from "../../shared/routes/jobs.ts";
import { type CreateJob, exportParameters } from "../../shared/schema/jobs/job.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /jobs` */
export const handler = await command(
  createJob,
  async ({ body: { type, parameters }, load, context }) => {
    const checked = checkedValue(exportParameters[type], parameters, "#/parameters");
    if (!checked.ok) return refuseFields(checked.errors);
    const { count } = await load({ count: ref.jobCount() });
    return startJob({ type, parameters: checked.value as CreateJob["parameters"] }, count, context);
  },
  jobBody,
);
