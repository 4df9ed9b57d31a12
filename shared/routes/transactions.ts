import { page } from "../schema/fields.ts";
import { CreateAdjustmentRequest, CreateCreditRequest } from "../schema/internal-money/brokerage-money.ts";
import { SummarizeTransactionsQuery, TransactionSummary } from "../schema/internal-money/summary.ts";
import { TransferQuote } from "../schema/internal-money/transfer.ts";
import { ListApprovalQueueQuery, QueuedTransaction } from "../schema/people/approval-queue.ts";
import {
  CreateDepositRequest,
  CreateTransferQuoteRequest,
  CreateTransferRequest,
  CreateWithdrawalRequest,
  ListTransactionsQuery,
  Transaction,
  TransactionHistory,
  UpdateTransactionRequest,
} from "../schema/transaction.ts";
import { route } from "./route.ts";

/** Refusals of a new transaction of either kind. */
const entryRefusals = [
  "account_not_found",
  "account_disabled",
  "account_closed",
  "account_close_only",
  "currency_mismatch",
  "amount_precision",
  "amount_too_large",
  "fee_too_high",
  "external_id_taken",
  "duplicate_provider_reference",
  "insufficient_scope",
  "four_eyes_required",
  "approval_required",
  "source_ended",
] as const;

/** `GET /transactions` */
export const listTransactions = route({
  id: "list_transactions",
  method: "GET",
  path: "/transactions",
  tag: "Transactions",
  summary: "List transactions",
  description:
    "Newest first. To list transactions that await a decision, filter with `status=pending,approved`. Of those that " +
    "were created before `completed_to`, a page examines a limited number for the range of `completed_at`.",
  file: "transactions/list",
  scope: "transactions:read",
  grants: ["query:list", "query:state", "query:owner", "query:client", "read"],
  query: ListTransactionsQuery,
  reply: page(Transaction),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** Events of a new deposit or withdrawal, which may be completed at once or issue a command. */
const moneyEvents = [
  "transaction.created",
  "transaction.completed",
  "transaction.updated",
  "command.issued",
  "margin.call",
  "margin.recovered",
] as const;

/** `POST /transactions/deposit` */
export const createDeposit = route({
  id: "create_deposit",
  method: "POST",
  path: "/transactions/deposit",
  tag: "Transactions",
  summary: "Create a deposit",
  description:
    "The deposit is `pending` until the money has arrived; then `PATCH` it to `completed`. Send an " +
    "`Idempotency-Key`, or your `provider` and `provider_reference`, so that nothing is booked twice.",
  file: "transactions/deposit",
  scope: "transactions:write",
  further_scopes: ["transactions:settle"],
  standing: "read",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  body: CreateDepositRequest,
  reply: Transaction,
  status: 201,
  example: { account_id: "acc_01JD0000000000000000000002", amount: "1000.00" },
  refusals: [...entryRefusals, "client_closed"],
  emits: moneyEvents,
});

/** `POST /transactions/withdrawal` */
export const createWithdrawal = route({
  id: "create_withdrawal",
  method: "POST",
  path: "/transactions/withdrawal",
  tag: "Transactions",
  summary: "Create a withdrawal",
  description: "The amount is held at once, and released if the withdrawal is rejected or cancelled, fails or expires.",
  file: "transactions/withdrawal",
  scope: "transactions:write",
  further_scopes: ["transactions:settle"],
  standing: "read",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  body: CreateWithdrawalRequest,
  reply: Transaction,
  status: 201,
  example: { account_id: "acc_01JD0000000000000000000002", amount: "250.00" },
  refusals: [
    ...entryRefusals,
    "client_suspended",
    "client_not_verified",
    "insufficient_funds",
    "insufficient_free_margin",
    "liquidation_in_progress",
    "metrics_stale",
    "no_conversion_path",
  ],
  emits: moneyEvents,
});

/** Refusals of money that a brokerage books by itself. */
const brokerageRefusals = [
  "account_not_found",
  "account_disabled",
  "account_closed",
  "client_closed",
  "platform_account",
  "source_ended",
  "currency_mismatch",
  "amount_precision",
  "amount_too_large",
  "external_id_taken",
] as const;

/** `POST /transactions/adjustment` */
export const createAdjustment = route({
  id: "create_adjustment",
  method: "POST",
  path: "/transactions/adjustment",
  tag: "Transactions",
  summary: "Create an adjustment",
  description:
    "Corrects a balance by a signed amount. An application or operator other than its creator must approve the " +
    "adjustment, whatever the policy of the brokerage is; then `PATCH` it to `completed`, which books it. On an " +
    "account with a `source_id` that asks the trading platform for it; the adjustment is `processing` until then.",
  file: "transactions/adjustment",
  scope: "transactions:write",
  standing: "read",
  grants: ["read", "put", "update"],
  body: CreateAdjustmentRequest,
  reply: Transaction,
  status: 201,
  example: { account_id: "acc_01JD0000000000000000000002", amount: "-25.00", reason: { code: "fee_correction" } },
  refusals: brokerageRefusals,
  emits: ["transaction.created"],
});

/** `POST /transactions/credit` */
export const createCredit = route({
  id: "create_credit",
  method: "POST",
  path: "/transactions/credit",
  tag: "Transactions",
  summary: "Create a credit",
  description:
    "Grants credit to an account, or takes it back. Credit supports trades and cannot be withdrawn. If the balance " +
    "is below zero once the last position is closed, credit pays what trading lost. `PATCH` the transaction to " +
    "`completed` to book it; with `four_eyes` another application or operator must approve it first. Credit that " +
    "expires first is used first. `credit_on_withdrawal` of the settings says what a withdrawal does to credit. On " +
    "an account with a `source_id` this asks the trading platform for it; the credit is `processing` until then.",
  file: "transactions/credit",
  scope: "transactions:write",
  standing: "read",
  grants: ["read", "put", "update"],
  body: CreateCreditRequest,
  reply: Transaction,
  status: 201,
  example: {
    account_id: "acc_01JD0000000000000000000002",
    direction: "in",
    amount: "50.00",
    reason: { code: "welcome_bonus" },
  },
  refusals: brokerageRefusals,
  emits: ["transaction.created"],
});

/** Refusals of a transfer, and of the quote of one. */
const transferRefusals = [
  "account_not_found",
  "account_disabled",
  "account_closed",
  "account_close_only",
  "platform_account",
  "transfer_not_allowed",
  "client_closed",
  "client_suspended",
  "client_not_verified",
  "amount_precision",
  "amount_too_large",
  "amount_too_small",
  "market_closed",
  "metrics_stale",
  "no_conversion_path",
] as const;

const transferExample = {
  from_account_id: "acc_01JD0000000000000000000002",
  to_account_id: "acc_01JD0000000000000000000003",
  amount: "100.00",
};

/** `POST /transactions/transfer` */
export const createTransfer = route({
  id: "create_transfer",
  method: "POST",
  path: "/transactions/transfer",
  tag: "Transactions",
  summary: "Create a transfer",
  description:
    "Moves money between two accounts, which are both live or both demo. Returns the debit, which must be covered " +
    "like a withdrawal; its `transfer` names the credit. An amount in another currency is converted at the bid of " +
    "what is sold and the ask of what is bought, by the lesser rate of the pair of both currencies and the way over " +
    "USD, less the mark-up of the brokerage, and rounded toward zero.\n\n" +
    "Between two accounts of a client without a `source_id` it is completed at once. If a trading platform keeps one " +
    "of them, the amount is held and `transfer.status` shows how far it is: the platform debits its account first " +
    "(`debiting`), and the credit is made once that is done (`crediting`). A debit whose credit fails is given back. " +
    "A transfer to another client's account is `pending` until an application or operator other than its creator " +
    "sets the debit to `approved`.",
  file: "transactions/transfer",
  scope: "transactions:write",
  standing: "read",
  grants: ["read", "read:quotes", "query", "put", "update", "delete"],
  body: CreateTransferRequest,
  reply: Transaction,
  status: 201,
  example: transferExample,
  refusals: [
    ...transferRefusals,
    "external_id_taken",
    "insufficient_funds",
    "insufficient_free_margin",
    "liquidation_in_progress",
    "transfer_quote_invalid",
    "source_ended",
  ],
  emits: moneyEvents,
});

/** `POST /transfer_quotes` */
export const createTransferQuote = route({
  id: "create_transfer_quote",
  method: "POST",
  path: "/transfer_quotes",
  tag: "Transactions",
  summary: "Create a firm quote of a transfer",
  description:
    "Fixes the rate of one transfer for 30 seconds: these accounts, this amount, once. A new quote of the client " +
    "takes the place of the previous one. The amount is worth 10,000 USD at most, and the mark-up is 0.10 percent or " +
    "that of the brokerage, whichever is more.",
  file: "transactions/transfer-quote",
  scope: "transactions:write",
  standing: "read",
  grants: ["read", "read:quotes", "query", "put", "update"],
  body: CreateTransferQuoteRequest,
  reply: TransferQuote,
  example: transferExample,
  refusals: [...transferRefusals],
});

/** `GET /transactions/summary` */
export const summarizeTransactions = route({
  id: "summarize_transactions",
  method: "GET",
  path: "/transactions/summary",
  tag: "Transactions",
  summary: "Get sums of transactions",
  description: "Sums by day of creation over up to 92 days and 15,000 rows, of every event up to `as_of_sequence`.",
  file: "transactions/summary",
  scope: "transactions:read",
  grants: ["read", "query"],
  query: SummarizeTransactionsQuery,
  reply: TransactionSummary,
  table: true,
});

/** `GET /transactions/queue` */
export const listApprovalQueue = route({
  id: "list_approval_queue",
  method: "GET",
  path: "/transactions/queue",
  tag: "Transactions",
  summary: "List transactions that wait for your approval",
  description:
    "Transactions that the caller can approve, oldest first: those that need an approval, that the caller " +
    "neither created nor approved, and whose rule allows the role of the caller. One that too few operators are left " +
    "to approve is shown to everyone, and so is one that has ended without its `set_aside` item. A page may be " +
    "short, or empty, while there is a next one. `expand=client` shows whose account each is of.",
  file: "transactions/queue",
  scope: "transactions:approve",
  grants: ["query:state", "query:list", "read"],
  query: ListApprovalQueueQuery,
  reply: page(QueuedTransaction),
  refusals: ["invalid_cursor", "insufficient_scope"],
});

/** `GET /transactions/{id}` */
export const getTransaction = route({
  id: "get_transaction",
  method: "GET",
  path: "/transactions/{id}",
  tag: "Transactions",
  summary: "Get a transaction",
  description: "Returns the transaction with the history of its states.",
  file: "transactions/get",
  scope: "transactions:read",
  grants: ["read"],
  reply: Transaction,
});

/** `PATCH /transactions/{id}` */
export const updateTransaction = route({
  id: "update_transaction",
  method: "PATCH",
  path: "/transactions/{id}",
  tag: "Transactions",
  summary: "Update the status of a transaction",
  description:
    "`approved` and `rejected` require the scope `transactions:approve`; `processing` and the states after it " +
    "require `transactions:settle`.\n\n" +
    "On an account with a `source_id` the trading platform moves the money. `completed` of a deposit, and " +
    "`processing` or `completed` of a withdrawal, issue a command, and the transaction is `processing` until the " +
    "platform has moved the money; then a deposit is `completed`, and a withdrawal has `platform_done_at` and waits " +
    "for `completed`, its payout. `failed` of such a payout, and `returned`, first issue the opposite command. While " +
    "a command waits, `failed` cancels it. To settle by hand what was done on the platform, add its `operation_id`, " +
    "also when the `outcome` is `unknown`; then `not_found` says that the platform has no such operation.\n\n" +
    "A deposit of which another amount arrived is completed with `received_amount`. A transaction that was rejected " +
    "or cancelled, or has failed, frees its `external_id` and `provider_reference` for another one; with a " +
    "`set_aside` item, once people have settled that.\n\n" +
    "A transfer is approved, rejected or cancelled by its debit, and goes on by itself.\n\n" +
    "Where an approval rule of the settings applies, each `approved` is recorded in `approvals`, and the transaction " +
    "stays `pending` until there are enough; nothing is paid before.",
  file: "transactions/update",
  scope: "transactions:write",
  further_scopes: ["transactions:approve", "transactions:settle"],
  standing: "held_by_operators",
  grants: ["read", "read:quotes", "query", "put", "update", "delete", "check"],
  body: UpdateTransactionRequest,
  media: "merge_patch",
  reply: Transaction,
  example: { status: "completed" },
  refusals: [
    "illegal_transition",
    "insufficient_scope",
    "four_eyes_required",
    "approval_required",
    "insufficient_free_margin",
    "insufficient_credit",
    "too_many_credit_lots",
    "liquidation_in_progress",
    "metrics_stale",
    "no_conversion_path",
    "account_closed",
    "client_closed",
    "amount_too_large",
    "amount_precision",
    "fee_too_high",
    "command_outstanding",
    "operation_known",
    "source_ended",
    "not_linked",
  ],
  conflicts: ["insufficient_funds"],
  emits: [...moneyEvents, "account.updated", "command.settled"],
});

/** `GET /transactions/{id}/history` */
export const getTransactionHistory = route({
  id: "get_transaction_history",
  method: "GET",
  path: "/transactions/{id}/history",
  tag: "Transactions",
  summary: "Get the history of a transaction",
  description: "Every change of state: from, to, by whom, when and why. Oldest first.",
  file: "transactions/history",
  scope: "transactions:read",
  grants: ["read"],
  reply: TransactionHistory,
});

/** Rows of the transaction endpoints. */
export const transactionRoutes = [
  listTransactions,
  createDeposit,
  createWithdrawal,
  createAdjustment,
  createCredit,
  createTransfer,
  createTransferQuote,
  summarizeTransactions,
  listApprovalQueue,
  getTransaction,
  updateTransaction,
  getTransactionHistory,
] as const;
