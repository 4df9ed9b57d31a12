import type { QueuedTransactionBody } from "../../schema/people/approval-queue.ts";
import type { Tenant } from "../tenant.ts";
import { type Transaction, transactionBody } from "../transaction.ts";
import {
  type ApprovalRule,
  type Approver,
  approvalRuleOf,
  missingApprovals,
  needsAnother,
  refusedApprover,
} from "./approval.ts";
import { samePerson } from "./person.ts";

/** Types of transactions that people approve. The credit of a transfer follows its debit. */
export const approvableKinds: readonly Transaction["kind"][] = [
  "deposit",
  "withdrawal",
  "adjustment",
  "credit_in",
  "credit_out",
  "transfer_out",
];

/** A transaction that waits for somebody's approval, with the rule that asks for it and what it still needs. */
export interface Queued {
  readonly transaction: Transaction;
  readonly rule: ApprovalRule | undefined;
  readonly approvals_missing: number;
}

/**
 * What a transaction needs of this caller; undefined where it does not wait for them: it is decided, it needs no
 * approval, they made it or have approved it, or the rule asks for another role.
 */
export function queuedFor(
  transaction: Transaction,
  tenant: Pick<Tenant, "approval_rules" | "four_eyes">,
  approver: Approver,
): Queued | undefined {
  if (transaction.status !== "pending" || !approvableKinds.includes(transaction.kind)) return undefined;
  const rule = approvalRuleOf(transaction, tenant);
  if (rule === undefined && !needsAnother(transaction, tenant)) return undefined;
  const { approvals = [] } = transaction;
  const known = approvals.some(({ actor }) => samePerson(actor, approver.actor));
  if (known || refusedApprover(transaction, rule, approver) !== undefined) return undefined;
  return { transaction, rule, approvals_missing: rule === undefined ? 1 : missingApprovals(transaction, rule) };
}

/** The transaction as `GET /transactions/queue` shows it at this moment, RFC 3339. */
export function queuedBody({ transaction, rule, approvals_missing }: Queued, now: string): QueuedTransactionBody {
  const age_seconds = Math.max(0, Math.floor((Date.parse(now) - Date.parse(transaction.created_at)) / 1000));
  return { ...transactionBody(transaction), rule: rule ?? null, approvals_missing, age_seconds };
}
