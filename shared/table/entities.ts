// Where every stored kind lives: the only place that spells keys. Each feature has a file of its own.
export * from "./entities/accounts.ts";
export * from "./entities/audit.ts";
export * from "./entities/books.ts";
export * from "./entities/commands.ts";
export * from "./entities/drift.ts";
export * from "./entities/events.ts";
export * from "./entities/feed.ts";
export * from "./entities/jobs.ts";
export {
  type DueKind,
  dueBy,
  duePartition,
  dueShards,
  type Entity,
  type Key,
  nameInKey,
  ulidOf,
} from "./entities/keys.ts";
export * from "./entities/oauth.ts";
export * from "./entities/parking.ts";
export * from "./entities/refusals.ts";
export * from "./entities/requests.ts";
export * from "./entities/sandbox.ts";
export * from "./entities/stream.ts";
export * from "./entities/sums.ts";
export * from "./entities/trading.ts";
export * from "./entities/transactions.ts";
export * from "./entities/usage.ts";
export * from "./entities/webhooks.ts";
