import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { unbooked } from "../../shared/domain/money/transaction-names.ts";
import { pageWithClients } from "../../shared/http/clients/expand.ts";
import { listParameter } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageOfTransactions } from "../../shared/money/pages.ts";
import { listTransactions } from "../../shared/routes/transactions.ts";
import { TransactionKind } from "../../shared/schema/transaction.ts";
import { transactions } from "../../shared/table/entities.ts";

/** `GET /transactions`: reads the narrowest partitions that contain the result. */
export const handler = await list(listTransactions, async ({ caller, place, query }) => {
  const { tenant_id: tenant } = caller;
  const { account_id: account, client_id: client } = query;
  const kinds = listParameter(query, "kind") ?? TransactionKind.options;
  const statuses = listParameter(query, "status");
  const asked = statuses?.flatMap((status) => kinds.map((kind) => transactions.inState(tenant, status, kind)));
  const left = statuses?.some((status) => unbooked.has(status)) ? [transactions.leftToPeople(tenant)] : [];
  const states = asked && [...new Set([...asked, ...left])];
  const source =
    account !== undefined
      ? ({ index: "owner", partitions: [transactions.ofAccount(tenant, account)] } as const)
      : client !== undefined
        ? ({ index: "client", partitions: [transactions.ofClient(tenant, client)] } as const)
        : states !== undefined
          ? ({ index: "state", partitions: states } as const)
          : ({ index: "list", partitions: [transactions.all(tenant)] } as const);
  const page = await pageOfTransactions(tenant, place, source);
  return pageWithClients({ place, caller }, page, transactionBody, ({ client_id }) => client_id);
});
