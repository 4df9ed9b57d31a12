import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { pageOfTransactions } from "../../shared/money/pages.ts";
import { listAccountTransactions } from "../../shared/routes/accounts.ts";
import { transactions } from "../../shared/table/entities.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /accounts/{id}/transactions` */
export const handler = await list(listAccountTransactions, async ({ path, caller, place, load }) => {
  const { id } = path;
  const { tenant_id: tenant } = caller;
  const partitions = [transactions.ofAccount(tenant, id)];
  const [{ account }, page] = await Promise.all([
    load({ account: ref.account(id) }),
    pageOfTransactions(tenant, place, { index: "owner", partitions, owner: { account_id: id } }),
  ]);
  return account && pageReply(place, page, transactionBody);
});
