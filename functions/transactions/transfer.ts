import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { transferTurn } from "../../shared/domain/money/transfers/state.ts";
import { command } from "../../shared/http/operations.ts";
import { continueTransfer } from "../../shared/money/transfer-steps.ts";
import { decideTransfer } from "../../shared/money/transfers.ts";
import { createTransfer } from "../../shared/routes/transactions.ts";

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
