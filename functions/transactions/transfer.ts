import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { createTransfer } from "../../shared/routes/transactions.ts";
import { decideTransfer } from "../../shared/trading/transfers.ts";

/** `POST /transactions/transfer` */
export const handler = await command(
  createTransfer,
  ({ body, load, context }) => decideTransfer(load, context, body),
  transactionBody,
);
