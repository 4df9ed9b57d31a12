import * as z from "zod/mini";
import { described } from "./described.ts";
import { ownFields, Timestamp } from "./fields.ts";

/** Number of items of each type that a reset has removed so far. */
const Removed = z.object({
  clients: described(z.int(), "Clients."),
  accounts: described(z.int(), "Accounts."),
  transactions: described(z.int(), "Transactions."),
  trades: described(z.int(), "Trades."),
  orders: described(z.int(), "Orders."),
  feed_sources: described(z.int(), "Feed sources."),
  other_items: described(z.int(), "All other items: ledger entries, positions, prices."),
});

/** A reset of the sandbox, running or completed. */
export const SandboxReset = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("sandbox_reset"), "Resource type; always this value."),
  status: described(z.enum(["running", "completed"]), "Status of the reset."),
  removed: described(Removed, "Items removed so far. Items of an interrupted step are not counted."),
  created_at: described(Timestamp, "Time of creation."),
  updated_at: described(Timestamp, "Time of the last change."),
  completed_at: described(z.nullable(Timestamp), "Time of completion; null before."),
  version: ownFields.version,
  _links: ownFields._links,
});

/** A reset on the wire. */
export type SandboxResetBody = z.infer<typeof SandboxReset>;
/** Types of items that a reset counts. */
export type RemovedKind = keyof z.infer<typeof Removed>;
