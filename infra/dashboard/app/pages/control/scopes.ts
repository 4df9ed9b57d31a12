import type { Schemas } from "../../api/types.ts";

/** A scope that an application or a role can hold. */
export type Scope = Schemas["CreateApplicationRequest"]["scopes"][number];

/** A role of an operator. */
export type Role = Schemas["CreateOperatorRequest"]["role"];

/** A row of the choice of scopes: what they are about, and each with its word and what it allows. */
export interface ScopeGroup {
  readonly name: string;
  readonly scopes: readonly (readonly [scope: Scope, word: string, allows: string])[];
}

/** Every scope, by what it is about. A test compares this with the scopes of the API. */
export const scopeGroups: readonly ScopeGroup[] = [
  {
    name: "Clients",
    scopes: [
      ["clients:read", "read", "records"],
      ["clients:write", "write", "create, change"],
      ["clients:verify", "verify", "decide identity"],
    ],
  },
  {
    name: "Accounts",
    scopes: [
      ["accounts:read", "read", "and ledgers"],
      ["accounts:write", "write", "open, disable"],
      ["accounts:terms", "terms", "leverage, links"],
    ],
  },
  {
    name: "Transactions",
    scopes: [
      ["transactions:read", "read", "and drift"],
      ["transactions:write", "write", "propose, cancel"],
      ["transactions:approve", "approve", "or reject"],
      ["transactions:settle", "settle", "complete"],
    ],
  },
  {
    name: "Trading",
    scopes: [
      ["trading:read", "read", "trades, orders"],
      ["quotes:read", "quotes", "prices"],
    ],
  },
  {
    name: "Feeds",
    scopes: [
      ["feed:read", "read", "and rejects"],
      ["feed:write", "write", "prices, trades"],
    ],
  },
  {
    name: "Webhooks",
    scopes: [
      ["webhooks:read", "read", "and deliveries"],
      ["webhooks:write", "write", "create, change"],
    ],
  },
  {
    name: "Reports",
    scopes: [
      ["reports:read", "read", "all reports"],
      ["reports:write", "write", "ask for exports"],
    ],
  },
  {
    name: "Logs",
    scopes: [
      ["events:read", "events", "all events"],
      ["audit:read", "audit", "who did what"],
    ],
  },
  {
    name: "Settings",
    scopes: [
      ["settings:read", "read", "policies"],
      ["settings:write", "write", "change policies"],
    ],
  },
  {
    name: "Control",
    scopes: [
      ["operators:write", "operators", "invite, suspend"],
      ["applications:write", "applications", "create, revoke"],
      ["sandbox", "sandbox", "test tools"],
    ],
  },
];

/** Purpose of each role. */
export const roleWords: readonly (readonly [role: Role, words: string])[] = [
  ["owner", "Owner: everything"],
  ["finance", "Finance: completes and approves money, reports"],
  ["compliance", "Compliance: identities, clients, audit log"],
  ["support", "Support: clients and accounts, proposes money"],
  ["risk", "Risk: terms of accounts, margin, drift"],
  ["developer", "Developer: applications, webhooks, feeds"],
  ["viewer", "Viewer: reads everything"],
];

const everyone: readonly Scope[] = [
  ...(["clients:read", "accounts:read", "transactions:read", "settings:read", "events:read"] as const),
];

const scopes = scopeGroups.flatMap((group) => group.scopes.map(([scope]) => scope));

const ownersAlone: readonly Scope[] = ["operators:write", "settings:write", "feed:write"];

/** Scopes of each role; in the sandbox a developer has nearly all. A test compares this with the API. */
export function roleScopes(role: Role, environment: string): readonly Scope[] {
  if (role === "developer" && environment === "sandbox") return scopes.filter((scope) => !ownersAlone.includes(scope));
  return held[role];
}

const held: Readonly<Record<Role, readonly Scope[]>> = {
  owner: scopes,
  finance: [
    ...everyone,
    ...(["transactions:write", "transactions:approve", "transactions:settle"] as const),
    ...(["trading:read", "quotes:read", "feed:read", "reports:read", "reports:write"] as const),
  ],
  compliance: [...everyone, "clients:write", "clients:verify", "audit:read"],
  support: [...everyone, "clients:write", "accounts:write", "transactions:write", "trading:read", "quotes:read"],
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
  viewer: scopes.filter((scope) => scope.endsWith(":read")),
};
