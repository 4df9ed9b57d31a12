import type { CurrencyCode } from "../../currencies.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import { type Context, type Decision, later, type Refusal, refuse, unchanged } from "../decision.ts";
import { isTransfer } from "../internal-money/transfer-state.ts";
import { parseAmount } from "../money.ts";
import type { Tenant } from "../tenant.ts";
import { moved, type Transaction } from "../transaction.ts";
import { settled } from "../transaction-booking.ts";
import { isOpen, isSecond, newProposal } from "./agreement.ts";
import { peopleOf, samePerson } from "./person.ts";

/** A rule of the settings: who must approve what. */
export type ApprovalRule = NonNullable<Tenant["approval_rules"]>[number];

/**
 * The rule that a pending transaction is approved by: of those that cover its kind and amount the one with most
 * approvers, the first of them. A currency that a rule does not name is covered from the first unit on.
 */
export function approvalRuleOf(
  { kind, currency, amount_minor }: Pick<Transaction, "kind" | "currency" | "amount_minor">,
  { approval_rules: rules = [] }: Pick<Tenant, "approval_rules">,
): ApprovalRule | undefined {
  const covering = rules.filter((rule) => rule.kind === kind && amount_minor > thresholdOf(rule, currency));
  return covering.reduce<ApprovalRule | undefined>(
    (most, rule) => (most === undefined || rule.approvers > most.approvers ? rule : most),
    undefined,
  );
}

function thresholdOf({ over }: ApprovalRule, currency: CurrencyCode): bigint {
  const text = over[currency];
  const minor = text === undefined ? 0n : parseAmount(text, currency);
  // The settings hold amounts of their currencies only.
  return typeof minor === "bigint" ? minor : 0n;
}

/** Who is asked to approve: an application or an operator. */
export type Approver = Pick<Context, "actor" | "role">;

/** Whether a transaction without a rule needs the approval of another one than its maker. */
export function needsAnother({ kind }: Pick<Transaction, "kind">, { four_eyes }: Pick<Tenant, "four_eyes">): boolean {
  return four_eyes || kind === "adjustment" || isTransfer({ kind });
}

/** Whether the caller, or a person behind it, made the transaction, and so may not approve it. */
export function isMaker({ created_by }: Pick<Transaction, "created_by">, { actor }: Approver): boolean {
  return samePerson(created_by, actor);
}

/** Approvals that a transaction still needs under a rule. */
export function missingApprovals({ approvals = [] }: Transaction, { approvers }: ApprovalRule): number {
  return Math.max(0, approvers - approvals.length);
}

/** A refusal because the rule asks for more approvals. */
export function refuseUnapproved(missing: number, { roles }: ApprovalRule): { ok: false; refusal: Refusal } {
  const who = ` of operators${roles === undefined ? "" : ` with the role ${roles.join(" or ")}`}`;
  return refuse("approval_required", `The rules of the brokerage require ${missing} more approval(s)${who}.`, {
    extra: { approvals_missing: missing, ...(roles === undefined ? {} : { roles }) },
  });
}

/** Why a caller cannot approve a transaction, under a rule or without one; undefined where they can. */
export function refusedApprover(transaction: Transaction, rule: ApprovalRule | undefined, approver: Approver) {
  if (isMaker(transaction, approver)) {
    return refuse("four_eyes_required", "The creator of a transaction cannot approve it.");
  }
  if (rule === undefined) return undefined;
  const { role } = approver;
  // An application has no person: its maker could approve alone by two of them.
  const allowed = role !== undefined && (rule.roles === undefined || rule.roles.includes(role));
  return allowed ? undefined : refuseUnapproved(missingApprovals(transaction, rule), rule);
}

/** What the rules make of a move: refused or recorded, or the transaction as it goes on, with its last approval. */
export type Approved = { readonly decision: Decision<Transaction> } | { readonly transaction: Transaction };

/**
 * Applies the rules to a move of a pending transaction. The maker is never an approver, and a person counts once,
 * however often they approve; applications do not count. An approval that is not the last one is recorded, and the
 * transaction stays pending.
 */
