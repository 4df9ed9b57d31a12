import { closedDays } from "../../shared/books/closed-days.ts";
import { incomeReport } from "../../shared/domain/books/closing-reports.ts";
import { read } from "../../shared/http/operations.ts";
import { rowsAsTable } from "../../shared/http/tables/table-reply.ts";
import { reportIncome as row } from "../../shared/routes/reports.ts";

/** `GET /reports/income` */
export const handler = await read(
  row,
  async ({ caller: { tenant_id }, query }) => incomeReport(...(await closedDays(tenant_id, query))),
  rowsAsTable(row),
);
