import type { Actor } from "../domain/kernel/decision.ts";
import type { Role } from "../roles.ts";
import type { Scope } from "../schema/scope.ts";
import { HttpProblem } from "./problem.ts";

/** The caller: what the authorizer read from the token, and from its application or operator. */
export interface Caller {
  readonly tenant_id: string;
  readonly actor: Actor;
  /** Role of an operator. */
  readonly role?: Role;
  /** Seals what the audit keeps of an operator. */
  readonly audit_key?: string;
  readonly client_id: string;
  /** The family of an application's token; empty for an operator. */
  readonly family_id: string;
  /** Sign-in behind an operator's token. */
  readonly session?: string;
  /** Number of the client secret behind an application's token. */
  readonly secret_number?: number;
  readonly scopes: readonly Scope[];
  /** Address ranges (CIDR) that the application may call from; empty if any address is allowed. */
  readonly allowed_ips: readonly string[];
  /** Feed sources that the application is bound to; empty if it is bound to none. */
  readonly source_ids: readonly string[];
}

/**
 * The caller from the authorizer's context (strings only, as API Gateway passes them). A function that is deployed
 * without its authorizer refuses every request: a mistake in the stacks must not expose data.
 * @throws HttpProblem `unauthenticated`
 */
export function callerOf(event: { readonly requestContext: { readonly authorizer?: unknown } }): Caller {
  const context = event.requestContext.authorizer as Record<string, string> | null | undefined;
  const text = (name: string) => context?.[name] ?? "";
  const [type, id] = [text("actor_type"), text("actor_id")];
  const known = (type === "application" || type === "operator") && id !== "";
  if (!/^brk_[0-9A-Z]{26}$/.test(text("tenant_id")) || !known) {
    throw new HttpProblem("unauthenticated", "A valid access token is required.");
  }
  const words = (name: string) =>
    text(name)
      .split(" ")
      .filter((word) => word !== "");
  const behind = words("operator_ids");
  return {
    tenant_id: text("tenant_id"),
    actor: { type, id, name: text("actor_name"), ...(behind.length > 0 && { operator_ids: behind }) },
    ...(text("role") === "" ? {} : { role: text("role") as Role }),
    ...(text("audit_key") === "" ? {} : { audit_key: text("audit_key") }),
    client_id: text("client_id"),
    family_id: text("family_id"),
    ...(text("session") === "" ? {} : { session: text("session") }),
    ...(text("secret_number") === "" ? {} : { secret_number: Number(text("secret_number")) }),
    scopes: words("scopes") as Scope[],
    allowed_ips: words("allowed_ips"),
    source_ids: words("source_ids"),
  };
}
