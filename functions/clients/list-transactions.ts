import { type Transaction, transactionBody } from "../../shared/domain/transaction.ts";
import { resourcePage, transactionFilters } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listClientTransactions } from "../../shared/routes/clients.ts";
import { transactions } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /clients/{id}/transactions`: of all accounts of the client. */
export const handler = await list(listClientTransactions, async ({ path, caller, place, load }) => {
  const { id } = path;
  const request = resourcePage(place, transactionFilters);
  const own = transactions.ofClient(caller.tenant_id, id);
  const [{ client }, page] = await Promise.all([
    load({ client: ref.client(id) }),
    pageOfIndex<Transaction>("client", [own], request),
  ]);
  return client && pageReply(place, page, transactionBody);
});
