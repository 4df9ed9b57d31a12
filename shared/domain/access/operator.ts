import { limits } from "../../limits.ts";
import { type Role, scopesOf } from "../../roles.ts";
import type { CreateOperator, OperatorBody, UpdateOperator } from "../../schema/people/operator.ts";
import type { Scope } from "../../schema/scope.ts";
import type { MeBody } from "../../schema/service.ts";
import { type Actor, type Context, later, type Requirement, refuse, unchanged } from "../kernel/decision.ts";
import { sameValue } from "../kernel/equality.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Operator, OperatorKey } from "../records/operator.ts";
import type { Tenant } from "../records/tenant.ts";
import { countMail } from "./operator-mails.ts";
import { isActiveOwner, ownerAdded, rightsEnded, withAgreement } from "./operator-rights.ts";
import { type DrawnPersonKey, keepPersonKey } from "./person-key.ts";

/** The counts of a brokerage that decisions about its operators look at. */
export type Counts = Pick<Tenant, "operators" | "active_owners" | "operator_mail_day" | "operator_mails">;

/** Whether there is such an operator, as far as a caller can see. */
export function isThere(operator: Operator | undefined): operator is Operator {
  return operator !== undefined && operator.status !== "removed";
}

/**
 * The operator as GET shows them, with what the role may do in this environment.
 * @throws Error for one that was removed, who is not shown
 */
export function operatorBody(operator: Operator, environment: Context["environment"]): OperatorBody {
  const { id, email, name, role, status, last_seen_at, created_at, updated_at, version } = operator;
  if (status === "removed") throw new Error("A removed operator is not shown.");
  return {
    id,
    object: "operator",
    email,
    name,
    role,
    scopes: [...scopesOf(role, environment)],
    status,
    proposed_change: operator.proposed_change ?? null,
    proposed_reset: operator.proposed_reset ?? null,
    last_seen_at,
    created_at,
    updated_at,
    version,
    _links: { self: { href: `/v2/operators/${id}` } },
  };
}

/** `GET /me` for an operator, with the scopes that this very token holds. */
export function operatorCallerBody(
  { id, name, email, role, tenant_id }: Operator,
  { scopes, environment }: { readonly scopes: readonly Scope[]; readonly environment: MeBody["environment"] },
): MeBody {
  const { operator_per_second: burst } = limits.rate;
  return {
    object: "caller",
    application: null,
    operator: { id, name, email, role },
    tenant_id,
    environment,
    scopes: [...scopes],
    limits: { per_minute: burst * 60, burst, quotes_per_second: burst },
    _links: { self: { href: "/v2/me" } },
  };
}

/** A new operator, whose user of the pool is still to be made. */
export function draftOperator(
  { email, name, role }: CreateOperator,
  { id, tenant_id, audit_key, now }: Readonly<Record<"id" | "tenant_id" | "audit_key" | "now", string>>,
): Operator {
  return {
    ...{ id, tenant_id, email, name, role, status: "invited", last_seen_at: null },
    ...{ pool_state: "pending", identity_sha256: null, audit_key, wake_at: now },
    ...{ created_at: now, updated_at: now, version: 1 },
  };
}

/** The API key of the operators of a brokerage, which is still to be made. */
export function draftOperatorKey(
  draws: Pick<OperatorKey, "id" | "tenant_id" | "api_key_seed">,
  now: string,
): OperatorKey {
  return { ...draws, api_key_id: null, wake_at: now, created_at: now, updated_at: now, version: 1 };
}

/**
 * Decides `POST /operators`. The caller must hold every scope of the role; a brokerage has a bounded number of
 * operators, and its first one brings the API key of all of them. A role that two owners give is proposed, and the
 * operator is a viewer until then. `holder` is whom the email address belongs to, or belonged to until a removal: the
 * same address is the same person, who keeps their former identifiers.
 */
