import { settleTransaction as decide } from "../../shared/domain/sandbox/triggers.ts";
import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { settleTransaction } from "../../shared/routes/sandbox.ts";
import { decideTransaction } from "../../shared/trading/margin.ts";

/** `POST /sandbox/transactions/{id}/settle` */
export const handler = await command(
  settleTransaction,
  ({ path, load, context }) => decideTransaction(load, context, path.id, decide),
  transactionBody,
);
