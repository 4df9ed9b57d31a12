import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { decideMove } from "../../shared/money/move.ts";
import { continueMoved } from "../../shared/money/transfer-steps.ts";
import { updateTransaction } from "../../shared/routes/transactions.ts";

/** `PATCH /transactions/{id}` */
export const handler = await command(
  updateTransaction,
  ({ path, body, load, context, expectVersion }) =>
    decideMove(load, context, path.id, body, ({ version }) => expectVersion(version)),
  transactionBody,
  { afterCommit: continueMoved },
);
