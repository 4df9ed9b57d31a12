import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { failTransaction as decide } from "../../shared/domain/sandbox/triggers.ts";
import { command } from "../../shared/http/operations.ts";
import { decideTransaction } from "../../shared/money/decide.ts";
import { failTransaction } from "../../shared/routes/sandbox.ts";

/** `POST /sandbox/transactions/{id}/fail` */
export const handler = await command(
  failTransaction,
  ({ path, load, context }) => decideTransaction(load, context, path.id, decide),
  transactionBody,
);
