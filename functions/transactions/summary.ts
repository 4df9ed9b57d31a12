import { read } from "../../shared/http/operations.ts";
import { summarizeTransactions } from "../../shared/routes/transactions.ts";
import { summarize } from "../../shared/trading/transaction-summary.ts";

/** `GET /transactions/summary` */
export const handler = await read(summarizeTransactions, ({ caller: { tenant_id }, query: { from = "", to = "" } }) =>
  summarize(tenant_id, { from, to }),
);
