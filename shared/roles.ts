import { type Scope, scopes } from "./schema/scope.ts";

/**
 * What operators of each role may do: the roles are sets of scopes, and this is the one place that says which. A change
 * here takes effect within a minute, also for tokens that were already issued.
 */
export const roleScopes = {
  owner: scopes,
  // Who approves money knows whose it is, and what the account holds.
  finance: [
    ...(["clients:read", "accounts:read", "trading:read", "quotes:read", "events:read", "reports:read"] as const),
    ...(["transactions:read", "transactions:write", "transactions:approve", "transactions:settle"] as const),
  ],
  compliance: [
    ...(["clients:read", "clients:write", "clients:verify"] as const),
    ...(["accounts:read", "transactions:read", "events:read", "audit:read"] as const),
  ],
  support: ["clients:read", "clients:write", "accounts:read", "accounts:write"],
  // The drift of a platform is read with `transactions:read`.
  risk: ["accounts:read", "transactions:read", "trading:read", "quotes:read"],
  developer: ["webhooks:read", "webhooks:write", "events:read", "admin", "sandbox"],
  viewer: /* @__PURE__ */ scopes.filter((scope) => scope.endsWith(":read")),
} as const satisfies Readonly<Record<string, readonly Scope[]>>;

/** A role of an operator. */
export type Role = keyof typeof roleScopes;

/** Every role, the one with most rights first. */
export const roles = /* @__PURE__ */ Object.keys(roleScopes) as [Role, ...Role[]];
