import { type Context, later, refuse, unchanged } from "../kernel/decision.ts";
import type { Decision } from "../records/change.ts";
import type { Operator } from "../records/operator.ts";
import { isOpen, isSecond, newProposal } from "./agreement.ts";
import { type Counts, countAtTenant, lackedScope } from "./operator.ts";
import { countMail } from "./operator-mails.ts";
import { guardedRights } from "./operator-rights.ts";
import { peopleOf } from "./person.ts";

/**
 * Decides `POST /operators/{id}/invite`: provisioning has another temporary password sent, which replaces the one
 * before. While it has not done so, a repeat changes nothing.
 */
export function inviteAgain(operator: Operator, counts: Counts, context: Context): Decision<Operator> {
  const lacked = lackedScope([operator.role], context);
  if (lacked !== undefined) return lacked;
  const { status, pool_state } = operator;
  if (status !== "invited") {
    return refuse("illegal_transition", "Only an operator who has not signed in yet can be invited again.");
  }
  if (pool_state !== "ready") return unchanged(operator);
  return mailed(operator, { pool_state: "resend" }, counts, context);
}

/**
 * Decides `POST /operators/{id}/reset_credentials`: the user of the pool goes with its password, its second factor and
 * its sessions, and is made again with an invitation. From the commit on, former proofs of the person's identity prove
 * nothing here. No one resets their own: a person at an open session would keep it for good. A reader of the person's
 * mail could become them, so while there are two owners, both reset somebody with rights that two owners give.
 */
export function resetCredentials(operator: Operator, counts: Counts, context: Context): Decision<Operator> {
  const lacked = lackedScope([operator.role], context);
  if (lacked !== undefined) return lacked;
  const { status, pool_state, proposed_reset: proposed } = operator;
  if (status !== "active") {
    return refuse("illegal_transition", "Only the credentials of an active operator can be reset.");
  }
  const people = peopleOf(context.actor);
  if ([operator.id, ...(operator.former_ids ?? [])].some((id) => people.includes(id))) {
    return refuse("four_eyes_required", "Another owner must reset the credentials.");
  }
  if (pool_state === "reset") return unchanged(operator);
  const isGuarded = (counts.active_owners ?? 0) >= 2 && guardedRights(operator, context).length > 0;
  if (isGuarded && people.length > 0) {
    if (context.role !== "owner") {
      return refuse("four_eyes_required", "Two owners must reset the credentials of an operator with these rights.");
    }
    const open = isOpen(proposed, context) ? proposed : undefined;
    if (open !== undefined && !isSecond(open, context)) return unchanged(operator);
    if (open === undefined) {
      return moved(operator, { ...operator, proposed_reset: newProposal(context) }, [], context);
    }
  }
  const reset = { pool_state: "reset", identity_sha256: null, proposed_reset: null } as const;
  return mailed(operator, reset, counts, context);
}

/** The operator who waits for provisioning to send an email, which is counted in the same commit. */
function mailed(before: Operator, change: Partial<Operator>, counts: Counts, context: Context): Decision<Operator> {
  const counted = countMail(before, counts, context);
  if (!counted.ok) return counted;
  const { mails, set, add, require } = counted.mail;
  const after: Operator = { ...before, ...change, mails, wake_at: context.now };
  return moved(before, after, [countAtTenant(before.tenant_id, add, require, set)], context);
}

function moved(
  before: Operator,
  changed: Operator,
  more: readonly ReturnType<typeof countAtTenant>[],
  context: Context,
): Decision<Operator> {
  const updated_at = later(before.updated_at, context.now);
  const after: Operator = { ...changed, updated_at, version: before.version + 1 };
  const changes = [{ op: "update", entity: "operator", before, after } as const, ...more];
  return { ok: true, result: after, changes, events: [] };
}
