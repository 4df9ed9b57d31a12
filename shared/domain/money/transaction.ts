import type {
  CreateDeposit,
  CreateWithdrawal,
  TransactionBody,
  TransactionHistoryBody,
  TransactionState,
} from "../../schema/transaction.ts";
import { standingOf } from "../accounts/debt.ts";
import {
  type Actor,
  type Context,
  type DomainEvent,
  later,
  refuse,
  refuseField,
  unchanged,
} from "../kernel/decision.ts";
import { type AmountFault, formatAmount, greatest, parseAmount } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Decision } from "../records/change.ts";
import type { Client } from "../records/client.ts";
import type { PlatformCommand } from "../records/command.ts";
import type { FeedSource } from "../records/feed-source.ts";
import type { Ledger } from "../records/ledger.ts";
import type { Tenant } from "../records/tenant.ts";
import type { Returning, Transaction } from "../records/transaction.ts";
import type { Givers } from "./givers.ts";
import type { Late, MarginView } from "./posting.ts";
import { transferStatus } from "./transfers/state.ts";

/** The amounts that the platform is to bring back of a transaction; undefined unless a command for it is open. */
export function returningOf(transaction: Transaction): Returning | undefined {
  const { returning, returning_minor: minor, returning_held_minor, returning_kept_minor } = transaction;
  if (returning === undefined || minor === undefined) return undefined;
  return { ...returning, minor, held_minor: returning_held_minor ?? 0n, kept_fee_minor: returning_kept_minor ?? 0n };
}

/** The members of a transaction that say what the platform is to bring back. */
export function returningFields({ to, reason, minor, held_minor, kept_fee_minor }: Returning) {
  return {
    returning: { to, reason },
    returning_minor: minor,
    returning_held_minor: held_minor,
    returning_kept_minor: kept_fee_minor,
  };
}

/** The transaction without them. */
export function withoutReturning(transaction: Transaction): Transaction {
  const {
    returning: _returning,
    returning_minor: _minor,
    returning_held_minor: _held,
    returning_kept_minor: _kept,
    ...rest
  } = transaction;
  return rest;
}

/** Whether a platform is asked to move the money of a transaction and has not done so: nothing is booked yet. */
export function awaitsPlatform({ command_id, platform_done_at, status }: Transaction): boolean {
  return status === "processing" && command_id !== undefined && platform_done_at === undefined;
}

/** The transaction with further fields, in the state that it has. */
export function changedTransaction(before: Transaction, fields: Partial<Transaction>, { now }: Context): Transaction {
  return { ...before, ...fields, updated_at: later(before.updated_at, now), version: before.version + 1 };
}

/** The transaction as GET shows it. */
export function transactionBody(transaction: Transaction): TransactionBody {
  const { tenant_id, provider_at, debited_seq, reverse_minor, amount_minor, fee_minor, ...stored } =
    withoutReturning(transaction);
  const { balance_before_minor, balance_after_minor, related_to = null, platform_operations = [], ...others } = stored;
  const { transfer, transfer_credit_minor, transfer_income_minor, ...more } = others;
  const { announced_amount_minor: announced, set_aside = null, ...fields } = more;
  const money = (minor: bigint) => formatAmount(minor, transaction.currency);
  return {
    ...fields,
    object: "transaction",
    amount: money(amount_minor),
    fee: money(fee_minor),
    net_amount: money(amount_minor - fee_minor),
    ...(announced === undefined ? {} : { announced_amount: money(announced) }),
    balance_before: balance_before_minor === null ? null : money(balance_before_minor),
    balance_after: balance_after_minor === null ? null : money(balance_after_minor),
    related_to,
    set_aside,
    platform_operations: platform_operations.map(({ feed_seq: _number, ...each }) => ({
      ...each,
      confirmed: each.confirmed ?? true,
    })),
    transfer: transfer === undefined ? null : { ...transfer, status: transferStatus(transaction) },
    _links: {
      self: { href: `/v2/transactions/${transaction.id}` },
      account: { href: `/v2/accounts/${transaction.account_id}` },
      client: { href: `/v2/clients/${transaction.client_id}` },
    },
  } as TransactionBody;
}

/** The states that a transaction went through, as `GET /transactions/{id}/history` shows them. */
export function historyBody(transaction: Transaction): TransactionHistoryBody {
  const self = `/v2/transactions/${transaction.id}`;
  return {
    object: "transaction_history",
    transaction_id: transaction.id,
    data: [...transaction.status_history],
    _links: { self: { href: `${self}/history` }, transaction: { href: self } },
  };
}

