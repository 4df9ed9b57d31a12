import type { TransactionState, UpdateTransaction } from "../../schema/transaction.ts";
import { isOpen, refuseOutstanding } from "../feed/command/command.ts";
import { refuse, refuseField, unchanged } from "../kernel/decision.ts";
import { formatAmount, greatest, parseAmount } from "../kernel/money.ts";
import type { Decision } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { approvalRuleOf, type Judged, refuseJudged } from "./approval.ts";
import { type AccountContext, refuseAmount } from "./transaction.ts";

/**
 * The deposit as it arrived, to be completed: another amount than was announced, with its fee. The amount is what
 * arrived from then on, and the announced one is shown too. The rules of the brokerage judge the larger of them: who
 * approved less has not approved what arrived.
 */
export function receivedDeposit(
  before: Transaction,
  accountContext: AccountContext,
  { status: to = before.status, received_amount, fee }: UpdateTransaction,
): Decision<Transaction> {
  if (received_amount === undefined) {
    return fee === undefined ? unchanged(before) : refuseMember("fee", "is given only with received_amount");
  }
  if (before.kind !== "deposit" || to !== "completed") {
    return refuseMember("received_amount", "is given only with the status completed of a deposit");
  }
  if (before.set_aside !== undefined) {
    return refuseMember("received_amount", "is what the trading platform has reported already");
  }
  const { account, command } = accountContext;
  const amount = parseAmount(received_amount, account.currency);
  if (typeof amount === "string") return refuseAmount(amount, "received_amount", account);
  if (amount === 0n) return refuseField("validation_failed", "received_amount", "must be more than 0", "out_of_range");
  const kept = fee === undefined ? before.fee_minor : parseAmount(fee, account.currency);
  if (typeof kept === "string") return refuseAmount(kept, "fee", account);
  if (kept >= amount) return refuseField("fee_too_high", "fee", "The fee must be lower than the amount.");
  if (amount === before.amount_minor && kept === before.fee_minor) return unchanged(before);
  if (isFinal(before.status)) return refuseEnd(before);
  if (command !== undefined && isOpen(command)) {
    return refuseOutstanding(command, "The platform has been asked for the announced amount.");
  }
  const unapproved = refuseReceived(before, amount, accountContext);
  if (unapproved !== undefined) return unapproved;
  const announced = amount === before.amount_minor ? {} : { announced_amount_minor: before.amount_minor };
  return unchanged({ ...before, ...announced, amount_minor: amount, fee_minor: kept });
}

function isFinal(status: TransactionState): boolean {
  return status !== "pending" && status !== "approved" && status !== "processing";
}

function refuseEnd({ status, amount_minor, currency }: Transaction) {
  const detail = `The ${status} deposit has the amount ${formatAmount(amount_minor, currency)}.`;
  return refuse("illegal_transition", detail, { extra: { from: status, to: "completed", allowed: [] } });
}

function refuseMember(member: "received_amount" | "fee", detail: string) {
  return refuseField("validation_failed", member, detail, "not_allowed");
}

/** Why people must look at what arrived first; undefined where they need not, or approved no less than that. */
function refuseReceived(before: Transaction, amount_minor: bigint, judged: Judged) {
  const { tenant } = judged;
  const larger = { ...before, amount_minor: greatest(before.amount_minor, amount_minor) };
  const unapproved = refuseJudged(larger, judged);
  // A further approval of the smaller amount would not help who has approved it already.
  if (before.status === "pending" && unapproved !== undefined) return unapproved;
  const asked = tenant.four_eyes || approvalRuleOf(larger, tenant) !== undefined;
  if (amount_minor <= before.amount_minor || !asked) return unapproved;
  return refuse(
    "approval_required",
    "More arrived than was approved: cancel the deposit, and announce it again with the amount that arrived.",
  );
}
