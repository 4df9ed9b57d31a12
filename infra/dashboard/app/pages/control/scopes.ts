import type { Schemas } from "../../api/types.ts";

/** A scope that an application can hold. */
export type Scope = Schemas["ApiApplication"]["scopes"][number];

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
      ["accounts:write", "write", "create, change"],
    ],
  },
  {
    name: "Transactions",
    scopes: [
      ["transactions:read", "read", "and history"],
      ["transactions:write", "write", "create, cancel"],
      ["transactions:approve", "approve", "or reject"],
      ["transactions:settle", "settle", "complete"],
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
    name: "Read only",
    scopes: [
      ["trading:read", "trading", "trades, orders"],
      ["quotes:read", "quotes", "prices"],
      ["events:read", "events", "all events"],
      ["reports:read", "reports", "all reports"],
    ],
  },
  {
    name: "Platform",
    scopes: [
      ["feed:write", "feed", "send prices"],
      ["sandbox", "sandbox", "test tools"],
    ],
  },
  {
    name: "Control",
    scopes: [
      ["audit:read", "audit", "read the log"],
      ["admin", "admin", "manage applications, operators and settings"],
    ],
  },
];
