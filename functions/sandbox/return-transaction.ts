import { returnTransaction as decide } from "../../shared/domain/sandbox/triggers.ts";
import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { returnTransaction } from "../../shared/routes/sandbox.ts";
import { decideTransaction } from "../../shared/trading/margin.ts";

/** `POST /sandbox/transactions/{id}/return` */
export const handler = await command(
  returnTransaction,
  ({ path, load, context }) => decideTransaction(load, context, path.id, decide),
  transactionBody,
);
