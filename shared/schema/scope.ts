/** Every scope that an application can hold. */
export const scopes = [
  "clients:read",
  "clients:write",
  "clients:verify",
  "accounts:read",
  "accounts:write",
  "accounts:terms",
  "transactions:read",
  "transactions:write",
  "transactions:approve",
  "transactions:settle",
  "trading:read",
  "quotes:read",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "reports:read",
  "reports:write",
  "audit:read",
  "settings:read",
  "settings:write",
  "operators:write",
  "applications:write",
  "feed:read",
  "feed:write",
  "sandbox",
] as const;

/** One scope. */
export type Scope = (typeof scopes)[number];
