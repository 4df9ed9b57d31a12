import { transactionBody } from "../../shared/domain/money/transaction.ts";
import { command } from "../../shared/http/operations.ts";
import { decideMove } from "../../shared/money/move.ts";
import { rejectTransaction } from "../../shared/routes/approvals.ts";

/** `POST /transactions/{id}/reject` */
export const handler = await command(
  rejectTransaction,
  ({ path, body: { reason }, load, context }) => decideMove(load, context, path.id, { status: "rejected", reason }),
  transactionBody,
);
