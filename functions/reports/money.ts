import { listParameter } from "../../shared/http/filters.ts";
import { read } from "../../shared/http/operations.ts";
import { rowsAsTable } from "../../shared/http/tables/table-reply.ts";
import { reportMoney as row } from "../../shared/routes/reports.ts";
import { settledMoney } from "../../shared/sums/money-report.ts";

/** `GET /reports/money` */
export const handler = await read(
  row,
  ({ caller: { tenant_id }, query }) => {
    const { from = "", to = "" } = query;
    const account_type = query["account_type"] === "demo" ? "demo" : "live";
    return settledMoney(tenant_id, { from, to, account_type, currencies: listParameter(query, "currency") });
  },
  rowsAsTable(row),
);
