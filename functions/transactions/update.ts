import { decideMoney } from "../../shared/data/margin.ts";
import { ref } from "../../shared/data/store.ts";
import { refuse } from "../../shared/domain/decision.ts";
import { moveTransaction } from "../../shared/domain/move-transaction.ts";
import { isComplete, transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { updateTransaction } from "../../shared/routes/transactions.ts";

/** `PATCH /transactions/{id}` */
export const handler = await command(
  updateTransaction,
  async ({ path, body, load, context, expectVersion }) => {
    const { transaction } = await load({ transaction: ref.transaction(path["id"] ?? "") });
    if (transaction === undefined) return refuse("not_found", "There is nothing here.");
    expectVersion(transaction.version);
    const id = transaction.account_id;
    const around = await load({ tenant: ref.tenant(), account: ref.account(id), balance: ref.balance(id) });
    if (!isComplete(around)) return refuse("not_found", "There is nothing here.");
    return decideMoney(load, context, around, (now) => moveTransaction(transaction, now, body, context));
  },
  transactionBody,
);
