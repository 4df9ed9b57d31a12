import { transactionBody } from "../../shared/domain/transaction.ts";
import { listParameter } from "../../shared/http/filters.ts";
import { list } from "../../shared/http/operations.ts";
import { pageReply } from "../../shared/http/page.ts";
import { listTransactions } from "../../shared/routes/transactions.ts";
import { TransactionKind } from "../../shared/schema/transaction.ts";
import { transactions } from "../../shared/table/entities.ts";
import { pageOfTransactions } from "../../shared/trading/transaction-pages.ts";

/** `GET /transactions`: reads the narrowest partitions that contain the result. */
export const handler = await list(listTransactions, async ({ caller: { tenant_id: tenant }, place, query }) => {
  const { account_id: account, client_id: client } = query;
  const kinds = listParameter(query, "kind") ?? TransactionKind.options;
  const asked = listParameter(query, "status")?.flatMap((status) =>
    kinds.map((kind) => transactions.inState(tenant, status, kind)),
  );
  const states = asked && [...new Set([...asked, transactions.leftToPeople(tenant)])];
  const source =
    account !== undefined
      ? ({ index: "owner", partitions: [transactions.ofAccount(tenant, account)] } as const)
      : client !== undefined
        ? ({ index: "client", partitions: [transactions.ofClient(tenant, client)] } as const)
        : states !== undefined
          ? ({ index: "state", partitions: states } as const)
          : ({ index: "list", partitions: [transactions.all(tenant)] } as const);
  return pageReply(place, await pageOfTransactions(tenant, place, source), transactionBody);
});
