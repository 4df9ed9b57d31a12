import type { CurrencyCode } from "../../currencies.ts";
import type { Role } from "../../roles.ts";
import { type Context, refuse } from "../kernel/decision.ts";
import { parseAmount } from "../kernel/money.ts";
import type { Tenant } from "../records/tenant.ts";
import { isOpen, isSecond, newProposal } from "./agreement.ts";
import { peopleOf } from "./person.ts";

/** A rule of the settings: who must approve what. */
export type ApprovalRule = NonNullable<Tenant["approval_rules"]>[number];

/** Money that a rule may cover. */
interface Covered {
  readonly kind: string;
  readonly currency: CurrencyCode;
  readonly amount_minor: bigint;
}

/** The policies that say who must approve. */
export type Policies = Pick<Tenant, "approval_rules" | "four_eyes">;

/**
 * The rule that money is approved by: of those that cover its kind and amount the one with most approvers, the first of
 * them. A currency that a rule does not name is covered from the first unit on.
 */
export function ruleFor({ kind, currency, amount_minor }: Covered, { approval_rules: rules = [] }: Partial<Policies>) {
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

function thresholdOf({ over }: ApprovalRule, currency: CurrencyCode): bigint {
  const text = over[currency];
  const minor = text === undefined ? 0n : parseAmount(text, currency);
  // The settings hold amounts of their currencies only.
  return typeof minor === "bigint" ? minor : 0n;
}

/** The caller who is asked to approve: an application or an operator. */
export type Approver = Pick<Context, "actor" | "role">;

/** Whether one may approve under a rule: with it operators alone, and only of its roles. */
export function mayApprove(rule: ApprovalRule | undefined, role: Role | undefined): boolean {
  if (rule === undefined) return true;
  // An application has no role and no person: its maker could approve alone by two of them.
  return role !== undefined && (rule.roles === undefined || rule.roles.includes(role));
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

/** The second one who is asked for, as a sentence names them. */
export function secondOf(rule: ApprovalRule | undefined): string {
  if (rule === undefined) return "an application or operator";
  return rule.roles === undefined ? "an operator" : `an operator with the role ${rule.roles.join(" or ")}`;
}

/** Says which operator to invite where no one is left who could agree. */
export function inviteOf(rule: ApprovalRule | undefined): string {
  return `if there is none, invite an operator with the role ${(rule?.roles ?? ["finance", "owner"]).join(" or ")}.`;
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