export function underRules(
  transaction: Transaction,
  to: TransactionState,
  tenant: Pick<Tenant, "approval_rules">,
  context: Context,
): Approved {
  const rule = transaction.status === "pending" ? approvalRuleOf(transaction, tenant) : undefined;
  if (rule === undefined) return { transaction };
  if (to === "processing" || to === "completed") {
    return { decision: refuseUnapproved(missingApprovals(transaction, rule), rule) };
  }
  if (to !== "approved") return { transaction };
  const refused = refusedApprover(transaction, rule, context);
  if (refused !== undefined) return { decision: refused };
  const { actor, now } = context;
  const { approvals = [] } = transaction;
  const known = approvals.some((approval) => samePerson(approval.actor, actor));
  const all = known ? approvals : [...approvals, { actor, at: later(transaction.updated_at, now) }];
  const next: Transaction = { ...transaction, approvals: all };
  if (missingApprovals(next, rule) === 0) return { transaction: next };
  if (known) return { decision: unchanged(transaction) };
  // The history names everyone who took part, also where the state stays.
  const after: Transaction = { ...moved(next, "pending", context, null), expires_at: transaction.expires_at };
  return { decision: settled(transaction, after, [], []) };
}

/** What a patch makes of the rules: those that hold, and those that wait for a second owner. */
type Rules = Pick<Tenant, "approval_rules" | "proposed_approval_rules">;

/**
 * Decides a change of the rules. While a brokerage has two active owners, one proposes and another one accepts by
 * sending the same rules; the rules that hold already withdraw the proposal. `same` compares rules.
 */
export function amendRules(
  tenant: Tenant,
  rules: ApprovalRule[],
  context: Context,
  same: (a: unknown, b: unknown) => boolean,
): { readonly ok: true; readonly rules: Rules } | ReturnType<typeof refuse> {
  const { approval_rules: current = [], proposed_approval_rules: proposed, active_owners = 0 } = tenant;
  if (same(rules, current)) return { ok: true, rules: { approval_rules: current, proposed_approval_rules: null } };
  const applied = { ok: true, rules: { approval_rules: rules, proposed_approval_rules: null } } as const;
  if (isDriven(context)) return refuse("four_eyes_required", byName);
  if (active_owners < 2) return applied;
  if (context.role !== "owner") {
    return refuse("four_eyes_required", "Two owners must agree to a change of the approval rules.");
  }
  const known = isOpen(proposed, context) && same(proposed.rules, rules) ? proposed : undefined;
  if (known !== undefined && isSecond(known, context)) return applied;
  const proposal = known ?? { rules, ...newProposal(context) };
  return { ok: true, rules: { approval_rules: current, proposed_approval_rules: proposal } };
}

/** What a patch makes of `four_eyes`, and of the proposal to change it. */
type FourEyes = Pick<Tenant, "four_eyes" | "proposed_four_eyes">;

/** Decides a change of `four_eyes`, by two owners as {@link amendRules}. */
export function amendFourEyes(
  { four_eyes: current, proposed_four_eyes: proposed, active_owners = 0 }: Tenant,
  wanted: boolean,
  context: Context,
): { readonly ok: true; readonly policy: FourEyes } | ReturnType<typeof refuse> {
  const settled = { four_eyes: wanted, ...(proposed == null ? {} : { proposed_four_eyes: null }) };
  if (wanted === current) return { ok: true, policy: settled };
  if (isDriven(context)) return refuse("four_eyes_required", byName);
  if (active_owners < 2) return { ok: true, policy: settled };
  if (context.role !== "owner") {
    return refuse("four_eyes_required", "Two owners must agree to a change of four eyes.");
  }
  const known = isOpen(proposed, context) ? proposed : undefined;
  if (known !== undefined && isSecond(known, context)) return { ok: true, policy: settled };
  const proposal = known ?? { four_eyes: wanted, ...newProposal(context) };
  return { ok: true, policy: { four_eyes: current, proposed_four_eyes: proposal } };
}

const byName = "An application that an operator made cannot change who must approve: an owner does so by name.";

/** An application with a person behind it, who could give up a role to be the only owner's application. */
function isDriven({ actor }: Pick<Context, "actor">): boolean {
  return actor.type === "application" && peopleOf(actor).length > 0;
}
