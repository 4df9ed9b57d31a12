import type { JsonObject } from "../document.ts";
import { account_id, completed_at, created_at, links } from "./identifiers.ts";

/** A reconciliation that found a difference. */
export const reconciliation: JsonObject = {
  id: "rcn_01JD000000000000000000000K",
  object: "reconciliation",
  status: "completed",
  day: "2026-11-22",
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
  ClosingBalances: {
    object: "closing_balances",
    ...{ from: "2026-11-22", to: "2026-11-22", account_type: "live" },
    data: [
      {
        ...{ day: "2026-11-22", currency: "USD" },
        ...{ starts_at: "2026-11-21T22:00:00.000Z", ends_at: "2026-11-22T22:00:00.000Z" },
        closed_at: "2026-11-22T22:31:07.214Z",
        reconciliation_id: reconciliation["id"],
        difference_count: 0,
        accounts: 1200,
        ...{ owed_segregated: "250000.00", owed_title_transfer: "12000.00", owing: "41.20" },
        ...{ payouts_in_transit: "900.00", transfers_in_transit: "0.00", total_owed: "262900.00" },
        ...{ credit: "500.00", opening: "260958.80", movement: "1500.00", closing: "262458.80", difference: "0.00" },
      },
    ],
    _links: links({ self: "/reports/closing_balances?from=2026-11-22&to=2026-11-22&account_type=live" }),
  },
  IncomeReport: {
    object: "income_report",
    ...{ from: "2026-11-22", to: "2026-11-22", account_type: "live" },
    data: [
      {
        ...{ day: "2026-11-22", currency: "USD" },
        ...{ commission: "84.00", swap: "12.50", fees: "3.00", conversion_income: "1.25" },
        ...{ dividends: "0.00", adjustments: "-10.00", corrections: "-41.20", total: "49.55" },
        ...{ trading_result: "-320.00", credit_granted: "-100.00", exchanged: "0.00" },
      },
    ],
    _links: links({ self: "/reports/income?from=2026-11-22&to=2026-11-22&account_type=live" }),
  },
};
