import { scopesOf } from "../../roles.ts";
import type { AddedOwnerBody, EndedOperatorBody } from "../../schema/people/operator.ts";
import type { Scope } from "../../schema/scope.ts";
import { type Context, type DomainEvent, refuse } from "../kernel/decision.ts";
import type { Operator } from "../records/operator.ts";
import { isOpen, isSecond, newProposal } from "./agreement.ts";
import type { Counts } from "./operator.ts";
import { peopleOf } from "./person.ts";

/** Scopes that release money or make others who do: while there are two owners, no one gives them alone. */
const guardedScopes: readonly Scope[] = [
  ...(["transactions:approve", "applications:write", "operators:write"] as const),
  ...(["settings:write", "feed:write"] as const),
];

/** Whether the operator is one of the active owners of their brokerage. */
export function isActiveOwner({ role, status }: Operator): boolean {
  return role === "owner" && status === "active";
}

/**
 * The operator with this change, or with the proposal of it. While a brokerage has two active owners, one owner can
 * neither take the rights of another one alone nor give anyone a scope that two owners give: a second owner asks for
 * the same, by a request of their own. An owner may step down alone. An application may do it that only a terminal
 * made; behind every other one stands a person, who gives such rights by name only.
 */
export function withAgreement(operator: Operator, wanted: Operator, { active_owners }: Counts, context: Context) {
  const ends = isActiveOwner(operator) && !isActiveOwner(wanted);
  const gains = gainsRights(operator, wanted, context);
  const { actor } = context;
  const { proposed_change: proposed } = operator;
  const settled: Operator = proposed == null ? wanted : { ...wanted, proposed_change: null };
  const isOwn = actor.id === operator.id;
  // A request for the present rights withdraws a proposal, but not by the operator whom it is about.
  if (!ends && !gains) return isOwn && sameRights(wanted, operator) ? wanted : settled;
  const people = peopleOf(actor);
  // With one owner too: else the application of one who stepped down would make them an owner again.
  const isDriven = gains && actor.type === "application" && people.length > 0;
  if (!isDriven && (active_owners < 2 || (isOwn && !gains) || people.length === 0)) return settled;
  if (context.role !== "owner") {
    return refuse("four_eyes_required", "Owners must agree to take the rights of an owner, and to give these rights.");
  }
  const { role } = wanted;
  // Whether the invited have signed in meanwhile makes no other proposal.
  const status = wanted.status === "invited" ? "active" : wanted.status;
  const same = isOpen(proposed, context) && proposed.role === role && proposed.status === status;
  if (same && isSecond(proposed, context)) return settled;
  const proposed_change = same ? proposed : { role, status, ...newProposal(context) };
  return { ...wanted, role: operator.role, status: operator.status, proposed_change } as Operator;
}

/**
 * The event of an operator who has become an owner. Receivers learn of a second owner, whom the only one may add alone,
 * and who may be the same person.
 */
export function ownerAdded(before: Operator | undefined, after: Operator, context: Context): DomainEvent[] {
  const { id, role, status, version } = after;
  if (role !== "owner" || status === "removed" || before?.role === role) return [];
  const proposed = before?.proposed_change;
  const agreed = isOpen(proposed, context) && proposed.role === role && isSecond(proposed, context);
  const shown = { id, object: "operator", role, status, agreed, version } as const;
  const object: AddedOwnerBody = { ...shown, _links: { self: { href: `/v2/operators/${id}` } } };
  const previous = before && { role: before.role, version: before.version };
  const event = { type: "owner.added", resource: { type: "operator", id, version }, object } as const;
  return [{ ...event, client_id: null, account_id: null, ...(previous && { previous }) }];
}

/** The event of an operator who has lost rights: what they know of secrets is to be looked at. */
export function rightsEnded(before: Operator, after: Operator, context: Pick<Context, "environment">): DomainEvent[] {
  const reason = reasonOfEnd(before, after, context);
  if (reason === undefined) return [];
  const { id, role, status, version } = after;
  const href = `/v2/operators/${id}`;
  const shown = { id, object: "operator", role, status, reason, version } as const;
  const object: EndedOperatorBody = {
    ...shown,
    _links: { self: { href }, handover: { href: `${href}/handover` } },
  };
  const previous = { role: before.role, status: before.status, version: before.version };
  const event = { type: "operator.ended", resource: { type: "operator", id, version }, object, previous } as const;
  return [{ ...event, client_id: null, account_id: null }];
}

/** Why an operator has fewer rights than before; undefined where they have not, as one who had none. */
function reasonOfEnd(before: Operator, { role, status }: Operator, { environment }: Pick<Context, "environment">) {
  if (before.status === "suspended") return undefined;
  if (status === "suspended" || status === "removed") return status;
  const kept = scopesOf(role, environment);
  return scopesOf(before.role, environment).every((scope) => kept.includes(scope)) ? undefined : "role_lowered";
}

function gainsRights(before: Operator, after: Operator, context: Context): boolean {
  const held = guardedRights(before, context);
  return guardedRights(after, context).some((scope) => !held.includes(scope));
}

/** A suspended operator has none: an owner whom two suspended is not admitted again by one. */
export function guardedRights({ role, status }: Operator, { environment }: Context): readonly Scope[] {
  if (status === "suspended" || status === "removed") return [];
  const held = scopesOf(role, environment);
  return guardedScopes.filter((scope) => held.includes(scope));
}

function sameRights(one: Operator, other: Operator): boolean {
  return one.role === other.role && one.status === other.status;
}
