import * as z from "zod/mini";
import { limits } from "../../limits.ts";
import { described } from "../described.ts";
import { CalendarDate, ownFields, Timestamp } from "../fields.ts";

const count = (what: string) => described(z.int(), `Number of ${what}.`);

/** Comparisons of a reconciliation so far. */
const Checked = z.object({
  accounts: count("accounts compared with their ledgers"),
  ledger_entries: count("ledger entries"),
  transactions: count("open transactions compared with the holds of their accounts"),
  control_entries: count("entries of control accounts"),
  events: count("events"),
  audit_entries: count("entries of the audit log"),
});

/** A place where two books of a brokerage do not agree. */
export const BookDifference = z.object({
  object_type: described(
    z.enum(["account", "ledger_entry", "transaction", "event", "audit_log", "day"]),
    "Type of the object that differs.",
  ),
  object_id: described(
    z.string(),
    "Identifier of the object; of an event or of an entry of the audit log its sequence number, of a day its label " +
      "with a currency and an account type, as in `2026-11-27/USD/live`.",
  ),
  account_id: described(z.nullable(z.string()), "Account that the object belongs to; null of the others."),
  field: described(
    z.enum([
      "account",
      "balance",
      "balance_version",
      "balance_before",
      "balance_after",
      "credit_after",
      "available_balance",
      "held",
      "pending_transactions",
      "ledger_entry",
      "ledger_entries",
      "control_accounts",
      "event",
      "sequence",
      "hash",
      "opening",
      "closing",
    ]),
    "What differs. `ledger_entry`: the entry of this number is missing in the ledger of the account. " +
      "`ledger_entries`: the sum of the ledger entries of the transaction, by its status and amount. " +
      "`control_accounts`: the sum of the legs of the object. `event`: the event of the commit of the entry. " +
      "`sequence`: the event of this number, or the entry of the audit log. `hash`: the chain of the audit log. " +
      "`opening`: the balances and credit with which the day began, by the day before. `closing`: those with which " +
      "it ended, by what the control accounts moved.",
  ),
  expected: described(
    z.nullable(z.string()),
    "Value that the other books say: an amount, a number or a time; null if the object should not be there.",
  ),
  found: described(z.nullable(z.string()), "Value that is stored; null if it is missing."),
  found_at: described(Timestamp, "Time when it was found."),
});

/** One comparison of the books of a brokerage. */
export const Reconciliation = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("reconciliation"), "Resource type; always this value."),
  status: described(
    z.enum(["running", "completed", "cancelled"]),
    "`running` until everything is compared, across several invocations if needed; `cancelled` if a reset of the " +
      "sandbox began meanwhile.",
  ),
  day: described(
    z.nullable(CalendarDate),
    "Day of the brokerage that it closes; null of a comparison that somebody asked for.",
  ),
  checked: described(Checked, "What was compared so far."),
  unsettled: described(
    z.int(),
    "Number of accounts that kept changing while their holds were compared; the next reconciliation compares them.",
  ),
  difference_count: described(z.int(), "Number of differences that were found."),
  differences: described(
    z.array(BookDifference),
    `The first ${limits.books.kept_differences} differences, in the order in which they were found.`,
  ),
  created_at: described(Timestamp, "Time when it began."),
  updated_at: described(Timestamp, "Time of the last change."),
  completed_at: described(z.nullable(Timestamp), "Time when it ended; null while it runs."),
  version: ownFields.version,
  _links: ownFields._links,
});

/** The latest reconciliations. */
export const ReconciliationReport = z.object({
  object: described(z.literal("reconciliation_report"), "Resource type; always this value."),
  data: described(
    z.array(Reconciliation),
    `The latest ${limits.books.shown_runs} reconciliations, newest first; they are kept for a year.`,
  ),
  _links: ownFields._links,
});

/** A difference on the wire. */
export type BookDifferenceBody = z.infer<typeof BookDifference>;
/** A reconciliation on the wire. */
export type ReconciliationBody = z.infer<typeof Reconciliation>;
/** The latest reconciliations on the wire. */
export type ReconciliationReportBody = z.infer<typeof ReconciliationReport>;
