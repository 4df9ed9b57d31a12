import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { decideMove } from "../../shared/money/move.ts";
import { continueMoved } from "../../shared/money/transfer-steps.ts";
import { approveTransaction } from "../../shared/routes/approvals.ts";

/** `POST /transactions/{id}/approve` */
export const handler = await command(
  approveTransaction,
  ({ path, load, context }) => decideMove(load, context, path.id, { status: "approved" }),
  transactionBody,
  { afterCommit: continueMoved },
);