/** The sides of a transaction's account that a decision needs: its profile, its money and the tenant's policies. */
export interface AccountContext {
  readonly tenant: Tenant;
  readonly account: Account;
  readonly balance: Balance;
  /** Amounts that its open positions leave; absent where it has none. */
  readonly margin?: MarginView;
  /** The client of an account that was reopened, which may be closed; absent of every other account. */
  readonly client?: Pick<Client, "status"> | undefined;
  /** The source that the account is linked to; absent where it is linked to none. */
  readonly source?: FeedSource | undefined;
  /** The newest command about the transaction; absent where there is none. */
  readonly command?: PlatformCommand | undefined;
  /** The ledger since the debit of the transaction; absent unless {@link reversedFrom} asks for it. */
  readonly since_debit?: readonly Ledger[];
  /** Those who approved the transaction, as they are now; absent where there are none. */
  readonly givers?: Givers | undefined;
  /** Where the item that is set aside belongs in the ledger, where a loss was corrected since it happened. */
  readonly late?: Late | undefined;
}

/**
 * The number of the debit that a move of a transaction may take back, where the ledger since then must be looked at:
 * the account went below zero after it or has a debt, so the debit may have caused a correction. Almost always
 * undefined.
 */
export function reversedFrom({ status, debited_seq: seq }: Transaction, balance: Balance): number | undefined {
  if (seq === undefined || (status !== "processing" && status !== "completed")) return undefined;
  const below = (balance.below_zero_seq ?? 0) > seq || standingOf(balance).debt_minor > 0n;
  return below ? seq : undefined;
}

/** Whether everything a decision needs was found. */
export function isComplete(
  found: { readonly [K in "tenant" | "account" | "balance"]: AccountContext[K] | undefined },
): found is AccountContext {
  return found.tenant !== undefined && found.account !== undefined && found.balance !== undefined;
}

/** Refuses money for an account of a closed client, whose own money came back to it and can be paid out alone. */
export const refuseClosedClient = () =>
  refuse("client_closed", "The client of the account is closed: what the account has can only be withdrawn.");

/** Kinds that add to the money or the credit of an account, on request. */
const receipts: ReadonlySet<Transaction["kind"]> = new Set(["deposit", "credit_in", "transfer_in"]);

/**
 * Why an account must not get what a transaction adds to it: its client is closed. An adjustment may write off what a
 * closed client owes, and no more. An amount that a platform reports has happened, so it is not checked.
 */
export function refuseReceipt(
  { kind, amount_minor: minor }: Pick<Transaction, "kind" | "amount_minor">,
  { client, balance }: Pick<AccountContext, "client" | "balance">,
) {
  const corrects = kind === "adjustment" && minor > 0n && balance.balance_minor + minor > 0n;
  return client?.status === "closed" && (corrects || receipts.has(kind)) ? refuseClosedClient() : undefined;
}

/** 422 for a request that asks for too much, 409 for a move that the account's state does not allow now. */
export function refuseFunds(balance: Balance, status?: 409) {
  return refuse("insufficient_funds", "The available balance does not cover the amount.", {
    ...(status === undefined
      ? { errors: [{ pointer: "#/amount", code: "insufficient_funds", detail: "is more than the available balance" }] }
      : { status }),
    extra: {
      available_balance: formatAmount(greatest(0n, balance.available_minor), balance.currency),
      currency: balance.currency,
    },
  });
}

/** A transaction that is asked for, pending. */
export function draftTransaction(
  kind: Transaction["kind"],
  { account, tenant }: Pick<AccountContext, "account" | "tenant">,
  request: CreateDeposit & CreateWithdrawal,
  context: Context,
): Decision<Transaction> {
  if (request.currency !== undefined && request.currency !== account.currency) {
    return refuseField("currency_mismatch", "currency", `The account is kept in ${account.currency}.`);
  }
  const amount = parseAmount(request.amount, account.currency);
  if (typeof amount === "string") return refuseAmount(amount, "amount", account);
  if (amount === 0n) return refuseField("validation_failed", "amount", "must be more than 0", "out_of_range");
  const fee = parseAmount(request.fee ?? "0", account.currency);
  if (typeof fee === "string") return refuseAmount(fee, "fee", account);
  if (fee >= amount) return refuseField("fee_too_high", "fee", "The fee must be lower than the amount.");
  const expires = expiry(request.expires_at, context.now, tenant.transaction_expiry_days);
  if (expires === undefined)
    return refuseField("validation_failed", "expires_at", "must be in the future", "out_of_range");
  const draft: Transaction = {
    id: context.newId("txn"),
    tenant_id: context.tenant_id,
    kind,
    account_id: account.id,
    account_number: account.number,
    account_type: account.type,
    client_id: account.client_id,
    amount_minor: amount,
    fee_minor: fee,
    currency: account.currency,
    method: request.method ?? "other",
    provider: request.provider ?? null,
    provider_reference: request.provider_reference ?? null,
    external_id: request.external_id ?? null,
    source: maskEndpoint(request.source),
    destination: maskEndpoint(request.destination),
    description: request.description ?? null,
    status: "pending",
    status_reason: null,
    status_history: [{ from: null, to: "pending", at: context.now, actor: context.actor, reason: null }],
    balance_before_minor: null,
    balance_after_minor: null,
    related_to: null,
    platform_operations: [],
    created_by: context.actor,
    approved_by: null,
    approved_at: null,
    completed_at: null,
    expires_at: expires,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
    metadata: request.metadata ?? {},
  };
  return unchanged(withProviderMove(draft, context));
}

