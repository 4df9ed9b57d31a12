import * as z from "zod/mini";
import { clientExpansion, expandedClient } from "./client.ts";
import { described } from "./described.ts";
import { Actor } from "./event.ts";
import { reportedAmountText, SetAside } from "./feed/set-aside.ts";
import {
  AccountType,
  Currency,
  createdRange,
  currencyText,
  id,
  identifier,
  Metadata,
  Money,
  name,
  ownFields,
  pageParameters,
  resourceFields,
  setOf,
  Timestamp,
  TimestampInput,
  text,
} from "./fields.ts";
import { TransferLeg, type TransferQuote } from "./internal-money/transfer.ts";
import { MoneyInput } from "./money.ts";
import { SignedDecimal } from "./symbol.ts";

const Method = z.enum(["bank_transfer", "card", "crypto", "e_wallet", "cash", "internal", "other"]);

/** Kinds with signed amounts. A trading platform books them; the API books adjustments too. */
export const platformKinds = ["adjustment", "fee", "commission", "dividend", "swap", "correction"] as const;

/**
 * Transaction types. Credit supports trades and cannot be withdrawn: `credit_in` grants it, `credit_out` takes it
 * back. A negative balance correction covers the debt that trading left on a protected account; an
 * adjustment is a correction by the brokerage or its platform; the types after it are booked by trading platforms only.
 */
export const TransactionKind = z.enum([
  "deposit",
  "withdrawal",
  "transfer_out",
  "transfer_in",
  "credit_in",
  "credit_out",
  "negative_balance_correction",
  ...platformKinds,
]);

/** States of a transaction. */
export const TransactionStatus = z.enum([
  "pending",
  "approved",
  "processing",
  "completed",
  "rejected",
  "cancelled",
  "failed",
  "returned",
]);

