import { historyBody } from "../../shared/domain/money/transaction.ts";
import { read } from "../../shared/http/operations.ts";
import { getTransactionHistory } from "../../shared/routes/transactions.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /transactions/{id}/history` */
export const handler = await read(getTransactionHistory, async ({ path, load }) => {
  const { transaction } = await load({ transaction: ref.transaction(path.id) });
  return transaction && historyBody(transaction);
});
