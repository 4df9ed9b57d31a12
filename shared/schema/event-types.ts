/** The nine event types of the specification. */
export const eventTypes = [
  "client.created",
  "client.verified",
  "account.created",
  "transaction.created",
  "transaction.completed",
  "trade.opened",
  "trade.closed",
  "margin.call",
  "stop.out",
] as const;

/** Types that a webhook endpoint receives only if it lists them by name. */
export const optInEventTypes = [
  "client.updated",
  "account.updated",
  "transaction.updated",
  "margin.recovered",
  "command.issued",
  "command.settled",
  "drift.detected",
  "drift.resolved",
  "feed.stale",
  "feed.recovered",
  "feed.snapshots_late",
  "feed.snapshots_resumed",
  "audit.sealed",
  "brokerage.restored",
  "owner.added",
  "reconciliation.difference_found",
] as const;

/** One event type. */
export type EventType = (typeof eventTypes)[number] | (typeof optInEventTypes)[number];