/** Why a transaction was rejected, failed or returned. */
export const StatusReason = z.strictObject({
  code: described(
    z.string().check(z.regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a lower-case word with underscores")),
    "Machine-readable error code.",
  ),
  message: described(z.optional(z.nullable(text(500))), "Human-readable reason."),
});

/** Source or destination of the money. Responses mask it except for the last four characters. */
const Endpoint = z.strictObject({
  iban: described(
    z.optional(z.string().check(z.regex(/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/, "must be an IBAN without spaces"))),
    "IBAN without spaces. Responses show the last four characters only.",
  ),
  wallet: described(
    z.optional(z.string().check(z.regex(/^[A-Za-z0-9:_-]{8,128}$/, "must be a wallet address"))),
    "Wallet address. Responses show the last four characters only.",
  ),
  card_last4: described(
    z.optional(z.string().check(z.regex(/^\d{4}$/, "must be 4 digits"))),
    "Last four digits of the card number.",
  ),
  holder: described(z.optional(name(200)), "Name of the account holder."),
});

/** Members of a request for a transaction. */
export const request = {
  account_id: described(id("acc"), "Account identifier."),
  amount: described(
    MoneyInput,
    "Amount before the fee, in the currency of the account. Send a decimal string such as `1000.00`; a " +
      "JSON number is read digit by digit, but many languages cannot write it exactly.",
  ),
  currency: described(z.optional(Currency), currencyText),
  fee: described(z.optional(MoneyInput), "Part of the amount that the brokerage keeps."),
  method: described(z.optional(Method), "Payment method."),
  provider: described(z.optional(z.nullable(name(64))), "Payment provider."),
  provider_reference: described(
    z.optional(z.nullable(identifier(128))),
    "The provider's reference; unique per provider, which prevents double bookings.",
  ),
  external_id: described(
    z.optional(z.nullable(identifier(64))),
    "Your own identifier, without invisible characters; unique per resource type.",
  ),
  description: described(z.optional(z.nullable(text(500))), "Free text."),
  expires_at: described(z.optional(TimestampInput), "Time at which the transaction fails if it is still pending."),
  status: described(
    z.optional(z.enum(["pending", "completed"])),
    "`completed` books the money immediately; it requires the scope `transactions:settle`.",
  ),
  metadata: described(
    z.optional(Metadata),
    "Your own keys and values: at most 50 keys of 40 characters, values of 500 characters, 16 KiB in " +
      "total (keys and values in UTF-8).",
  ),
};

/** `POST /transactions/deposit`; only account and amount are required. */
export const CreateDepositRequest = z.strictObject({
  ...request,
  source: described(z.optional(z.nullable(Endpoint)), "Source of the money."),
});

/** `POST /transactions/withdrawal`: the amount is held until the withdrawal is decided. */
export const CreateWithdrawalRequest = z.strictObject({
  ...request,
  destination: described(z.optional(z.nullable(Endpoint)), "Destination of the money."),
});

const transferRequest = {
  from_account_id: described(id("acc"), "Account that is debited."),
  to_account_id: described(
    id("acc"),
    "Account that is credited. The transfer to an account of another client must be approved.",
  ),
  amount: described(
    MoneyInput,
    "Amount that is debited, in the currency of the account that is debited. Send a decimal string such as `1000.00`.",
  ),
};

/** `POST /transactions/transfer`: between two accounts. */
export const CreateTransferRequest = z.strictObject({
  ...transferRequest,
  quote_id: described(z.optional(id("trq")), "Firm quote of this transfer, which fixes its rate."),
  external_id: request.external_id,
  description: request.description,
  metadata: request.metadata,
});

/** `POST /transfer_quotes` */
export const CreateTransferQuoteRequest = z.strictObject(transferRequest);

/** `PATCH /transactions/{id}`: changes the status. */
export const UpdateTransactionRequest = z.strictObject({
  status: described(z.optional(TransactionStatus), "Target status."),
  reason: described(z.optional(StatusReason), "Reason; required to reject, fail or return a transaction."),
  force: described(
    z.optional(z.boolean()),
    "With `returned`: book the return even if the balance does not cover it. Also requires `transactions:approve`.",
  ),
  keep_fee: described(z.optional(z.boolean()), "With `returned`: the brokerage keeps the fee."),
  received_amount: described(
    z.optional(MoneyInput),
    "With `completed` of a deposit: the amount before the fee that arrived, if it is not the announced one. Where " +
      "the larger of both needs an approval, no more than was approved.",
  ),
  fee: described(z.optional(MoneyInput), "With `received_amount`: the fee of it; the announced one if omitted."),
  operation_id: described(
    z.optional(identifier(64)),
    "Settles by hand: the operation on the platform that moved the money of a linked account.",
  ),
  not_found: described(
    z.optional(z.literal(true)),
    "Settles by hand: the platform has no operation of a command whose outcome is unknown.",
  ),
});

/** `POST /transactions/{id}/reject` */
export const RejectTransactionRequest = z.strictObject({ reason: described(StatusReason, "Why it is rejected.") });

const MaskedEndpoint = z.object({
  iban: described(z.optional(z.string()), "IBAN without spaces. Responses show the last four characters only."),
  wallet: described(z.optional(z.string()), "Wallet address. Responses show the last four characters only."),
  card_last4: described(z.optional(z.string()), "Last four digits of the card number."),
  holder: described(z.optional(z.string()), "Name of the account holder."),
});

const ofAccount = {
  kind: described(z.optional(setOf(TransactionKind.options)), "Transaction types, separated by commas."),
  status: described(z.optional(setOf(TransactionStatus.options)), "Transaction statuses, separated by commas."),
  method: described(z.optional(setOf(Method.options)), "Payment methods, separated by commas."),
  currency: described(z.optional(setOf(Currency.options)), "Currency codes, separated by commas."),
  completed_from: described(z.optional(TimestampInput), "Completed at or after this time, also if returned since."),
  completed_to: described(z.optional(TimestampInput), "Completed before this time, also if returned since."),
  external_id: described(
    z.optional(identifier(64)),
    "Your own identifier, without invisible characters; unique per resource type.",
  ),
  provider_reference: described(
    z.optional(identifier(128)),
    "The provider's reference; unique per provider, which prevents double bookings.",
  ),
};

/** Query of `GET /accounts/{id}/transactions`. */
export const ListAccountTransactionsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  ...ofAccount,
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
});

