import type { EventType } from "./schema/event-types.ts";
import type { Scope } from "./schema/scope.ts";

/** Scope that reads the resource of the events of a type. */
export const eventScopes: Readonly<Record<EventType, Scope>> = {
  "client.created": "clients:read",
  "client.verified": "clients:read",
  "client.updated": "clients:read",
  "account.created": "accounts:read",
  "account.updated": "accounts:read",
  "margin.call": "accounts:read",
  "margin.recovered": "accounts:read",
  "stop.out": "accounts:read",
  "transaction.created": "transactions:read",
  "transaction.completed": "transactions:read",
  "transaction.updated": "transactions:read",
  "transaction.unapproved": "transactions:read",
  "trade.opened": "trading:read",
  "trade.closed": "trading:read",
  "command.issued": "feed:read",
  "command.settled": "feed:read",
  "drift.detected": "transactions:read",
  "drift.resolved": "transactions:read",
  "feed.stale": "feed:read",
  "feed.recovered": "feed:read",
  "feed.snapshots_late": "feed:read",
  "feed.snapshots_resumed": "feed:read",
  "feed.clock_off": "feed:read",
  "audit.sealed": "audit:read",
  "brokerage.restored": "settings:read",
  "owner.added": "operators:write",
  "operator.ended": "operators:write",
  "reconciliation.difference_found": "reports:read",
  "job.completed": "reports:read",
};

/** The scopes of the nine standard types together, which `*` stands for. */
export const standardScopes: readonly Scope[] = ["clients:read", "accounts:read", "transactions:read", "trading:read"];