type RequestedEndpoint = {
  iban?: string | undefined;
  wallet?: string | undefined;
  card_last4?: string | undefined;
  holder?: string | undefined;
};

/** Keeps the last four characters of an account number: the rest is never stored, so it can never leak. */
function maskEndpoint(endpoint: RequestedEndpoint | null | undefined): Transaction["source"] {
  if (endpoint === null || endpoint === undefined) return null;
  const mask = (value: string) => `****${value.slice(-4)}`;
  return {
    ...(endpoint.iban === undefined ? {} : { iban: mask(endpoint.iban) }),
    ...(endpoint.wallet === undefined ? {} : { wallet: mask(endpoint.wallet) }),
    ...(endpoint.card_last4 === undefined ? {} : { card_last4: endpoint.card_last4 }),
    ...(endpoint.holder === undefined ? {} : { holder: endpoint.holder }),
  };
}

function expiry(requested: string | undefined, now: string, days: number): string | undefined {
  const start = Date.parse(now);
  if (requested === undefined) return new Date(start + days * 24 * 3_600_000).toISOString();
  const moment = Date.parse(requested);
  return moment > start ? new Date(moment).toISOString() : undefined;
}

/** The transaction in its next state, with the entry in its history. */
export function moved(
  transaction: Transaction,
  to: TransactionState,
  context: Context,
  reason: Transaction["status_reason"],
): Transaction {
  const at = later(transaction.updated_at, context.now);
  const actor: Actor = context.actor;
  const next: Transaction = {
    ...transaction,
    status: to,
    status_reason: reason,
    status_history: [...transaction.status_history, { from: transaction.status, to, at, actor, reason }],
    completed_at: to === "completed" ? at : transaction.completed_at,
    expires_at: to === "approved" ? transaction.expires_at : null,
    updated_at: at,
    version: transaction.version + 1,
  };
  return withProviderMove(next, context);
}

/**
 * The transaction with the moment of its provider's next move. Only a provider moves a transaction by itself, so an
 * environment without one has no such moment.
 */
function withProviderMove(transaction: Transaction, context: Context): Transaction {
  const { provider_at: _before, ...others } = transaction;
  const provider_at = context.providerMovesAt?.(transaction, context.in);
  return provider_at === undefined ? others : { ...others, provider_at };
}

/** Refuses a transaction because of the status of its account. */
export function refuseGate(account: Account) {
  if (account.status === "closed") return refuse("account_closed", "The account is closed.");
  if (account.status === "disabled") return refuse("account_disabled", "The account takes no new transactions.");
  return refuse("account_close_only", "The account only allows closing.");
}

/** Why an amount is none of a currency. */
export function refuseAmount(fault: AmountFault, field: string, account: Pick<Account, "currency">) {
  const detail =
    fault === "amount_precision"
      ? `has more digits than ${account.currency} has`
      : "is larger than the service can hold";
  return refuseField(fault, field, `The ${field} ${detail}.`);
}

/** An event that shows the transaction as it is after the change. */
export function transactionEvent(
  type: "transaction.created" | "transaction.completed" | "transaction.updated" | "transaction.unapproved",
  transaction: Transaction,
  previous?: Readonly<Record<string, unknown>>,
): DomainEvent {
  return {
    type,
    resource: { type: "transaction", id: transaction.id, version: transaction.version },
    client_id: transaction.client_id,
    account_id: transaction.account_id,
    object: transactionBody(transaction),
    ...(previous ? { previous } : {}),
  };
}
