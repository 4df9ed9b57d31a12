import * as z from "zod/mini";
import { resourceFields, Timestamp } from "./fields.ts";

/** How many items of each kind a reset has removed so far. */
const Removed = z.object({
  clients: z.int(),
  accounts: z.int(),
  transactions: z.int(),
  trades: z.int(),
  orders: z.int(),
  feed_sources: z.int(),
  other_items: z.int(),
});

/** A reset of the sandbox, while it runs and when it is done. */
export const SandboxReset = z.object({
  id: z.string(),
  object: z.literal("sandbox_reset"),
  status: z.enum(["running", "completed"]),
  removed: Removed,
  created_at: Timestamp,
  updated_at: Timestamp,
  completed_at: z.nullable(Timestamp),
  version: z.int(),
  _links: resourceFields._links,
});

/** A reset on the wire. */
export type SandboxResetBody = z.infer<typeof SandboxReset>;
/** What a reset counts. */
export type RemovedKind = keyof z.infer<typeof Removed>;