/** Query of `GET /clients/{id}/transactions`. */
export const ListClientTransactionsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  ...ofAccount,
  account_id: described(z.optional(id("acc")), "Account identifier."),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
});

/** Query of `GET /transactions`. */
export const ListTransactionsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  ...ofAccount,
  account_id: described(z.optional(id("acc")), "Account identifier."),
  client_id: described(z.optional(id("cli")), "Client identifier."),
  sort: described(z.optional(z.enum(["-created_at", "created_at"])), "Sort order; a leading hyphen means descending."),
  ...clientExpansion,
});

/**
 * An operation on a trading platform that moved this transaction's money: `forward`, or `reverse` when it was returned
 * or its payout failed.
 */
const PlatformOperation = z.object({
  source_id: described(z.string(), "Feed source that reported the operation."),
  operation_id: described(z.string(), "Identifier of the operation on the platform."),
  leg: described(
    z.enum(["forward", "reverse"]),
    "`forward` moved the money; `reverse` brought it back after a return or a failed payout.",
  ),
  at: described(Timestamp, "Time of the operation on the platform."),
  reported_amount: described(z.optional(SignedDecimal), reportedAmountText),
  deal_id: described(z.optional(z.string()), "Deal that the platform charged the money for; absent if it named none."),
  confirmed: described(
    z.optional(z.boolean()),
    "Whether the source has reported the operation; false while it is only acknowledged or entered by a person.",
  ),
});

/** Terms of credit that was granted. */
const CreditTerms = z.object({
  expires_at: described(z.nullable(Timestamp), "Time at which what is left of this credit ends; null if it does not."),
  expired_at: described(z.nullable(Timestamp), "Time at which it ended; null before."),
});

