import { type Transaction, transactionBody } from "../../shared/domain/transaction.ts";
import { listParameter, resourcePage, transactionFilters } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listTransactions } from "../../shared/routes/transactions.ts";
import { TransactionKind } from "../../shared/schema/transaction.ts";
import { transactions } from "../../shared/table/entities.ts";
import { pageOfIndex } from "../../shared/table/list.ts";

/** `GET /transactions`: reads the narrowest partitions that contain the result. */
export const handler = await list(listTransactions, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const { account_id: account, client_id: client } = query;
  const kinds = listParameter(query, "kind") ?? TransactionKind.options;
  const states = listParameter(query, "status")?.flatMap((status) => [
    ...new Set(kinds.map((kind) => transactions.inState(tenant, status, kind))),
  ]);
  const request = resourcePage(place, transactionFilters);
  const page =
    account !== undefined
      ? pageOfIndex<Transaction>("owner", [transactions.ofAccount(tenant, account)], request)
      : client !== undefined
        ? pageOfIndex<Transaction>("client", [transactions.ofClient(tenant, client)], request)
        : states !== undefined
          ? pageOfIndex<Transaction>("state", states, request)
          : pageOfIndex<Transaction>("list", [transactions.all(tenant)], request);
  return pageReply(place, await page, transactionBody);
});
