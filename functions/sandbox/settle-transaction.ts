import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { settleTransaction as decide } from "../../shared/domain/sandbox/triggers.ts";
import { command } from "../../shared/http/operations.ts";
import { decideTransaction } from "../../shared/money/decide.ts";
import { settleTransaction } from "../../shared/routes/sandbox.ts";

/** `POST /sandbox/transactions/{id}/settle` */
export const handler = await command(
  settleTransaction,
  ({ path, load, context }) => decideTransaction(load, context, path.id, decide),
  transactionBody,
);
