import * as z from "zod/mini";
import { clientExpansion } from "../client.ts";
import { described } from "../described.ts";
import { id, pageParameters, setOf } from "../fields.ts";
import { ApprovalRule } from "../settings.ts";
import { Transaction, TransactionKind } from "../transaction.ts";

/** Query of `GET /transactions/queue`. */
export const ListApprovalQueueQuery = z.strictObject({
  ...pageParameters,
  kind: described(z.optional(setOf(TransactionKind.options)), "Transaction types, separated by commas."),
  account_id: described(z.optional(id("acc")), "Account identifier."),
  client_id: described(z.optional(id("cli")), "Client identifier."),
  sort: described(z.optional(z.enum(["created_at"])), "Sort order; oldest first."),
  ...clientExpansion,
});

/** A transaction that waits for the caller, or for anyone. */
export const QueuedTransaction = z.object({
  ...Transaction.shape,
  rule: described(
    z.nullable(ApprovalRule),
    "The approval rule that applies; null where `four_eyes` or the type of the transaction requires one approval.",
  ),
  approvals_missing: described(
    z.int(),
    "Approvals that are still missing, including that of the caller. 0 where any move that goes on is enough, and " +
      "where the transaction has ended and its `set_aside` item is left: book the item, or take it back, by a retry.",
  ),
  approvers_left: described(
    z.nullable(z.int()),
    "Active operators who could still approve it; if fewer than `approvals_missing`, invite one. Null without a rule.",
  ),
  age_seconds: described(z.int(), "Whole seconds since the transaction was created."),
});

/** A transaction that waits for the caller, on the wire. */
export type QueuedTransactionBody = z.infer<typeof QueuedTransaction>;
