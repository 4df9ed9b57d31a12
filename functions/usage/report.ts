import { read } from "../../shared/http/operations.ts";
import { asksForTable } from "../../shared/http/tables/table-reply.ts";
import { reportUsage as row } from "../../shared/routes/reports.ts";
import { usageTable } from "../../shared/usage/csv.ts";
import { reportUsage } from "../../shared/usage/report.ts";

/** `GET /usage` */
export const handler = await read(
  row,
  ({ caller: { tenant_id }, query }) => {
    const { from = "", to = "", actor_id, route_group } = query;
    return reportUsage(tenant_id, { from, to, actor_id, route_group });
  },
  { isAsked: asksForTable, show: usageTable },
);
