import { transactions } from "../../shared/data/entities.ts";
import { pageOfIndex } from "../../shared/data/list.ts";
import { type Transaction, transactionBody } from "../../shared/domain/transaction.ts";
import { resourcePage, transactionFilters, wordsOf } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listTransactions } from "../../shared/routes/transactions.ts";

/** `GET /transactions`: over its partitions by state when a status is asked for, else over all of the tenant. */
export const handler = list(listTransactions, async ({ caller, place, query }) => {
  const request = resourcePage(place, transactionFilters);
  const status = wordsOf(query, "status");
  const kinds = wordsOf(query, "kind") ?? ["deposit", "withdrawal"];
  const page =
    status === undefined
      ? await pageOfIndex<Transaction>("list", [transactions.all(caller.tenant_id)], request)
      : await pageOfIndex<Transaction>("state", transactions.inStates(caller.tenant_id, status, kinds), request);
  return pageReply(place, page, transactionBody);
});
