import { read } from "../../shared/http/operations.ts";
import { rowsAsTable } from "../../shared/http/tables/table-reply.ts";
import { summarizeTransactions as row } from "../../shared/routes/transactions.ts";
import { summarize } from "../../shared/sums/summary.ts";

/** `GET /transactions/summary` */
export const handler = await read(
  row,
  ({ caller: { tenant_id }, query: { from = "", to = "" } }) => summarize(tenant_id, { from, to }),
  rowsAsTable(row),
);
