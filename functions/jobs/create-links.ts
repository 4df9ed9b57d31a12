import { giveLinks } from "../../shared/domain/jobs/job.ts";
import { notFound } from "../../shared/domain/kernel/decision.ts";
import { secretCommand } from "../../shared/http/secret-command.ts";
import { linksTo } from "../../shared/jobs/links.ts";
import { createJobLinks } from "../../shared/routes/jobs.ts";
import { ref } from "../../shared/table/store.ts";

/** `POST /jobs/{id}/links` */
export const handler = await secretCommand(
  createJobLinks,
  async ({ path, load, context }) => {
    const { job } = await load({ job: ref.job(path.id) });
    return job === undefined ? notFound() : giveLinks(job, context);
  },
  linksTo,
);
