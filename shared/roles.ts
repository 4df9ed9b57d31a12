import { type Scope, scopes } from "./schema/scope.ts";

/** Scopes of every operator. */
const everyone = ["clients:read", "accounts:read", "transactions:read", "settings:read", "events:read"] as const;

const roleScopes = {
  owner: scopes,
  finance: [
    ...everyone,
    ...(["transactions:write", "transactions:approve", "transactions:settle"] as const),
    ...(["trading:read", "quotes:read", "feed:read", "reports:read", "reports:write"] as const),
  ],
  compliance: [...everyone, "clients:write", "clients:verify", "audit:read"],
  // Finance completes the transactions that support begins.
  support: [...everyone, "clients:write", "accounts:write", "transactions:write", "trading:read", "quotes:read"],
  // Without `transactions:write`, `transactions:settle` is for drift, commands and rejects alone.
  risk: [
    ...everyone,
    ...(["accounts:write", "accounts:terms", "transactions:settle"] as const),
    ...(["trading:read", "quotes:read", "feed:read", "reports:read"] as const),
  ],
  developer: [
    ...everyone,
    ...(["trading:read", "quotes:read", "feed:read", "webhooks:read", "webhooks:write"] as const),
    ...(["applications:write", "sandbox"] as const),
  ],
  viewer: /* @__PURE__ */ scopes.filter((scope) => scope.endsWith(":read")),
} as const satisfies Readonly<Record<string, readonly Scope[]>>;

/** A role of an operator. */
export type Role = keyof typeof roleScopes;

/** Every role, the one with most rights first. */
export const roles = /* @__PURE__ */ Object.keys(roleScopes) as [Role, ...Role[]];

/** Decisions about people and prices stay with the owners in the sandbox too. */
const ownersAlone: readonly Scope[] = ["operators:write", "settings:write", "feed:write"];
const sandboxDeveloper: readonly Scope[] = /* @__PURE__ */ scopes.filter((scope) => !ownersAlone.includes(scope));

/**
 * Scopes of the operators of a role: this is the one place that says it. In the sandbox a developer has nearly all,
 * else only the owner could build an integration there. A change here takes effect within a minute, also for tokens
 * that were already issued.
 */
export function scopesOf(role: Role, environment: "sandbox" | "production"): readonly Scope[] {
  return role === "developer" && environment === "sandbox" ? sandboxDeveloper : roleScopes[role];
}
