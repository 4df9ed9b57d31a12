import { transactionBody } from "../../domain/money/transaction.ts";
import { pageOfTransactionsBy } from "../../money/pages.ts";
import { listTransactions } from "../../routes/transactions.ts";
import { listExport } from "../lists.ts";

/**
 * Transactions as `GET /transactions` shows them. A status is looked at in the list of all: one that changes while the
 * partitions of two statuses are read would be in neither.
 */
export const transactionExport = listExport({
  row: listTransactions,
  by: "created",
  page: async (tenant, place) => ({ page: await pageOfTransactionsBy(tenant, place), show: transactionBody }),
});
