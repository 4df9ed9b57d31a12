import { closedDays } from "../../shared/books/closed-days.ts";
import { closingBalances } from "../../shared/domain/books/closing-reports.ts";
import { read } from "../../shared/http/operations.ts";
import { rowsAsTable } from "../../shared/http/tables/table-reply.ts";
import { reportClosingBalances as row } from "../../shared/routes/reports.ts";

/** `GET /reports/closing_balances` */
export const handler = await read(
  row,
  async ({ caller: { tenant_id }, query }) => closingBalances(...(await closedDays(tenant_id, query))),
  rowsAsTable(row),
);
