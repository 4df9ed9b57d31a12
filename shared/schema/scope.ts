/** Every scope that an application can hold. */
export const scopes = [
  "clients:read",
  "clients:write",
  "clients:verify",
  "accounts:read",
  "accounts:write",
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
  "audit:read",
  "admin",
  "feed:write",
  "sandbox",
] as const;

/** One scope. */
export type Scope = (typeof scopes)[number];
