import type { JsonObject } from "../document.ts";
import { account_id, client_id, completed_at, created_at, links, transaction_id } from "./identifiers.ts";

const ledgerEntryId = "led_01JD0000000000000000000005";

const money = {
  balance: "1000.00",
  credit: "0.00",
  held: "250.00",
  available_balance: "750.00",
  floating_pnl: "0.00",
  equity: "1000.00",
  used_margin: "0.00",
  free_margin: "750.00",
  margin_level: null,
  withdrawable: "750.00",
};

/** An account without open positions. */
export const account: JsonObject = {
  id: account_id,
  object: "account",
  number: "48213377",
  client_id,
  type: "live",
  group_id: "default",
  name: "Main account",
  currency: "USD",
  leverage: 30,
  position_mode: "hedging",
  margin_calculation: "max",
  platform: "internal",
  platform_login: null,
  source_id: null,
  swap_free: false,
  negative_balance_protection: true,
  status: "active",
  trading_mode: "full",
  pending: null,
  proposed_link: null,
  ...money,
  margin_status: "normal",
  margin_call_level: "100.00",
  stop_out_level: "50.00",
  margin_rearm_level: "105.00",
  stop_out_order: "most_losing_first",
  stop_out_mode: "full",
  metrics_as_of: completed_at,
  metrics_stale: false,
  balance_version: 1,
  disabled_at: null,
  disabled_reason: null,
  closed_at: null,
  created_at,
  updated_at: created_at,
  version: 1,
  metadata: {},
  _links: links({
    self: `/accounts/${account_id}`,
    client: `/clients/${client_id}`,
    ledger: `/accounts/${account_id}/ledger`,
  }),
};

/** Balance and margin figures of that account. */
export const accountBalance = {
  object: "account_balance",
  account_id,
  currency: "USD",
  ...money,
  margin_status: "normal",
  metrics_as_of: completed_at,
  metrics_stale: false,
  balance_version: 1,
  _links: links({ self: `/accounts/${account_id}/balance`, account: `/accounts/${account_id}` }),
};

/** Examples of the replies about accounts, by component. */
export const accountsReplies: Readonly<Record<string, unknown>> = {
  AccountBalanceDetails: { ...accountBalance, credit_lots: [] },
  AccountMetrics: {
    object: "account_metrics",
    data: [accountBalance],
    missing: ["acc_01JD000000000000000000000E"],
    _links: links({ self: `/accounts/metrics?account_ids=${account_id},acc_01JD000000000000000000000E` }),
  },
  LedgerEntry: {
    id: ledgerEntryId,
    object: "ledger_entry",
    account_id,
    kind: "deposit",
    amount: "1000.00",
    currency: "USD",
    moves: "balance",
    balance_before: "0.00",
    balance_after: "1000.00",
    balance_version: 1,
    transaction_id,
    trade_id: null,
    created_at: completed_at,
    _links: links({ account: `/accounts/${account_id}`, transaction: `/transactions/${transaction_id}` }),
  },
  TradingAccount: { ...account, liquidation: "requested" },
  WatchedAccount: {
    ...accountBalance,
    object: "watched_account",
    client_id,
    floating_pnl: "-560.00",
    equity: "440.00",
    used_margin: "440.04",
    free_margin: "-250.04",
    margin_level: "99.99",
    withdrawable: "0.00",
    margin_status: "margin_call",
    evaluated_at: completed_at,
    evaluated_margin_level: "100.00",
    liquidating: false,
  },
};
