import { scopesOf } from "../../roles.ts";
import type { QueuedTransactionBody } from "../../schema/people/approval-queue.ts";
import type { ApprovalRule, Approver } from "../access/approval-rules.ts";
import type { Context } from "../kernel/decision.ts";
import type { Operator } from "../records/operator.ts";
import type { Transaction } from "../records/transaction.ts";
import { type Demand, demandOf, isCounted, type Judged, missingApprovals, refusedApprover } from "./approval.ts";
import { isLeftToPeople } from "./legs.ts";
import { transactionBody } from "./transaction.ts";

/** Types of transactions that people approve. The credit of a transfer follows its debit. */
const approvableKinds: readonly Transaction["kind"][] = [
  "deposit",
  "withdrawal",
  "adjustment",
  "credit_in",
  "credit_out",
  "transfer_out",
];

/** Facts on which a transaction that waits for people is judged. */
export interface Waiting extends Judged, Pick<Context, "environment"> {
  /** All operators of the brokerage who were not removed. */
  readonly operators: readonly Pick<Operator, "id" | "former_ids" | "role" | "status">[];
}

/** A transaction that waits for people, with the rule that asks for it and what it still needs. */
export interface Queued {
  readonly transaction: Transaction;
  readonly rule: ApprovalRule | undefined;
  readonly approvals_missing: number;
  /** Operators who could still approve it; null where applications could too. */
  readonly approvers_left: number | null;
}

/**
 * Entry of a transaction in the queue of this caller; undefined where it does not wait for them: it is decided, it
 * needs no approval, they made it or have approved it, or the rule asks for another role. One that too few are left to
 * approve waits for everyone, and so does one whose item of a platform is left to people.
 */
export function queuedFor(transaction: Transaction, waiting: Waiting, approver: Approver): Queued | undefined {
  if (isLeftToPeople(transaction)) return { transaction, rule: undefined, approvals_missing: 0, approvers_left: null };
  const demand = demandOf(transaction, waiting.tenant);
  const missing = missingApprovals(transaction, demand, waiting.givers);
  const isAsked = approvableKinds.includes(transaction.kind) || transaction.set_aside !== undefined;
  if (demand === undefined || !isAsked || (missing === 0 && transaction.status !== "pending")) return undefined;
  const left = demand.rule === undefined ? undefined : leftOf(transaction, demand, waiting);
  const queued = { transaction, rule: demand.rule, approvals_missing: missing, approvers_left: left ?? null };
  if (left !== undefined && left < missing) return queued;
  const counted = isCounted(transaction, approver.actor, demand, waiting.givers);
  return counted || refusedApprover(transaction, demand, missing, approver) !== undefined ? undefined : queued;
}

/** Whether a rule asks for this operator: without them too few active operators are left to approve a transaction. */
export function isNeeded(transaction: Transaction, operator: Waiting["operators"][number], waiting: Waiting): boolean {
  const demand = demandOf(transaction, waiting.tenant);
  if (demand?.rule === undefined) return false;
  const missing = missingApprovals(transaction, demand, waiting.givers);
  const others = waiting.operators.filter(({ id }) => id !== operator.id);
  const left = leftOf(transaction, demand, { ...waiting, operators: others });
  const own = leftOf(transaction, demand, { ...waiting, operators: [{ ...operator, status: "active" }] });
  return left < missing && own === 1;
}

/** How many operators could still approve a transaction. */
function leftOf(transaction: Transaction, demand: Demand, { operators, givers, environment }: Waiting): number {
  const able = operators.filter(({ id, former_ids: operator_ids, role, status }) => {
    const actor = { type: "operator", id, ...(operator_ids && { operator_ids }), name: "" } as const;
    if (status !== "active" || !scopesOf(role, environment).includes("transactions:approve")) return false;
    if (isCounted(transaction, actor, demand, givers)) return false;
    return (
      refusedApprover(transaction, demand, 1, {
        actor: { ...actor, operator_ids: [...(operator_ids ?? [])] },
        role,
      }) === undefined
    );
  });
  return able.length;
}

/** The transaction as `GET /transactions/queue` shows it at this moment, RFC 3339. */
export function queuedBody(
  { transaction, rule, approvals_missing, approvers_left }: Queued,
  now: string,
): QueuedTransactionBody {
  const age_seconds = Math.max(0, Math.floor((Date.parse(now) - Date.parse(transaction.created_at)) / 1000));
  return { ...transactionBody(transaction), rule: rule ?? null, approvals_missing, approvers_left, age_seconds };
}
