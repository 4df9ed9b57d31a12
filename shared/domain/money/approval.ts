import type { CurrencyCode } from "../../currencies.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import {
  type ApprovalRule,
  type Approver,
  inviteOf,
  mayApprove,
  type Policies,
  ruleFor,
  ruleOfMoney,
  secondOf,
} from "../access/approval-rules.ts";
import { type Party, samePerson } from "../access/person.ts";
import { type Context, later, refuse, unchanged } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Tenant } from "../records/tenant.ts";
import type { Transaction } from "../records/transaction.ts";
import { settled } from "./booking.ts";
import { approversOf, type Givers } from "./givers.ts";
import { isUndecided, subtracts } from "./legs.ts";
import { moved } from "./transaction.ts";
import { isTransfer } from "./transfers/state.ts";

/** The rule that a transaction is approved by; that of its money where an item of a platform created it. */
export function approvalRuleOf(
  transaction: Pick<Transaction, "kind" | "currency" | "amount_minor" | "set_aside">,
  tenant: Partial<Policies>,
): ApprovalRule | undefined {
  const { amount_minor, currency, set_aside } = transaction;
  if (set_aside?.created_for_item !== true) return ruleFor(transaction, tenant);
  return ruleOfMoney(subtracts(transaction) ? -amount_minor : amount_minor, currency, tenant);
}

/**
 * Whether a transaction without a rule needs the approval of another one than its maker. A transfer between accounts
 * of one client goes on as soon as it is asked for.
 */
function needsAnother(
  { kind, status, approved_by }: Pick<Transaction, "kind" | "status" | "approved_by">,
  { four_eyes }: Pick<Tenant, "four_eyes">,
): boolean {
  if (isTransfer({ kind })) return status === "pending" || approved_by !== null;
  return four_eyes || kind === "adjustment";
}

/** How many must approve a transaction, under a rule or, without one, as the policy or its kind asks. */
export interface Demand {
  readonly rule: ApprovalRule | undefined;
  readonly approvers: number;
}

/** Approvals that a transaction needs before its money moves; undefined where it needs none, or was decided. */
export function demandOf(transaction: Transaction, tenant: Policies): Demand | undefined {
  if (!isUndecided(transaction)) return undefined;
  const rule = approvalRuleOf(transaction, tenant);
  if (rule !== undefined) return { rule, approvers: rule.approvers };
  return needsAnother(transaction, tenant) ? { rule: undefined, approvers: 1 } : undefined;
}

/** Whether a caller, or a person behind it, made the transaction, and so may not approve it. */
function isMaker({ created_by }: Pick<Transaction, "created_by">, { actor }: { readonly actor: Party }): boolean {
  return samePerson(created_by, actor);
}

/**
 * Approvals that a transaction still needs. One counts while its giver is active and has a role of the rule of now, so
 * that neither who was removed nor who lost the role stands for what the rule asks.
 */
export function missingApprovals(
  transaction: Transaction,
  demand: Demand | undefined,
  givers: Givers = new Map(),
): number {
  if (demand === undefined) return 0;
  const counting = approversOf(transaction).filter((actor) => counts(actor, transaction, demand, givers));
  return Math.max(0, demand.approvers - counting.length);
}

/** Whether an approval of this person counts already. */
export function isCounted(transaction: Transaction, actor: Party, demand: Demand, givers: Givers = new Map()): boolean {
  return approversOf(transaction).some((each) => samePerson(each, actor) && counts(each, transaction, demand, givers));
}

function counts(actor: Party, transaction: Transaction, { rule }: Demand, givers: Givers): boolean {
  const giver = givers.get(actor.id);
  return giver?.active === true && !isMaker(transaction, { actor }) && mayApprove(rule, giver.role);
}

/** Facts on which a transaction is judged: the policies of now, and those who approved it as they are now. */
export interface Judged {
  readonly tenant: Policies;
  readonly givers?: Givers | undefined;
}

/** Whether the money of a transaction that was not decided may not move yet: approvals of it are missing. */
export function isUnapproved(transaction: Transaction, { tenant, givers }: Judged): boolean {
  return missingApprovals(transaction, demandOf(transaction, tenant), givers) > 0;
}

/** A refusal because the rule asks for more approvals. */
export function refuseUnapproved(missing: number, { roles }: Pick<ApprovalRule, "roles">) {
  const who = ` of operators${roles === undefined ? "" : ` with the role ${roles.join(" or ")}`}`;
  return refuse("approval_required", `The rules of the brokerage require ${missing} more approval(s)${who}.`, {
    extra: { approvals_missing: missing, ...(roles === undefined ? {} : { roles }) },
  });
}

