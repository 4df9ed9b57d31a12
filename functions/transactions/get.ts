import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { read } from "../../shared/http/operations.ts";
import { getTransaction } from "../../shared/routes/transactions.ts";
import { ref } from "../../shared/table/store.ts";

/** `GET /transactions/{id}` */
export const handler = await read(getTransaction, async ({ path, load }) => {
  const { transaction } = await load({ transaction: ref.transaction(path.id) });
  return transaction && transactionBody(transaction);
});
