import type { JsonObject } from "../document.ts";
import { account_id, completed_at, created_at, links } from "./identifiers.ts";

/** A reconciliation that found a difference. */
export const reconciliation: JsonObject = {
  id: "rcn_01JD000000000000000000000K",
  object: "reconciliation",
  status: "completed",
  checked: {
    accounts: 1200,
    ledger_entries: 48_210,
    transactions: 96,
    control_entries: 51_877,
    events: 60_412,
    audit_entries: 23_004,
  },
  unsettled: 0,
  difference_count: 1,
  differences: [
    {
      object_type: "account",
      object_id: account_id,
      account_id,
      field: "balance",
      expected: "1000.00",
      found: "1000.01",
      found_at: completed_at,
    },
  ],
  created_at,
  updated_at: completed_at,
  completed_at,
  version: 64,
  _links: links({ self: "/reports/reconciliation" }),
};

/** Examples of the reports, by component. */
export const reportsReplies: Readonly<Record<string, unknown>> = {
  Reconciliation: reconciliation,
  ReconciliationReport: {
    object: "reconciliation_report",
    data: [reconciliation],
    _links: links({ self: "/reports/reconciliation" }),
  },
};
