import { type Transaction, transactionBody } from "../../shared/domain/transaction.ts";
import { resourcePage, transactionFilters } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listAccountTransactions } from "../../shared/routes/accounts.ts";
import { transactions } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /accounts/{id}/transactions` */
export const handler = await list(listAccountTransactions, async ({ path, caller, place, load }) => {
  const { id } = path;
  const request = resourcePage(place, transactionFilters);
  const own = transactions.ofAccount(caller.tenant_id, id);
  const [{ account }, page] = await Promise.all([
    load({ account: ref.account(id) }),
    pageOfIndex<Transaction>("owner", [own], request),
  ]);
  return account && pageReply(place, page, transactionBody);
});