export function inviteOperator(
  request: CreateOperator,
  {
    counts,
    key,
    api_key_seed,
    keys,
    holder,
  }: {
    counts: Counts;
    key: OperatorKey | undefined;
    api_key_seed: string;
    keys: DrawnPersonKey;
    holder: Operator | undefined;
  },
  context: Context,
): Decision<Operator> {
  const lacked = lackedScope([request.role], context);
  if (lacked !== undefined) return lacked;
  const { max_operators } = limits.operators;
  if (counts.operators >= max_operators) {
    return refuse("too_many_operators", `A brokerage may have at most ${max_operators} operators.`);
  }
  const counted = countMail(holder, counts, context);
  if (!counted.ok) return counted;
  const { mails, set, add, require } = counted.mail;
  const { tenant_id, now } = context;
  const drawn = { id: context.newId("opr"), audit_key: keys.public_key };
  const former = holder?.status === "removed" ? holder : undefined;
  const wanted: Operator = {
    ...draftOperator(request, { ...drawn, tenant_id, now }),
    mails,
    ...(former !== undefined && { former_ids: withFormer(former) }),
  };
  const operator = withAgreement({ ...wanted, role: "viewer" }, wanted, counts, context);
  if ("ok" in operator) return operator;
  const first = () => draftOperatorKey({ id: context.newId("opk"), tenant_id, api_key_seed }, now);
  // Brokerages from before there were operators have no counts yet.
  const bound: Requirement = { attribute: "operators", is: "below", value: max_operators };
  return {
    ok: true,
    result: operator,
    changes: [
      { op: "create", entity: "operator", item: operator },
      keepPersonKey(operator, keys),
      ...(key === undefined ? [{ op: "create", entity: "operator_key", item: first() } as const] : []),
      claimOperatorEmail(operator, former),
      countAtTenant(
        tenant_id,
        { operators: 1, ...add },
        [...require, ...(counts.operators === undefined ? [] : [bound])],
        set,
      ),
    ],
    events: ownerAdded(undefined, operator, context),
  };
}

/** The start of a new brokerage: its first owner, named by the email address, and the API key of its operators. */
export function firstOwner(
  email: string,
  {
    operator_id,
    key_id,
    tenant_id,
    api_key_seed,
    keys,
  }: Readonly<Record<"operator_id" | "key_id" | "tenant_id" | "api_key_seed", string>> & {
    readonly keys: DrawnPersonKey;
  },
  now: string,
): readonly Change[] {
  const { public_key: audit_key } = keys;
  const operator = draftOperator({ email, name: email, role: "owner" }, { id: operator_id, tenant_id, audit_key, now });
  return [
    { op: "create", entity: "operator", item: operator },
    keepPersonKey(operator, keys),
    { op: "create", entity: "operator_key", item: draftOperatorKey({ id: key_id, tenant_id, api_key_seed }, now) },
    claimOperatorEmail(operator),
  ];
}

function withFormer({ id, former_ids = [] }: Operator): readonly string[] {
  return [id, ...former_ids].slice(0, limits.operators.max_former_ids);
}

/**
 * The claim of an email address: at most one operator of a brokerage has it. It stays with one who is removed, so that
 * the next one with the address is known to be the same person.
 */
function claimOperatorEmail({ email, id }: Operator, former?: Operator): Change {
  const detail = "belongs to another operator";
  const errors = [{ pointer: "#/email", code: "taken", detail }];
  const refusal = { code: "operator_exists", detail: `The email address ${detail}.`, errors } as const;
  const instead = former === undefined ? {} : { instead_of: former.id };
  return { op: "claim", kind: "operator_email", value: email, owner: id, refusal, ...instead };
}

/**
 * Decides `PATCH /operators/{id}`. The caller must hold every scope of the role before and after: else one that holds
 * less could take the place of one that holds more. A suspended operator who never signed in is invited again.
 */
export function amendOperator(
  operator: Operator,
  patch: UpdateOperator,
  counts: Counts,
  context: Context,
): Decision<Operator> {
  const { status, ...others } = patch;
  const wanted = { ...operator, ...others, status: statusAfter(operator, status) } as Operator;
  const lacked = lackedScope([operator.role, wanted.role], context);
  if (lacked !== undefined) return lacked;
  if (operator.status === "invited" && status === "active") {
    return refuse("illegal_transition", "An invited operator becomes active by signing in.", {
      extra: { allowed: ["suspended"] },
    });
  }
  const asked = status !== undefined || patch.role !== undefined;
  const agreed = asked ? withAgreement(operator, wanted, counts, context) : wanted;
  if ("ok" in agreed) return agreed;
  return sameValue(agreed, operator) ? unchanged(operator) : changeOperator(operator, agreed, counts, context);
}

