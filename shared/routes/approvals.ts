import { RejectTransactionRequest, Transaction } from "../schema/transaction.ts";
import { route } from "./route.ts";

/** `POST /transactions/{id}/approve` */
export const approveTransaction = route({
  id: "approve_transaction",
  method: "POST",
  path: "/transactions/{id}/approve",
  tag: "Transactions",
  summary: "Approve a transaction",
  description:
    "The same as `PATCH` of the transaction to `approved`. Where an approval rule of the settings requires more " +
    "approvals, this one is recorded in `approvals`, and the transaction stays `pending`. To approve only the " +
    "version that you have read, send the `PATCH` with `If-Match`.",
  file: "transactions/approve",
  scope: "transactions:approve",
  standing: "held_by_operators",
  grants: ["read", "read:quotes", "query", "put", "update", "delete", "check"],
  reply: Transaction,
  refusals: ["illegal_transition", "four_eyes_required", "approval_required", "client_closed"],
  emits: ["transaction.updated", "transaction.completed", "command.issued", "margin.call", "margin.recovered"],
});

/** `POST /transactions/{id}/reject` */
export const rejectTransaction = route({
  id: "reject_transaction",
  method: "POST",
  path: "/transactions/{id}/reject",
  tag: "Transactions",
  summary: "Reject a transaction",
  description:
    "The same as `PATCH` of the transaction to `rejected`: one rejection is enough, whatever the approval rules are. " +
    "What a withdrawal held is released.",
  file: "transactions/reject",
  scope: "transactions:approve",
  standing: "held_by_operators",
  grants: ["read", "read:quotes", "query", "put", "update", "delete", "check"],
  body: RejectTransactionRequest,
  reply: Transaction,
  example: { reason: { code: "suspected_fraud", message: "The name of the account holder differs." } },
  refusals: ["illegal_transition"],
  emits: ["transaction.updated", "margin.call", "margin.recovered"],
});

/** Rows of the decisions about transactions that others have made. */
export const approvalRoutes = [approveTransaction, rejectTransaction] as const;
