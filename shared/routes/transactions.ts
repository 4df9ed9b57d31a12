import {
  CreateDepositRequest,
  CreateWithdrawalRequest,
  Transaction,
  UpdateTransactionRequest,
} from "../schema/transaction.ts";
import { route } from "./route.ts";

/** `POST /transactions/deposit` */
export const createDeposit = route({
  id: "create_deposit",
  method: "POST",
  path: "/transactions/deposit",
  tag: "Transactions",
  summary: "Create a deposit",
  file: "transactions/deposit",
  auth: "token",
  scope: "transactions:write",
  rate: "standard",
  grants: ["read", "put", "update"],
  body: CreateDepositRequest,
  media: "json",
  reply: Transaction,
  status: 201,
  example: { account_id: "acc_01JD0000000000000000000002", amount: "1000.00" },
  refusals: [
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
  ],
  emits: ["transaction.created", "transaction.completed"],
  stages: ["sandbox", "production"],
});

/** `POST /transactions/withdrawal` */
export const createWithdrawal = route({
  id: "create_withdrawal",
  method: "POST",
  path: "/transactions/withdrawal",
  tag: "Transactions",
  summary: "Create a withdrawal",
  description: "The amount is held at once; it is released when the withdrawal is rejected or cancelled.",
  file: "transactions/withdrawal",
  auth: "token",
  scope: "transactions:write",
  rate: "standard",
  grants: ["read", "put", "update"],
  body: CreateWithdrawalRequest,
  media: "json",
  reply: Transaction,
  status: 201,
  example: { account_id: "acc_01JD0000000000000000000002", amount: "250.00" },
  refusals: [
    "account_not_found",
    "account_disabled",
    "account_closed",
    "account_close_only",
    "client_suspended",
    "insufficient_funds",
    "currency_mismatch",
    "amount_precision",
    "amount_too_large",
    "fee_too_high",
    "external_id_taken",
    "duplicate_provider_reference",
    "insufficient_scope",
  ],
  emits: ["transaction.created", "transaction.completed"],
  stages: ["sandbox", "production"],
});

/** `GET /transactions/{id}` */
export const getTransaction = route({
  id: "get_transaction",
  method: "GET",
  path: "/transactions/{id}",
  tag: "Transactions",
  summary: "Get one transaction",
  file: "transactions/get",
  auth: "token",
  scope: "transactions:read",
  rate: "standard",
  grants: ["read"],
  reply: Transaction,
  status: 200,
  refusals: [],
  emits: [],
  stages: ["sandbox", "production"],
});

/** `PATCH /transactions/{id}` */
export const updateTransaction = route({
  id: "update_transaction",
  method: "PATCH",
  path: "/transactions/{id}",
  tag: "Transactions",
  summary: "Update the status of a transaction",
  description: "Completing needs transactions:settle, rejecting transactions:approve, cancelling transactions:write.",
  file: "transactions/update",
  auth: "token",
  scope: "transactions:write",
  rate: "standard",
  grants: ["read", "put", "update"],
  body: UpdateTransactionRequest,
  media: "merge_patch",
  reply: Transaction,
  status: 200,
  example: { status: "completed" },
  refusals: [
    "illegal_transition",
    "insufficient_scope",
    "insufficient_free_margin",
    "account_closed",
    "amount_too_large",
  ],
  emits: ["transaction.completed"],
  stages: ["sandbox", "production"],
});

/** Rows of the transaction endpoints. */
export const transactionRoutes = [createDeposit, createWithdrawal, getTransaction, updateTransaction] as const;
