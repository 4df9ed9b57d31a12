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
  "transaction.unapproved",
  "margin.recovered",
  "command.issued",
  "command.settled",
  "drift.detected",
  "drift.resolved",
  "feed.stale",
  "feed.recovered",
  "feed.snapshots_late",
  "feed.snapshots_resumed",
  "feed.clock_off",
  "audit.sealed",
  "brokerage.restored",
  "owner.added",
  "operator.ended",
  "reconciliation.difference_found",
  "job.completed",
] as const;

/** One event type. */
export type EventType = (typeof eventTypes)[number] | (typeof optInEventTypes)[number];

/** When an event of each type is sent, as the API publishes it. */
export const eventTexts: Readonly<Record<EventType, string>> = {
  "client.created": "A client was created.",
  "client.verified": "A client was verified.",
  "account.created": "An account was opened.",
  "transaction.created": "A transaction was created.",
  "transaction.completed": "A transaction was completed.",
  "trade.opened": "A trade was opened or increased, or its close was reversed.",
  "trade.closed": "A trade, or a part of it, was closed or reversed.",
  "margin.call":
    "The margin level of an account fell to its margin call level. Sent once until the margin call is armed again. " +
    "Order it by `sequence`: it does not raise the version of the account.",
  "stop.out":
    "A stop-out of an account has ended: positions were closed because its margin level was too low. Order it by " +
    "`sequence`: it does not raise the version of the account.",
  "client.updated": "A client was changed or verified, or its verification expired.",
  "account.updated": "An account was changed. A change of its money alone does not count.",
  "transaction.updated": "The status of a transaction changed, or what it shows of its booking.",
  "transaction.unapproved":
    "A trading platform moved money that an approval rule covers, and it was booked without approvals.",
  "margin.recovered":
    "The margin level of an account is above its re-arm level after a margin call. Order it by `sequence`: it does " +
    "not raise the version of the account.",
  "command.issued": "A command waits for the bridge of a feed source.",
  "command.settled": "A command has ended: it is done, failed, cancelled or expired.",
  "drift.detected": "A snapshot differs from the accounts of this service.",
  "drift.resolved": "A drift was resolved, by a request or by a later snapshot.",
  "feed.stale": "A feed source has sent no batch for its `silent_after_seconds`.",
  "feed.recovered": "A feed source is no longer stale.",
  "feed.snapshots_late": "A feed source with a `snapshot_interval_seconds` has sent no snapshot for three intervals.",
  "feed.snapshots_resumed": "The snapshots of a feed source are no longer late.",
  "feed.clock_off":
    "An item of a feed source is dated more than five minutes ahead, or before 2000, and was booked at its receipt: " +
    "check the clock and the time zone of the platform. Sent once until an item has the time of now.",
  "audit.sealed": "A day of the audit log was sealed.",
  "brokerage.restored": "The data of the brokerage were restored from a copy.",
  "owner.added": "An operator became an owner.",
  "operator.ended": "Rights of an operator have ended: they were suspended or removed, or their role was lowered.",
  "reconciliation.difference_found": "A reconciliation found its first difference.",
  "job.completed": "A job has ended: it succeeded, failed or was cancelled.",
};
