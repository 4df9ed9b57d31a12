import { jobBody } from "../../shared/domain/jobs/job.ts";
import type { Job } from "../../shared/domain/records/job.ts";
import { matching } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply, pageRequest } from "../../shared/http/page.ts";
import { listJobs } from "../../shared/routes/jobs.ts";
import { jobs } from "../../shared/table/entities.ts";
import { pageOfPartition } from "../../shared/table/list.ts";

/** `GET /jobs` */
export const handler = await list(listJobs, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const request = { ...pageRequest(place, "-created_at"), ...matching(query, ["type", "status"]) };
  return pageReply(place, await pageOfPartition<Job>(jobs.partition(tenant), request, jobs), jobBody);
});
