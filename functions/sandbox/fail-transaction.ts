import { failTransaction as decide } from "../../shared/domain/sandbox/triggers.ts";
import { transactionBody } from "../../shared/domain/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { failTransaction } from "../../shared/routes/sandbox.ts";
import { decideTransaction } from "../../shared/trading/margin.ts";

/** `POST /sandbox/transactions/{id}/fail` */
export const handler = await command(
  failTransaction,
  ({ path, load, context }) => decideTransaction(load, context, path.id, decide),
  transactionBody,
);