/** A transaction in responses. */
export const Transaction = z.object({
  id: described(z.string(), "Identifier, assigned by the service."),
  object: described(z.literal("transaction"), "Resource type; always this value."),
  kind: described(TransactionKind, "Transaction type."),
  account_id: described(z.string(), "Account identifier."),
  account_number: described(z.string(), "Account number."),
  account_type: described(AccountType, "Type of the account: `live` or `demo`."),
  client_id: described(z.string(), "The client that owns the account."),
  amount: described(
    Money,
    "Amount before the fee, in the currency of the account. Send a decimal string such as `1000.00`; a " +
      "JSON number is read digit by digit, but many languages cannot write it exactly.",
  ),
  fee: described(Money, "Part of the amount that the brokerage keeps."),
  net_amount: described(Money, "Amount minus the fee: what a deposit credits and a withdrawal pays out."),
  announced_amount: described(
    z.optional(Money),
    "Amount that was announced, where another one arrived, which `amount` is then; absent otherwise.",
  ),
  currency: described(Currency, currencyText),
  method: described(Method, "Payment method."),
  provider: described(z.nullable(z.string()), "Payment provider."),
  provider_reference: described(
    z.nullable(z.string()),
    "The provider's reference; unique per provider, which prevents double bookings.",
  ),
  external_id: described(
    z.nullable(z.string()),
    "Your own identifier, without invisible characters; unique per resource type.",
  ),
  source: described(z.nullable(MaskedEndpoint), "Source of the money."),
  destination: described(z.nullable(MaskedEndpoint), "Destination of the money."),
  description: described(z.nullable(z.string()), "Free text."),
  status: described(TransactionStatus, "Transaction status."),
  status_reason: described(
    z.nullable(
      z.object({
        code: described(z.string(), "Machine-readable error code."),
        message: described(z.nullable(z.string()), "Human-readable reason."),
      }),
    ),
    "Reason for rejection, failure or return; null otherwise.",
  ),
  status_history: described(
    z.array(
      z.object({
        from: described(z.nullable(TransactionStatus), "Previous state; null for the first."),
        to: described(TransactionStatus, "New state."),
        at: described(Timestamp, "Time of the change."),
        actor: described(Actor, "The application, operator or system that caused the change."),
        reason: described(
          z.nullable(
            z.object({
              code: described(z.string(), "Machine-readable error code."),
              message: described(z.nullable(z.string()), "Human-readable reason."),
            }),
          ),
          "Reason of the change; null if there is none.",
        ),
      }),
    ),
    "Status changes, oldest first.",
  ),
  balance_before: described(z.nullable(Money), "Balance before the booking; null before completion."),
  balance_after: described(z.nullable(Money), "Balance after the booking; null before completion."),
  related_to: described(
    z.nullable(z.string()),
    "The transaction that the platform reported with this money, although it is not its money; null if " +
      "there is none.",
  ),
  platform_operations: described(
    z.array(PlatformOperation),
    "Operations on a trading platform that moved this transaction's money.",
  ),
  set_aside: described(z.nullable(SetAside), "Item set aside until approved, see `approval_required`; null without."),
  command_id: described(
    z.optional(z.string()),
    "Newest command that asks the trading platform to move the money, or to follow a correction that is booked; " +
      "absent if there is none.",
  ),
  outcome: described(
    z.optional(z.nullable(z.enum(["unknown", "needs_attention"]))),
    "`unknown`: it is not known whether the platform moved the money. `needs_attention`: request the return again; " +
      "if `failed`, the payout was given back after its feed source ended, and not on the platform.",
  ),
  platform_done_at: described(z.optional(Timestamp), "Time at which the platform moved the money; absent before."),
  transfer: described(
    z.nullable(TransferLeg),
    "The transfer that this transaction is a leg of, with the other leg; null for every other kind.",
  ),
  credit: described(
    z.optional(CreditTerms),
    "Terms of the credit that this transaction grants; absent if it grants none.",
  ),
  created_by: described(Actor, "The application, operator or system that created the transaction."),
  approved_by: described(
    z.nullable(Actor),
    "The application or operator that approved the transaction; null while there is none.",
  ),
  approvals: described(
    z.optional(
      z.array(
        z.object({ actor: described(Actor, "Who approved."), at: described(Timestamp, "Time of the approval.") }),
      ),
    ),
    "Approvals under an approval rule, oldest first; absent where none was given under a rule.",
  ),
  approved_at: described(z.nullable(Timestamp), "Time of approval; null while there is none."),
  completed_at: described(z.nullable(Timestamp), "Time of the booking; null before."),
  expires_at: described(
    z.nullable(Timestamp),
    "Time at which the transaction fails if it is still undecided; null if it does not expire.",
  ),
  ...resourceFields,
  ...expandedClient,
});

/** Status changes of a transaction, oldest first. */
export const TransactionHistory = z.object({
  object: described(z.literal("transaction_history"), "Resource type; always this value."),
  transaction_id: described(z.string(), "Transaction identifier."),
  data: described(Transaction.shape.status_history, "Status changes, oldest first."),
  _links: ownFields._links,
});

/** Body of `POST /transactions/deposit` after validation. */
export type CreateDeposit = z.infer<typeof CreateDepositRequest>;
/** Body of `POST /transactions/withdrawal` after validation. */
export type CreateWithdrawal = z.infer<typeof CreateWithdrawalRequest>;
/** Body of `POST /transactions/transfer` after validation. */
export type CreateTransfer = z.infer<typeof CreateTransferRequest>;
/** Body of `POST /transfer_quotes` after validation. */
export type CreateTransferQuote = z.infer<typeof CreateTransferQuoteRequest>;
/** A firm quote on the wire. */
export type TransferQuoteBody = z.infer<typeof TransferQuote>;
/** Body of `PATCH /transactions/{id}` after validation. */
export type UpdateTransaction = z.infer<typeof UpdateTransactionRequest>;
/** A transaction on the wire. */
export type TransactionBody = z.infer<typeof Transaction>;
/** One transaction state. */
export type TransactionState = z.infer<typeof TransactionStatus>;
/** The history of a transaction on the wire. */
export type TransactionHistoryBody = z.infer<typeof TransactionHistory>;