/** Why a caller cannot approve a transaction; undefined where they can. */
export function refusedApprover(transaction: Transaction, demand: Demand, missing: number, approver: Approver) {
  if (isMaker(transaction, approver)) {
    return refuse("four_eyes_required", "The creator of a transaction cannot approve it.");
  }
  const { rule } = demand;
  return rule === undefined || mayApprove(rule, approver.role) ? undefined : refuseUnapproved(missing, rule);
}

/** Why the money of a transaction may not move; undefined where enough have approved it. */
export function refuseJudged(transaction: Transaction, { tenant, givers }: Judged) {
  const demand = demandOf(transaction, tenant);
  const missing = missingApprovals(transaction, demand, givers);
  if (demand === undefined || missing === 0) return undefined;
  if (demand.rule !== undefined) return refuseUnapproved(missing, demand.rule);
  return refuse("four_eyes_required", "An active application or operator other than the creator must approve it.");
}

/** Decision of one person about money that others have acted on before. */
export interface Acted {
  /** Amount that it adds to the account, in minor units with its sign. */
  readonly minor: bigint;
  readonly currency: CurrencyCode;
  /** Parties that acted on it before. */
  readonly acted: readonly Party[];
}

/**
 * Why a caller may not settle what others began, where four eyes or a rule is on: it takes one whom the rule
 * accepts and who did not act before. Undefined where they may.
 */
export function refuseActed({ minor, currency, acted }: Acted, tenant: Policies, approver: Approver) {
  const rule = ruleOfMoney(minor, currency, tenant);
  if (rule === undefined && !tenant.four_eyes) return undefined;
  const again = acted.some((actor) => samePerson(actor, approver.actor));
  if (!again && mayApprove(rule, approver.role)) return undefined;
  return refuse("four_eyes_required", `This takes ${secondOf(rule)} who has not acted on it: ${inviteOf(rule)}`, {
    extra: rule?.roles === undefined ? {} : { roles: rule.roles },
  });
}

/** The money of a command about a transaction, with everyone who acted on the transaction. */
export function actedOn(
  { status_history, currency }: Pick<Transaction, "status_history" | "currency">,
  { amount_minor: minor }: { readonly amount_minor: bigint },
): Acted {
  return { minor, currency, acted: status_history.map(({ actor }) => actor) };
}

/** Result of the rules for a move: refused or recorded, or the transaction as it goes on, with its last approval. */
export type Approved = { readonly decision: Decision<Transaction> } | { readonly transaction: Transaction };

/**
 * Judges a move of a transaction that was not decided, where money can leave: nothing is processed or completed
 * without the approvals that are asked now. An approval that is not the last one is recorded, and the transaction
 * stays as it is. The maker is never an approver, and a person counts once, however often they approve.
 */
export function underRules(transaction: Transaction, to: TransactionState, judged: Judged, context: Context): Approved {
  const demand = demandOf(transaction, judged.tenant);
  if (demand === undefined) return { transaction };
  if (to === "processing" || to === "completed") {
    const refused = refuseJudged(transaction, judged);
    return refused === undefined ? { transaction } : { decision: refused };
  }
  return to === "approved" ? approvedBy(transaction, demand, judged, context) : { transaction };
}

/** The transaction with the approval of the caller. One of a person that does not count any more makes way for it. */
function approvedBy(transaction: Transaction, demand: Demand, { givers }: Judged, context: Context): Approved {
  const { actor, role, now } = context;
  const refused = refusedApprover(transaction, demand, missingApprovals(transaction, demand, givers), context);
  if (refused !== undefined) return { decision: refused };
  if (demand.rule === undefined) return { transaction };
  const { approvals = [] } = transaction;
  const known = approvals.find((approval) => samePerson(approval.actor, actor));
  const counted = known !== undefined && counts(known.actor, transaction, demand, givers ?? new Map());
  const others = approvals.filter((approval) => approval !== known);
  const all = counted ? approvals : [...others, { actor, at: later(transaction.updated_at, now) }];
  const next: Transaction = { ...transaction, approvals: all };
  const own = { active: true, ...(role === undefined ? {} : { role }) };
  if (missingApprovals(next, demand, new Map([...(givers ?? []), [actor.id, own]])) === 0) return { transaction: next };
  if (counted) return { decision: unchanged(transaction) };
  // The history names everyone who took part, also where the state stays.
  const { status, expires_at } = transaction;
  const after: Transaction = { ...moved(next, status, context, null), expires_at };
  return { decision: settled(transaction, after, [], []) };
}
