import { transactions } from "../../shared/data/entities.ts";
import { accountIdsOf, pageOfIndex } from "../../shared/data/list.ts";
import { ref } from "../../shared/data/store.ts";
import { type Transaction, transactionBody } from "../../shared/domain/transaction.ts";
import { resourcePage, transactionFilters } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listClientTransactions } from "../../shared/routes/clients.ts";

/** `GET /clients/{id}/transactions`: merged over the accounts of the client. */
export const handler = list(listClientTransactions, async ({ path, caller, place, load }) => {
  const id = path["id"] ?? "";
  const request = resourcePage(place, transactionFilters);
  const [{ client }, accounts] = await Promise.all([
    load({ client: ref.client(id) }),
    accountIdsOf(caller.tenant_id, id),
  ]);
  const own = accounts.map((account) => transactions.ofAccount(caller.tenant_id, account));
  return client && pageReply(place, await pageOfIndex<Transaction>("owner", own, request), transactionBody);
});
