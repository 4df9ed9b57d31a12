import type { Application } from "../domain/application.ts";
import type { Operator } from "../domain/people/operator.ts";
import { delayMs } from "../runtime/clock.ts";
import type { Scope } from "../schema/scope.ts";
import { originFor } from "../table/audit/sealing.ts";
import { newContext } from "../table/context.ts";
import { putAudit } from "../table/outbox.ts";
import type { TransactItem } from "../table/write.ts";
import type { OAuthRequest } from "./client-authentication.ts";

/** What a client asked an OAuth endpoint for, and what became of the family of its tokens. */
export interface TokenAction {
  readonly action: "create_token" | "revoke_token";
  readonly application: Application;
  readonly request: Pick<OAuthRequest, "address" | "user_agent" | "request_id">;
  /** What the audit says of the family: no token is in it. */
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
  { address, user_agent, request_id }: TokenAction["request"],
): TransactItem {
  const actor = { type: "operator", id, name } as const;
  const context = newContext({ tenant_id, actor, request_id, scopes: [] });
  const resource = { type: "operator", id };
  const after = { grant_type: "token-exchange", role, scope: scopes.join(" ") };
  const origin = originFor(tenant_id, { actor, action: "create_token", ip: address, user_agent }, audit_key);
  return putAudit({ resource, changes: [{ resource, before: null, after }] }, origin, context, delayMs);
}
