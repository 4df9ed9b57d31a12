import { isTransfer } from "../../shared/domain/internal-money/transfer-state.ts";
import { moveTransaction } from "../../shared/domain/move-transaction.ts";
import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { updateTransaction } from "../../shared/routes/transactions.ts";
import { decideTransaction } from "../../shared/trading/margin.ts";
import { continueTransfer } from "../../shared/trading/transfer-steps.ts";

/** `PATCH /transactions/{id}` */
export const handler = await command(
  updateTransaction,
  ({ path, body, load, context, expectVersion }) =>
    decideTransaction(
      load,
      context,
      path.id,
      (transaction, accountContext) => moveTransaction(transaction, accountContext, body, context),
      ({ version }) => expectVersion(version),
    ),
  transactionBody,
  undefined,
  async (transaction, remainingMs) => {
    if (isTransfer(transaction)) await continueTransfer(transaction, remainingMs);
  },
);
