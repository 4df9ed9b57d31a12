/** The nine event kinds of the specification. */
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

/** Kinds that a webhook endpoint only gets when it names them. */
export const optInEventTypes = [
  "client.updated",
  "account.updated",
  "transaction.updated",
  "margin.recovered",
] as const;

/** One event kind. */
export type EventType = (typeof eventTypes)[number] | (typeof optInEventTypes)[number];
