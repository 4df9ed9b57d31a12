import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { returnTransaction as decide } from "../../shared/domain/sandbox/triggers.ts";
import { command } from "../../shared/http/operations.ts";
import { decideTransaction } from "../../shared/money/decide.ts";
import { returnTransaction } from "../../shared/routes/sandbox.ts";

/** `POST /sandbox/transactions/{id}/return` */
export const handler = await command(
  returnTransaction,
  ({ path, load, context }) => decideTransaction(load, context, path.id, decide),
  transactionBody,
);
