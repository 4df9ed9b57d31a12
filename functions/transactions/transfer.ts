import { transferTurn } from "../../shared/domain/internal-money/transfer-state.ts";
import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createTransfer } from "../../shared/routes/transactions.ts";
import { continueTransfer } from "../../shared/trading/transfer-steps.ts";
import { decideTransfer } from "../../shared/trading/transfers.ts";

/** `POST /transactions/transfer` */
export const handler = await command(
  createTransfer,
  ({ body, load, context }) => decideTransfer(load, context, body),
  transactionBody,
  {
    afterCommit: async (transaction, remainingMs) => {
      if (transferTurn(transaction) !== undefined) await continueTransfer(transaction, remainingMs);
    },
  },
);
