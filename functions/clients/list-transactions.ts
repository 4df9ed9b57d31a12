import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { pageOfTransactions } from "../../shared/money/pages.ts";
import { listClientTransactions } from "../../shared/routes/clients.ts";
import { transactions } from "../../shared/table/entities.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /clients/{id}/transactions`: of all accounts of the client. */
export const handler = await list(listClientTransactions, async ({ path, caller, place, load }) => {
  const { id } = path;
  const { tenant_id: tenant } = caller;
  const partitions = [transactions.ofClient(tenant, id)];
  const [{ client }, page] = await Promise.all([
    load({ client: ref.client(id) }),
    pageOfTransactions(tenant, place, { index: "client", partitions, owner: { client_id: id } }),
  ]);
  return client && pageReply(place, page, transactionBody);
});
