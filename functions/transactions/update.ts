import { transactionBody } from "../../shared/domain/transaction.ts";
import { decideMove } from "../../shared/feed/acknowledged-operation.ts";
import { command } from "../../shared/http/operations.ts";
import { updateTransaction } from "../../shared/routes/transactions.ts";
import { continueMoved } from "../../shared/trading/transfer-steps.ts";

/** `PATCH /transactions/{id}` */
export const handler = await command(
  updateTransaction,
  ({ path, body, load, context, expectVersion }) =>
    decideMove(load, context, path.id, body, ({ version }) => expectVersion(version)),
  transactionBody,
  { afterCommit: continueMoved },
);
