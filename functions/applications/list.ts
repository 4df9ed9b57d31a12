import { applicationBody } from "../../shared/domain/access/application.ts";
import type { Application } from "../../shared/domain/records/application.ts";
import { applicationFilters, resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listApplications } from "../../shared/routes/applications.ts";
import { applications } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";

/** `GET /applications` */
export const handler = await list(listApplications, async ({ caller, place }) => {
  const request = resourcePage(place, applicationFilters);
  const page = await pageOfIndex<Application>("list", [applications.all(caller.tenant_id)], request);
  return pageReply(place, page, applicationBody);
});
