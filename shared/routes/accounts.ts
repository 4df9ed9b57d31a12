import {
  AccountBalanceDetails,
  AccountMetrics,
  AccountMetricsQuery,
  CreateAccountRequest,
  LedgerEntry,
  ListAccountsQuery,
  ListLedgerQuery,
  ListMarginWatchQuery,
  TradingAccount,
  UpdateAccountRequest,
  WatchedAccount,
} from "../schema/account.ts";
import { page } from "../schema/fields.ts";
import { MarginPreview, MarginPreviewRequest } from "../schema/margin-preview.ts";
import { ListAccountOrdersQuery, Order } from "../schema/order.ts";
import { ListAccountPositionsQuery, Position } from "../schema/position.ts";
import { Statement, StatementQuery } from "../schema/statement.ts";
import { ListAccountTradesQuery, Trade } from "../schema/trade.ts";
import { ListAccountTransactionsQuery, Transaction } from "../schema/transaction.ts";
import { route } from "./route.ts";

/** `GET /accounts` */
export const listAccounts = route({
  id: "list_accounts",
  method: "GET",
  path: "/accounts",
  tag: "Accounts",
  summary: "List accounts",
  description:
    "Newest first. Amounts are current; filters other than `number` and `platform_login` are " +
    "eventually consistent.",
  file: "accounts/list",
  scope: "accounts:read",
  grants: ["query:list", "query:state", "read", "query", "read:quotes"],
  query: ListAccountsQuery,
  reply: page(TradingAccount),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `POST /accounts` */
export const createAccount = route({
  id: "create_account",
  method: "POST",
  path: "/accounts",
  tag: "Accounts",
  summary: "Create an account",
  description:
    "Only the client is required. Currency, leverage and margin levels have defaults, which depend on " +
    "`GET /settings` and on the classification of the client. An account number is generated unless you provide one.",
  file: "accounts/create",
  scope: "accounts:write",
  further_scopes: ["accounts:terms"],
  grants: ["read", "put", "update"],
  body: CreateAccountRequest,
  reply: TradingAccount,
  status: 201,
  example: { client_id: "cli_01JD0000000000000000000001" },
  refusals: [
    "client_not_found",
    "client_closed",
    "client_suspended",
    "client_not_verified",
    "number_taken",
    "platform_login_taken",
    "source_not_found",
    "leverage_not_allowed",
    "too_many_accounts",
  ],
  emits: ["account.created"],
});

/** `GET /accounts/{id}` */
export const getAccount = route({
  id: "get_account",
  method: "GET",
  path: "/accounts/{id}",
  tag: "Accounts",
  summary: "Get an account",
  description: "Returns the account with its current balance and margin.",
  file: "accounts/get",
  scope: "accounts:read",
  grants: ["read", "query", "read:quotes"],
  reply: TradingAccount,
});

/** `PATCH /accounts/{id}` */
export const updateAccount = route({
  id: "update_account",
  method: "PATCH",
  path: "/accounts/{id}",
  tag: "Accounts",
  summary: "Update an account",
  description:
    "A merge patch (RFC 7396). A disabled account can be reactivated or, when it is empty, closed. A leverage " +
    "that would bring open positions to the margin-call level requires `force`. It applies to all open positions " +
    "at once, regardless of their number.\n\n" +
    "On an account with a `source_id`, `leverage`, `group_id` and `trading_mode` (of an active account) are commands " +
    "to its platform: `pending` shows each requested value until its command ends, and the account changes once the " +
    "platform has changed it. Another value replaces a command that is `waiting`; while it is `taken` or `unknown`, " +
    "the answer is 409 `command_outstanding`. A disabled account may trade nothing on its platform: `disabled` " +
    "applies at once and asks for no access, and `active` asks for what there was before.",
  file: "accounts/update",
  scope: "accounts:write",
  further_scopes: ["accounts:terms"],
  standing: "read",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  body: UpdateAccountRequest,
  media: "merge_patch",
  reply: TradingAccount,
  example: { name: "Main account" },
  refusals: [
    "illegal_transition",
    "account_disabled",
    "account_closed",
    "account_not_empty",
    "leverage_not_allowed",
    "leverage_change_breaches_margin",
    "liquidation_in_progress",
    "metrics_stale",
    "no_conversion_path",
    "platform_login_taken",
    "source_not_found",
    "source_ended",
    "command_outstanding",
  ],
  emits: ["account.updated", "command.issued", "command.settled", "margin.call", "margin.recovered"],
});

/** `DELETE /accounts/{id}` */
export const disableAccount = route({
  id: "disable_account",
  method: "DELETE",
  path: "/accounts/{id}",
  tag: "Accounts",
  summary: "Disable an account",
  description:
    "Disables the account without deleting it: new transactions are refused. The platform of an account with a " +
    "`source_id` is asked for no access (`pending`). Returns the account.",
  file: "accounts/disable",
  scope: "accounts:write",
  grants: ["read", "read:quotes", "query", "put", "update"],
  reply: TradingAccount,
  refusals: ["illegal_transition"],
  emits: ["account.updated", "command.issued", "command.settled"],
});

/** `GET /accounts/{id}/balance` */
export const getBalance = route({
  id: "get_balance",
  method: "GET",
  path: "/accounts/{id}/balance",
  tag: "Accounts",
  summary: "Get the balance of an account",
  description: "The amounts of `GET /accounts/{id}` without the profile of the account. Suited to polling.",
  file: "accounts/balance",
  scope: "accounts:read",
  grants: ["read", "query", "read:quotes"],
  reply: AccountBalanceDetails,
});

/** `POST /accounts/{id}/margin_preview` */
export const createMarginPreview = route({
  id: "create_margin_preview",
  method: "POST",
  path: "/accounts/{id}/margin_preview",
  tag: "Accounts",
  summary: "Preview the margin of an account",
  description:
    "Tries prices, another leverage, a deposit or a withdrawal, closes and openings on the account, in this order, " +
    "and changes nothing. Each part follows the rules of the operation itself; where that would be refused now, " +
    "`refusals` says why and the figures are computed regardless. An empty body shows where the account stands. A " +
    "stop-out is shown as `margin_status` and not carried out. On an account of a trading platform the figures are " +
    "those of this service.",
  file: "accounts/margin-preview",
  scope: "trading:read",
  further_scopes: ["accounts:read"],
  grants: ["read", "query", "read:quotes"],
  named: true,
  body: MarginPreviewRequest,
  body_optional: true,
  reply: MarginPreview,
  example: { opens: [{ symbol: "EURUSD", side: "buy", lots: "0.10" }] },
  refusals: ["insufficient_scope"],
});

/** `GET /accounts/{id}/ledger` */
export const listLedger = route({
  id: "list_ledger",
  method: "GET",
  path: "/accounts/{id}/ledger",
  tag: "Accounts",
  summary: "List the ledger entries of an account",
  description:
    "Every posting in the order in which it was booked. `balance_version` numbers them without gaps, so a reader " +
    "can detect a missing entry.",
  file: "accounts/list-ledger",
  scope: "accounts:read",
  grants: ["query", "read"],
  query: ListLedgerQuery,
  reply: page(LedgerEntry),
  refusals: ["invalid_cursor"],
});

/** `GET /accounts/{id}/statement` */
export const getStatement = route({
  id: "get_statement",
  method: "GET",
  path: "/accounts/{id}/statement",
  tag: "Accounts",
  summary: "Get a statement of an account",
  description:
    "The entries of an account on days of the brokerage, with its balance and credit before and after them, over up " +
    "to 366 days and 5,000 entries. Once the last day is closed it is `final`: its figures and hash stay. As CSV " +
    "(RFC 4180) it has a line for each entry between its opening and closing balance.",
  file: "accounts/statement",
  scope: "accounts:read",
  grants: ["query", "read"],
  query: StatementQuery,
  reply: Statement,
  table: true,
});

/** `GET /accounts/{id}/transactions` */
export const listAccountTransactions = route({
  id: "list_account_transactions",
  method: "GET",
  path: "/accounts/{id}/transactions",
  tag: "Accounts",
  summary: "List the transactions of an account",
  description: "Transactions of every type of one account, newest first.",
  file: "accounts/list-transactions",
  scope: "transactions:read",
  grants: ["query:owner", "read"],
  query: ListAccountTransactionsQuery,
  reply: page(Transaction),
  refusals: ["invalid_cursor"],
});

/** `GET /accounts/{id}/trades` */
export const listAccountTrades = route({
  id: "list_account_trades",
  method: "GET",
  path: "/accounts/{id}/trades",
  tag: "Trading",
  summary: "List the trades of an account",
  description: "Newest first. Sorted by `-close_at`, the list contains closed trades only.",
  file: "accounts/list-trades",
  scope: "trading:read",
  grants: ["query:owner", "query:client", "read"],
  query: ListAccountTradesQuery,
  reply: page(Trade),
  refusals: ["invalid_cursor"],
});

/** `GET /accounts/{id}/positions` */
export const listAccountPositions = route({
  id: "list_account_positions",
  method: "GET",
  path: "/accounts/{id}/positions",
  tag: "Trading",
  summary: "List the open positions of an account",
  description: "Newest first, each valued at the latest price.",
  file: "accounts/list-positions",
  scope: "trading:read",
  grants: ["query:owner", "read", "query", "read:quotes"],
  query: ListAccountPositionsQuery,
  reply: page(Position),
  refusals: ["invalid_cursor"],
});

/** `GET /accounts/{id}/orders` */
export const listAccountOrders = route({
  id: "list_account_orders",
  method: "GET",
  path: "/accounts/{id}/orders",
  tag: "Trading",
  summary: "List the orders of an account",
  description: "Newest first. Pending orders only, unless `status` names other states.",
  file: "accounts/list-orders",
  scope: "trading:read",
  grants: ["query:owner", "read"],
  query: ListAccountOrdersQuery,
  reply: page(Order),
  refusals: ["invalid_cursor"],
});

/** `GET /accounts/metrics` */
export const getAccountMetrics = route({
  id: "get_account_metrics",
  method: "GET",
  path: "/accounts/metrics",
  tag: "Accounts",
  summary: "Get the metrics of several accounts",
  description:
    "Up to 100 accounts, valued at the same prices. `metrics_as_of` is the time of the oldest price; " +
    "`metrics_stale` is true if a price is too old.",
  file: "accounts/metrics",
  scope: "accounts:read",
  grants: ["read", "query", "read:quotes"],
  query: AccountMetricsQuery,
  reply: AccountMetrics,
});

/** `GET /accounts/margin_watch` */
export const listMarginWatch = route({
  id: "list_margin_watch",
  method: "GET",
  path: "/accounts/margin_watch",
  tag: "Accounts",
  summary: "List accounts by margin level",
  description:
    "Accounts with open positions, lowest margin level first. The order is that of the last evaluation, which " +
    "every execution, and every price that can change a margin state, triggers; the amounts are current.",
  file: "accounts/margin-watch",
  scope: "accounts:read",
  grants: ["query:list", "read", "query", "read:quotes"],
  query: ListMarginWatchQuery,
  reply: page(WatchedAccount),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** Rows of the account endpoints. */
export const accountRoutes = [
  listAccounts,
  createAccount,
  getAccountMetrics,
  listMarginWatch,
  getAccount,
  updateAccount,
  disableAccount,
  getBalance,
  createMarginPreview,
  listLedger,
  getStatement,
  listAccountTransactions,
  listAccountTrades,
  listAccountPositions,
  listAccountOrders,
] as const;
