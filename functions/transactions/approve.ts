import { transactionBody } from "../../shared/domain/transaction.ts";
import { decideMove } from "../../shared/feed/acknowledged-operation.ts";
import { command } from "../../shared/http/operations.ts";
import { approveTransaction } from "../../shared/routes/approvals.ts";
import { continueMoved } from "../../shared/trading/transfer-steps.ts";

/** `POST /transactions/{id}/approve` */
export const handler = await command(
  approveTransaction,
  ({ path, load, context }) => decideMove(load, context, path.id, { status: "approved" }),
  transactionBody,
  { afterCommit: continueMoved },
);
