import * as z from "zod/mini";
import { Actor } from "./event.ts";
import {
  Currency,
  createdRange,
  id,
  identifier,
  Metadata,
  Money,
  name,
  pageParameters,
  resourceFields,
  setOf,
  Timestamp,
  TimestampInput,
  text,
} from "./fields.ts";
import { MoneyInput } from "./money.ts";

const Method = z.enum(["bank_transfer", "card", "crypto", "e_wallet", "cash", "internal", "other"]);

/** Money that only a trading platform moves, beside deposits and withdrawals; its amount has a sign. */
export const platformKinds = ["adjustment", "fee", "commission", "dividend", "swap", "correction"] as const;

/**
 * What a transaction is. A negative balance correction covers the debt that trading left on a protected account; what
 * follows it comes from trading platforms.
 */
export const TransactionKind = z.enum(["deposit", "withdrawal", "negative_balance_correction", ...platformKinds]);

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
const StatusReason = z.strictObject({
  code: z.string().check(z.regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a lower-case word with underscores")),
  message: z.optional(z.nullable(text(500))),
});

/** The other end of the money: shown masked, only the last four characters are kept in the clear. */
const Endpoint = z.strictObject({
  iban: z.optional(z.string().check(z.regex(/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/, "must be an IBAN without spaces"))),
  wallet: z.optional(z.string().check(z.regex(/^[A-Za-z0-9:_-]{8,128}$/, "must be a wallet address"))),
  card_last4: z.optional(z.string().check(z.regex(/^\d{4}$/, "must be 4 digits"))),
  holder: z.optional(name(200)),
});

const request = {
  account_id: id("acc"),
  amount: MoneyInput,
  currency: z.optional(Currency),
  fee: z.optional(MoneyInput),
  method: z.optional(Method),
  provider: z.optional(z.nullable(name(64))),
  provider_reference: z.optional(z.nullable(identifier(128))),
  external_id: z.optional(z.nullable(identifier(64))),
  description: z.optional(z.nullable(text(500))),
  expires_at: z.optional(TimestampInput),
  status: z.optional(z.enum(["pending", "completed"])),
  metadata: z.optional(Metadata),
};

/** `POST /transactions/deposit`: account and amount are enough. */
export const CreateDepositRequest = z.strictObject({ ...request, source: z.optional(z.nullable(Endpoint)) });

/** `POST /transactions/withdrawal`: the amount is held until the withdrawal is decided. */
export const CreateWithdrawalRequest = z.strictObject({ ...request, destination: z.optional(z.nullable(Endpoint)) });

/** `PATCH /transactions/{id}`: moves the status. */
export const UpdateTransactionRequest = z.strictObject({
  status: z.optional(TransactionStatus),
  reason: z.optional(StatusReason),
  /** With `returned`: take the money although it is not there. Needs the scope admin. */
  force: z.optional(z.boolean()),
  /** With `returned`: the fee stays where it is. */
  keep_fee: z.optional(z.boolean()),
});

const MaskedEndpoint = z.object({
  iban: z.optional(z.string()),
  wallet: z.optional(z.string()),
  card_last4: z.optional(z.string()),
  holder: z.optional(z.string()),
});

const ofAccount = {
  kind: z.optional(setOf(TransactionKind.options)),
  status: z.optional(setOf(TransactionStatus.options)),
  method: z.optional(setOf(Method.options)),
  external_id: z.optional(identifier(64)),
  provider_reference: z.optional(identifier(128)),
};

/** Query of `GET /accounts/{id}/transactions`. */
export const ListAccountTransactionsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  ...ofAccount,
  sort: z.optional(z.enum(["-created_at", "created_at"])),
});

/** Query of `GET /clients/{id}/transactions`. */
export const ListClientTransactionsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  ...ofAccount,
  account_id: z.optional(id("acc")),
  sort: z.optional(z.enum(["-created_at", "created_at"])),
});

/** Query of `GET /transactions`. */
export const ListTransactionsQuery = z.strictObject({
  ...pageParameters,
  ...createdRange,
  ...ofAccount,
  account_id: z.optional(id("acc")),
  client_id: z.optional(id("cli")),
  sort: z.optional(z.enum(["-created_at", "created_at"])),
});

/**
 * An operation of a trading platform that is this transaction's money: `forward` what it moved, `reverse` what came
 * back when it was returned or its payout failed.
 */
const PlatformOperation = z.object({
  source_id: z.string(),
  operation_id: z.string(),
  leg: z.enum(["forward", "reverse"]),
  at: Timestamp,
});

/** A transaction as the API shows it. */
export const Transaction = z.object({
  id: z.string(),
  object: z.literal("transaction"),
  kind: TransactionKind,
  account_id: z.string(),
  client_id: z.string(),
  amount: Money,
  fee: Money,
  net_amount: Money,
  currency: Currency,
  method: Method,
  provider: z.nullable(z.string()),
  provider_reference: z.nullable(z.string()),
  external_id: z.nullable(z.string()),
  source: z.nullable(MaskedEndpoint),
  destination: z.nullable(MaskedEndpoint),
  description: z.nullable(z.string()),
  status: TransactionStatus,
  status_reason: z.nullable(z.object({ code: z.string(), message: z.nullable(z.string()) })),
  status_history: z.array(
    z.object({
      from: z.nullable(TransactionStatus),
      to: TransactionStatus,
      at: Timestamp,
      actor: Actor,
      reason: z.nullable(z.object({ code: z.string(), message: z.nullable(z.string()) })),
    }),
  ),
  balance_before: z.nullable(Money),
  balance_after: z.nullable(Money),
  related_to: z.nullable(z.string()),
  platform_operations: z.array(PlatformOperation),
  created_by: Actor,
  approved_by: z.nullable(Actor),
  approved_at: z.nullable(Timestamp),
  completed_at: z.nullable(Timestamp),
  expires_at: z.nullable(Timestamp),
  ...resourceFields,
});

/** The states that a transaction went through, oldest first. */
export const TransactionHistory = z.object({
  object: z.literal("transaction_history"),
  transaction_id: z.string(),
  data: Transaction.shape.status_history,
  _links: resourceFields._links,
});

/** Body of `POST /transactions/deposit` after validation. */
export type CreateDeposit = z.infer<typeof CreateDepositRequest>;
/** Body of `POST /transactions/withdrawal` after validation. */
export type CreateWithdrawal = z.infer<typeof CreateWithdrawalRequest>;
/** Body of `PATCH /transactions/{id}` after validation. */
export type UpdateTransaction = z.infer<typeof UpdateTransactionRequest>;
/** A transaction on the wire. */
export type TransactionBody = z.infer<typeof Transaction>;
/** One transaction state. */
export type TransactionState = z.infer<typeof TransactionStatus>;
/** The history of a transaction on the wire. */
export type TransactionHistoryBody = z.infer<typeof TransactionHistory>;
