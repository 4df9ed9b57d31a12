import { latestRuns } from "../../shared/books/latest.ts";
import { runBody } from "../../shared/domain/books/run.ts";
import { read } from "../../shared/http/operations.ts";
import { reportReconciliation } from "../../shared/routes/reports.ts";

/** `GET /reports/reconciliation` */
export const handler = await read(reportReconciliation, async ({ caller: { tenant_id } }) => ({
  object: "reconciliation_report",
  data: (await latestRuns(tenant_id)).map(runBody),
  _links: { self: { href: "/v2/reports/reconciliation" } },
}));
