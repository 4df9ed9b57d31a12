import type { CurrencyCode } from "../../currencies.ts";
import type { Role } from "../../roles.ts";
import type { TransactionState } from "../../schema/transaction.ts";
import { type Context, type Decision, later, refuse, unchanged } from "../decision.ts";
import { isTransfer } from "../internal-money/transfer-state.ts";
import { parseAmount } from "../money.ts";
import type { Tenant } from "../tenant.ts";
import { moved, type Transaction } from "../transaction.ts";
import { settled } from "../transaction-booking.ts";
import { isUndecided, subtracts } from "../transaction-legs.ts";
import { isOpen, isSecond, newProposal } from "./agreement.ts";
import { approversOf, type Givers } from "./givers.ts";
import { type Party, peopleOf, samePerson } from "./person.ts";

/** A rule of the settings: who must approve what. */
export type ApprovalRule = NonNullable<Tenant["approval_rules"]>[number];

/** Money that a rule may cover. */
interface Covered {
  readonly kind: string;
  readonly currency: CurrencyCode;
  readonly amount_minor: bigint;
}

/** The policies that say who must approve. */
type Policies = Pick<Tenant, "approval_rules" | "four_eyes">;

/**
 * The rule that money is approved by: of those that cover its kind and amount the one with most approvers, the first of
 * them. A currency that a rule does not name is covered from the first unit on.
 */
function ruleFor({ kind, currency, amount_minor }: Covered, { approval_rules: rules = [] }: Partial<Policies>) {
  const covering = rules.filter((rule) => rule.kind === kind && amount_minor > thresholdOf(rule, currency));
  return covering.reduce<ApprovalRule | undefined>(
    (most, rule) => (most === undefined || rule.approvers > most.approvers ? rule : most),
    undefined,
  );
}

/**
 * The rule that covers money which no transaction asked for: what adds to the account by that of deposits, what takes
 * from it by that of withdrawals.
 * @param minor what it adds to the account, in minor units with its sign
 */
export function ruleOfMoney(
  minor: bigint,
  currency: CurrencyCode,
  tenant: Partial<Policies>,
): ApprovalRule | undefined {
  const money = minor < 0n ? { kind: "withdrawal", amount_minor: -minor } : { kind: "deposit", amount_minor: minor };
  return ruleFor({ ...money, currency }, tenant);
}

/**
 * The rule that covers what has no amount of its own, and could go around each of them: the one with most approvers of
 * those of withdrawals, by which money leaves, or else of the others.
 */
export function strictestRule({ approval_rules: rules = [] }: Partial<Policies>): ApprovalRule | undefined {
  const isOfDeposits = ({ kind }: ApprovalRule) => Number(kind === "deposit");
  return rules.toSorted((one, other) => isOfDeposits(one) - isOfDeposits(other) || other.approvers - one.approvers)[0];
}

/** The rule that a transaction is approved by; that of its money where an item of a platform created it. */
export function approvalRuleOf(
  transaction: Pick<Transaction, "kind" | "currency" | "amount_minor" | "set_aside">,
  tenant: Partial<Policies>,
): ApprovalRule | undefined {
  const { amount_minor, currency, set_aside } = transaction;
  if (set_aside?.created_for_item !== true) return ruleFor(transaction, tenant);
  return ruleOfMoney(subtracts(transaction) ? -amount_minor : amount_minor, currency, tenant);
}

function thresholdOf({ over }: ApprovalRule, currency: CurrencyCode): bigint {
  const text = over[currency];
  const minor = text === undefined ? 0n : parseAmount(text, currency);
  // The settings hold amounts of their currencies only.
  return typeof minor === "bigint" ? minor : 0n;
}

/** Who is asked to approve: an application or an operator. */
export type Approver = Pick<Context, "actor" | "role">;

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

/** Who must approve a transaction before its money moves; undefined where it needs no approval, or was decided. */
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

/** Whether one may approve under a rule: with it operators alone, and only of its roles. */
function mayApprove(rule: ApprovalRule | undefined, role: Role | undefined): boolean {
  if (rule === undefined) return true;
  // An application has no role and no person: its maker could approve alone by two of them.
  return role !== undefined && (rule.roles === undefined || rule.roles.includes(role));
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
  /** Who acted on it before. */
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

/**
 * Why a caller cannot be the second one who agrees to what this rule covers; undefined where they can. The answer says
 * whom to invite where there is no one else.
 */
export function refuseSecond(rule: ApprovalRule | undefined, { role }: Pick<Approver, "role">) {
  if (mayApprove(rule, role)) return undefined;
  return refuse("four_eyes_required", `The second one must be ${secondOf(rule)}: ${inviteOf(rule)}`, {
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

function secondOf(rule: ApprovalRule | undefined): string {
  if (rule === undefined) return "an application or operator";
  return rule.roles === undefined ? "an operator" : `an operator with the role ${rule.roles.join(" or ")}`;
}

/** Whom a brokerage invites where no one is left who could agree. */
function inviteOf(rule: ApprovalRule | undefined): string {
  return `if there is none, invite an operator with the role ${(rule?.roles ?? ["finance", "owner"]).join(" or ")}.`;
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

/** The rules after a patch: those that hold, and those that wait for a second owner. */
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
  const { approval_rules: current = [], proposed_approval_rules: proposed, active_owners } = tenant;
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

/** `four_eyes` after a patch, and the proposal to change it. */
type FourEyes = Pick<Tenant, "four_eyes" | "proposed_four_eyes">;

/** Decides a change of `four_eyes`, by two owners as {@link amendRules}. */
export function amendFourEyes(
  { four_eyes: current, proposed_four_eyes: proposed, active_owners }: Tenant,
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
