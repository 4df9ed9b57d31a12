import { type Drift, driftBody } from "../../shared/domain/drift/drift.ts";
import { resourcePage } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listDrift } from "../../shared/routes/drift.ts";
import { drifts } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";

/** `GET /drift` */
export const handler = await list(listDrift, async ({ caller: { tenant_id: tenant }, place }) => {
  const request = resourcePage(place, ["status", "kind", "account_id", "source_id"]);
  return pageReply(place, await pageOfIndex<Drift>("list", [drifts.all(tenant)], request), driftBody);
});