function statusAfter(operator: Operator, status: UpdateOperator["status"]): Operator["status"] {
  if (status !== "active") return status ?? operator.status;
  return operator.last_seen_at === null ? "invited" : "active";
}

/** Decides `DELETE /operators/{id}`: final, and the email address can be invited again. */
export function removeOperator(operator: Operator, counts: Counts, context: Context): Decision<Operator> {
  const lacked = lackedScope([operator.role], context);
  if (lacked !== undefined) return lacked;
  const agreed = withAgreement(operator, { ...operator, status: "removed" }, counts, context);
  if ("ok" in agreed) return agreed;
  if (sameValue(agreed, operator)) return unchanged(operator);
  return changeOperator(operator, agreed, counts, context);
}

/**
 * An operator who was removed, without what names them: the item stays, so that what names its identifier leads
 * somewhere.
 */
export function namelessOperator(operator: Operator): Operator {
  const { audit_key: _key, pool_subject: _subject, ...others } = operator;
  return { ...others, email: "", name: "" };
}

/** The operator as an actor, with the identifiers that they had before. */
export function operatorActor({ id, name, former_ids = [] }: Operator): Actor {
  return { type: "operator", id, name, ...(former_ids.length > 0 && { operator_ids: [...former_ids] }) };
}

/** Answer to a removal. */
export function removedOperatorBody({ id, status }: Operator) {
  return { id, object: "operator", deleted: status === "removed" } as const;
}

/** A change of the operator, with the count of active owners, of whom a brokerage that has one keeps one. */
function changeOperator(before: Operator, changed: Operator, counts: Counts, context: Context): Decision<Operator> {
  const more = Number(isActiveOwner(changed)) - Number(isActiveOwner(before));
  if (more < 0 && counts.active_owners < 2) {
    return refuse("last_owner", "The operator is the last active owner of the brokerage.");
  }
  const updated_at = later(before.updated_at, context.now);
  // The pool lets the user in or shuts them out; provisioning sees to it.
  const wake_at = changed.status === before.status ? changed.wake_at : context.now;
  const after: Operator = { ...changed, wake_at, updated_at, version: before.version + 1 };
  const another: Requirement = { attribute: "active_owners", is: "at_least", value: 2 };
  const add = {
    ...(more === 0 ? {} : { active_owners: more }),
    ...(after.status === "removed" ? { operators: -1 } : {}),
  };
  const changes: Change[] = [{ op: "update", entity: "operator", before, after }];
  if (Object.keys(add).length > 0) changes.push(countAtTenant(before.tenant_id, add, more < 0 ? [another] : []));
  const events = [...ownerAdded(before, after, context), ...rightsEnded(before, after, context)];
  return { ok: true, result: after, changes, events };
}

/** The operator after a sign-in, and how many more active owners there are by it. */
export interface SignIn {
  readonly after: Operator;
  readonly more_owners: 0 | 1;
}

/**
 * Decides a sign-in with the identity of the operator: an invited one becomes active. Undefined for an operator who may
 * not sign in; the same operator where nothing but `last_seen_at` may change.
 */
export function signIn(operator: Operator, now: string): SignIn | undefined {
  if (operator.status === "active") return { after: operator, more_owners: 0 };
  if (operator.status !== "invited") return undefined;
  const moved = { updated_at: later(operator.updated_at, now), version: operator.version + 1 };
  const after: Operator = { ...operator, status: "active", last_seen_at: now, ...moved };
  return { after, more_owners: isActiveOwner(after) ? 1 : 0 };
}

/** Counted at the tenant, without its version. */
export function countAtTenant(
  tenant: string,
  add: Readonly<Record<string, number>>,
  require: readonly Requirement[],
  set: Readonly<Record<string, string | number>> = {},
): Extract<Change, { op: "adjust" }> {
  return { op: "adjust", entity: "tenant", id: tenant, set, add, require };
}

/** A refusal of a caller that lacks a scope of one of these roles. */
export function lackedScope(granted: readonly Role[], { scopes, environment }: Context) {
  const lacked = granted.flatMap((role) => scopesOf(role, environment)).filter((scope) => !scopes.includes(scope));
  const [scope] = lacked;
  if (scope === undefined) return undefined;
  return refuse("insufficient_scope", `The token itself lacks ${[...new Set(lacked)].join(", ")}.`, {
    extra: { scope },
  });
}
