import { applicationActor } from "../domain/access/application.ts";
import { operatorActor } from "../domain/access/operator.ts";
import type { RefusedParty } from "../domain/audit/refusals.ts";
import type { Application } from "../domain/records/application.ts";
import type { Operator } from "../domain/records/operator.ts";
import { delayMs, nowIso } from "../runtime/clock.ts";
import { reportRefusal } from "../runtime/refusals.ts";
import type { AccessRefusalCode, RecordedRefusalCode } from "../schema/audit/recorded-refusals.ts";
import type { Scope } from "../schema/scope.ts";
import { refusalOf } from "../table/audit/refused.ts";
import { originFor } from "../table/audit/sealing.ts";
import { newContext } from "../table/context.ts";
import { putAudit } from "../table/outbox.ts";
import type { TransactItem } from "../table/write.ts";

/** Request of a client to an OAuth endpoint, and its effect on the family of its tokens. */
export interface TokenAction {
  readonly action: "create_token" | "revoke_token";
  readonly application: Application;
  readonly request: AccessAttempt;
  /** Audit record of the family: no token is in it. */
  readonly after: Readonly<Record<string, string>>;
}

/** The outbox item with the audit entry of a token; it belongs into the transaction that changes its family. */
export function tokenAudit(familyId: string, { action, application, request, after }: TokenAction): TransactItem {
  const { tenant_id, id, name } = application;
  const actor = { type: "application", id, name } as const;
  const context = newContext({ tenant_id, actor, request_id: request.request_id, scopes: [] });
  const resource = { type: "token_family", id: familyId };
  const origin = { action, ip: request.address, user_agent: request.user_agent };
  return putAudit({ resource, changes: [{ resource, before: null, after }] }, origin, context, delayMs);
}

/** The outbox item that brings the audit its entry of a sign-in: the role and the scopes of the token. */
export function signInAudit(
  { tenant_id, id, name, role, audit_key }: Operator,
  scopes: readonly Scope[],
  { address, user_agent, request_id }: AccessAttempt,
): TransactItem {
  const actor = { type: "operator", id, name } as const;
  const context = newContext({ tenant_id, actor, request_id, scopes: [] });
  const resource = { type: "operator", id };
  const after = { grant_type: "token-exchange", role, scope: scopes.join(" ") };
  const origin = originFor(tenant_id, { actor, action: "create_token", ip: address, user_agent }, audit_key);
  return putAudit({ resource, changes: [{ resource, before: null, after }] }, origin, context, delayMs);
}

/** The outbox item that brings the audit its entry of a sign-out. */
export function signOutAudit(
  { tenant_id, id, name, audit_key }: Operator,
  { address, user_agent, request_id }: AccessAttempt,
): TransactItem {
  const actor = { type: "operator", id, name } as const;
  const context = newContext({ tenant_id, actor, request_id, scopes: [] });
  const resource = { type: "operator", id };
  const origin = originFor(tenant_id, { actor, action: "revoke_token", ip: address, user_agent }, audit_key);
  return putAudit(
    { resource, changes: [{ resource, before: null, after: { revoked_for: "request" } }] },
    origin,
    context,
    delayMs,
  );
}

/** An attempt to get access: where it came from, and its request as in `X-Request-Id`. */
export interface AccessAttempt {
  readonly address: string;
  readonly user_agent: string | null;
  readonly request_id: string;
}

/** Attempted action: an operation of the API, or a call with a token, which the authorizer decides on. */
export type AccessAction = "create_token" | "revoke_token" | "authenticate";

/** The application that is refused access. */
export function applicationParty(application: Application): RefusedParty {
  return { tenant_id: application.tenant_id, actor: applicationActor(application) };
}

/** The operator who is refused access. */
export function operatorParty(operator: Operator): RefusedParty {
  return { tenant_id: operator.tenant_id, actor: operatorActor(operator), audit_key: operator.audit_key };
}

/** Why the access of an operator has ended; undefined for one who has access, or gets it with the first sign-in. */
export function endedAccess({ status }: Operator): AccessRefusalCode | undefined {
  if (status === "suspended") return "operator_suspended";
  return status === "removed" ? "operator_removed" : undefined;
}

/**
 * Reports that a party that proved who it is was refused access, for its entry of the audit (ADR 0059). A caller who
 * proved nothing is no party: anyone could fill the audit of a brokerage with their attempts.
 */
export async function reportAccessRefusal(
  party: RefusedParty,
  action: AccessAction,
  { address: ip, user_agent, request_id }: AccessAttempt,
  code: RecordedRefusalCode,
): Promise<void> {
  const call = { action, ip, user_agent, request_id, at: nowIso(), code, resource: null };
  await reportRefusal(refusalOf(party, call));
}
