import * as z from "zod/mini";
import { described } from "../described.ts";
import { ownFields, Timestamp } from "../fields.ts";

/** A sealed day of the audit log, as its event shows it. */
export const AuditSeal = z.object({
  id: described(z.string(), "Identifier of the seal of the brokerage, assigned by the service."),
  object: described(z.literal("audit_seal"), "Resource type; always this value."),
  day: described(z.string(), "The day that was sealed, in UTC: `2026-11-23`."),
  entries: described(z.int(), "Number of entries of the day; may be 0."),
  last_sequence: described(
    z.string(),
    "Number of the last entry of the day, or of the one before it if the day has none.",
  ),
  previous_hash: described(z.string(), "`hash` of the day before; 64 zeros at the beginning of the audit log."),
  hash: described(z.string(), "`hash` of the last entry. Keep it elsewhere: it proves the audit log up to this day."),
  sealed_at: described(Timestamp, "Time when the entries of the day were in the locked storage."),
  version: described(z.int(), "Version of the seal; rises with each day."),
  _links: ownFields._links,
});
