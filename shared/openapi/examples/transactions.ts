import type { JsonObject } from "../document.ts";
import {
  account_id,
  actor,
  client_id,
  completed_at,
  created_at,
  exampleIds,
  exampleNames,
  links,
  shownClient,
  transaction_id,
} from "./identifiers.ts";

const statusHistory = [
  { from: null, to: "pending", at: created_at, actor, reason: null },
  { from: "pending", to: "completed", at: completed_at, actor, reason: null },
];

/** A completed deposit. */
export const transaction: JsonObject = {
  id: transaction_id,
  object: "transaction",
  kind: "deposit",
  account_id,
  account_number: "48213377",
  account_type: "live",
  client_id,
  amount: "1000.00",
  fee: "0.00",
  net_amount: "1000.00",
  announced_amount: "1002.50",
  currency: "USD",
  method: "bank_transfer",
  provider: null,
  provider_reference: null,
  external_id: "payment-8812",
  source: { iban: "**** 0154", holder: "Ana Silva" },
  destination: null,
  description: "First deposit",
  status: "completed",
  status_reason: null,
  status_history: statusHistory,
  balance_before: "0.00",
  balance_after: "1000.00",
  related_to: null,
  set_aside: null,
  platform_operations: [],
  transfer: null,
  credit: { expires_at: null, expired_at: null },
  command_id: exampleNames["command_id"],
  outcome: null,
  platform_done_at: completed_at,
  created_by: actor,
  approved_by: null,
  approvals: [{ actor: { type: "operator", id: exampleIds["operators"], name: "Ana Silva" }, at: completed_at }],
  approved_at: null,
  completed_at,
  expires_at: null,
  created_at,
  updated_at: completed_at,
  version: 2,
  metadata: {},
  _links: links({
    self: `/transactions/${transaction_id}`,
    account: `/accounts/${account_id}`,
    client: `/clients/${client_id}`,
  }),
};

/** A withdrawal that one of two has approved. */
const queued: JsonObject = {
  ...transaction,
  kind: "withdrawal",
  amount: "7500.00",
  net_amount: "7500.00",
  status: "pending",
  status_history: statusHistory.slice(0, 1),
  balance_before: null,
  balance_after: null,
  completed_at: null,
  expires_at: "2026-11-28T06:30:00.123Z",
  rule: { kind: "withdrawal", over: { USD: "5000.00" }, approvers: 2, roles: ["finance", "owner"] },
  approvals_missing: 1,
  approvers_left: 2,
  age_seconds: 5400,
  client: shownClient,
};

/** A day of an application with requests of one group of routes, and the events that they made. */
const worker = { day: "2026-11-21", actor_id: "app_01JD0000000000000000000001" };
const work = {
  requests: 1200,
  writes: 200,
  read_units: 1300.5,
  write_units: 4600,
  function_ms: 21_600,
};
const sent = { events: 410, deliveries: 820 };
const streamed = { messages_sent: 820, messages_received: 14, connection_minutes: 1440 };
const workCost = "0.008137598";
const sentCost = "0.011286619";
const streamCost = "0.001194000";

const asOf = { as_of_sequence: "1204", as_of: completed_at };

/** Examples of the replies about transactions, by component. */
export const transactionsReplies: Readonly<Record<string, unknown>> = {
  Transaction: { ...transaction, client: shownClient },
  QueuedTransaction: queued,
  TransactionSummary: {
    object: "transaction_summary",
    from: "2026-11-21",
    to: "2026-11-21",
    ...asOf,
    data: [
      {
        day: "2026-11-21",
        account_type: "live",
        kind: "deposit",
        status: "completed",
        currency: "USD",
        count: 2,
        amount: "1500.00",
        fee: "1.50",
        net_amount: "1498.50",
      },
    ],
    _links: links({ self: "/transactions/summary?from=2026-11-21&to=2026-11-21" }),
  },
  MoneyReport: {
    object: "money_report",
    from: "2026-11-21",
    to: "2026-11-21",
    currency: "USD",
    account_type: "live",
    ...asOf,
    data: [
      {
        day: "2026-11-21",
        currency: "USD",
        final: true,
        deposits: "1500.00",
        deposit_count: 2,
        returned_deposits: "0.00",
        returned_deposit_count: 0,
        withdrawals: "249.00",
        withdrawal_count: 1,
        returned_withdrawals: "0.00",
        returned_withdrawal_count: 0,
        net: "1251.00",
      },
    ],
    _links: links({ self: "/reports/money?from=2026-11-21&to=2026-11-21&currency=USD&account_type=live" }),
  },
  Usage: {
    object: "usage",
    from: "2026-11-21",
    to: "2026-11-21",
    prices: { region: "us-east-1", read_on: "2026-11-23" },
    total: {
      ...work,
      ...sent,
      ...streamed,
      requests_cost_usd: workCost,
      events_cost_usd: sentCost,
      stream_cost_usd: streamCost,
      cost_usd: "0.020618217",
    },
    forecast: null,
    data: [{ ...worker, route_group: "transactions", ...work, cost_usd: workCost }],
    events: [{ ...worker, ...sent, cost_usd: sentCost }],
    stream: [{ ...worker, ...streamed, cost_usd: streamCost }],
    _links: links({ self: "/usage?from=2026-11-21&to=2026-11-21" }),
  },
  TransferQuote: {
    id: "trq_01JD0000000000000000000001",
    object: "transfer_quote",
    from_account_id: account_id,
    to_account_id: "acc_01JD0000000000000000000003",
    amount: "100.00",
    currency: "USD",
    credited_amount: "14924",
    credited_currency: "JPY",
    conversion: {
      from: "USD",
      to: "JPY",
      via: [{ symbol: "USDJPY", op: "multiply", price: "149.990", mid: "150.000" }],
      rate: "149.990000000000",
    },
    mark_up_percent: "0.50",
    expires_at: "2026-11-21T06:30:30.123Z",
    created_at,
    _links: links({ from_account: `/accounts/${account_id}`, to_account: "/accounts/acc_01JD0000000000000000000003" }),
  },
  TransactionHistory: {
    object: "transaction_history",
    transaction_id,
    data: statusHistory,
    _links: links({ self: `/transactions/${transaction_id}/history`, transaction: `/transactions/${transaction_id}` }),
  },
};
