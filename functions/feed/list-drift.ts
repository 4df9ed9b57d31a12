import { driftBody } from "../../shared/domain/feed/drift/drift.ts";
import type { Drift } from "../../shared/domain/records/drift.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { listDrift } from "../../shared/routes/drift.ts";
import { drifts } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";

/** `GET /drift` */
export const handler = await list(listDrift, async ({ caller, place }) => {
  const request = resourcePage(place, ["status", "kind", "account_id", "source_id"]);
  const page = await pageOfIndex<Drift>("list", [drifts.all(caller.tenant_id)], request);
  return pageWithClients({ place, caller }, page, driftBody, ({ client_id }) => client_id);
});
