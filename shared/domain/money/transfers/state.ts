import type { TransactionBody } from "../../../schema/transaction.ts";
import type { Transaction } from "../../records/transaction.ts";

/** How far a transfer is, as one of its legs shows it. */
type TransferStatus = NonNullable<TransactionBody["transfer"]>["status"];

/** Members that decide the state of a transfer. */
type Leg = Pick<Transaction, "kind" | "status" | "outcome" | "command_id" | "platform_done_at" | "returning">;

/** Whether a transaction is a leg of a transfer. */
export function isTransfer({ kind }: Pick<Transaction, "kind">): boolean {
  return kind === "transfer_out" || kind === "transfer_in";
}

/**
 * The status of a transfer. The debit is the transaction that the transfer waits on until it is booked; from then on
 * its money stands in transit until the credit is booked, or until it is given back.
 */
export function transferStatus(leg: Leg): TransferStatus {
  if (leg.outcome === "needs_attention") return "needs_attention";
  switch (leg.status) {
    case "pending":
    case "approved":
      return "pending";
    case "processing":
      return leg.kind === "transfer_out" && !isDebited(leg) ? "debiting" : "crediting";
    default:
      return leg.status === "completed" ? "completed" : "failed";
  }
}

/** Whether the debit of a transfer is booked and its end is not: its money stands in transit. */
function isDebited({ status, command_id, platform_done_at }: Leg): boolean {
  return status === "processing" && (command_id === undefined || platform_done_at !== undefined);
}

/** The next step of a transfer, which is one commit. */
type TransferStep =
  | { readonly step: "begin" | "credit" | "follow" }
  | { readonly step: "undo"; readonly reason: NonNullable<Transaction["status_reason"]> };

/**
 * The next step of a transfer by its two legs: the credit is made once, and the debit is given back only when the
 * credit has failed, not while a platform may still make it. A debit that its platform made before the transfer was
 * approved is given back. Undefined while a platform or a person is to act.
 */
export function transferStep(
  out: Leg & Pick<Transaction, "status_history">,
  into: Pick<Transaction, "status" | "status_reason"> | undefined,
): TransferStep | undefined {
  const turn = transferTurn(out);
  if (turn === "begin") return { step: "begin" };
  if (turn === undefined) return undefined;
  if (into === undefined) return mayBegin(out) ? { step: "credit" } : { step: "undo", reason: unapproved };
  if (into.status === "completed") return { step: "follow" };
  if (into.status !== "failed") return undefined;
  return { step: "undo", reason: into.status_reason ?? { code: "platform_refused", message: null } };
}

const unapproved = { code: "four_eyes_required", message: "The platform debited it before it was approved." };

/** Whether a transfer was approved, or needed no approval, which is the same entry in its history. */
function mayBegin({ status_history }: Pick<Transaction, "status_history">): boolean {
  return status_history.some(({ to }) => to === "approved");
}

/**
 * Next step of the service with the debit of a transfer: it begins one that may begin, and completes one whose money is
 * in transit. Undefined while a platform or a person is to act, and at the end.
 */
export function transferTurn(out: Leg): "begin" | "settle" | undefined {
  if (out.kind !== "transfer_out") return undefined;
  if (out.status === "approved") return "begin";
  const waits = out.returning !== undefined || out.outcome === "needs_attention";
  return isDebited(out) && !waits ? "settle" : undefined;
}
