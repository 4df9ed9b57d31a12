import type { CreateTransfer } from "../../../schema/transaction.ts";
import { creditPolicyOf } from "../../access/tenant.ts";
import { isLinked } from "../../accounts/account.ts";
import { equal, notClosed } from "../../accounts/balance.ts";
import { isVerified } from "../../accounts/verification.ts";
import { isCommanded } from "../../feed/command/money.ts";
import { type Context, type DomainEvent, type Requirement, refuse, refuseField } from "../../kernel/decision.ts";
import { formatAmount, parseAmount } from "../../kernel/money.ts";
import type { Account } from "../../records/account.ts";
import type { Balance } from "../../records/balance.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { Client } from "../../records/client.ts";
import type { Tenant } from "../../records/tenant.ts";
import type { Transaction } from "../../records/transaction.ts";
import type { TransferRate } from "../../records/transfer-quote.ts";
import { refusePlatformAccount } from "../adjustment.ts";
import { refuseTaking } from "../booking.ts";
import { type Booking, post } from "../posting.ts";
import {
  type AccountContext,
  draftTransaction,
  moved,
  refuseAmount,
  refuseClosedClient,
  refuseGate,
  transactionEvent,
} from "../transaction.ts";
import { transactionMarkers } from "../transaction-names.ts";
import { transferCredit } from "./booking.ts";

/** The two accounts of a transfer with the client that owns them. */
export interface TransferSides {
  readonly tenant: Tenant;
  readonly client: Client;
  /** The client of the second account, where that was reopened. */
  readonly receiver?: Pick<Client, "status"> | undefined;
  readonly from: { readonly account: Account; readonly balance: Balance };
  readonly to: { readonly account: Account; readonly balance: Balance };
}

/** A transfer that may be made: what is debited, and what the other account gets for it. */
export interface Transfer extends TransferRate {
  readonly id: string;
  readonly amount_minor: bigint;
  readonly quote_id: string | null;
}

/**
 * The amount of a transfer, or why these two accounts can have none: they differ and are both live or both demo; the
 * client may withdraw; the first pays as for a withdrawal, the second takes what a deposit may.
 */
export function transferAmount(
  sides: TransferSides,
  request: Pick<CreateTransfer, "amount">,
  { now }: Pick<Context, "now">,
): Decision<bigint> {
  const { tenant, client, receiver, from, to } = sides;
  const refused = (field: string, detail: string) => refuseField("transfer_not_allowed", field, detail);
  if (from.account.id === to.account.id) return refused("to_account_id", "The two accounts are one.");
  if (from.account.type !== to.account.type) {
    return refused("to_account_id", "Money does not move between live and demo accounts.");
  }
  if (isMovedByHand(from.account)) return refusePlatformAccount("from_account_id");
  if (isMovedByHand(to.account)) return refusePlatformAccount("to_account_id");
  if (from.balance.accepts !== "all") return refuseGate(from.account);
  if (to.balance.accepts === "none") return refuseGate(to.account);
  if (client.status === "closed" || receiver?.status === "closed") return refuseClosedClient();
  if (client.status === "suspended") return refuse("client_suspended", "The client may not transfer while suspended.");
  if (tenant.require_verified_client !== "none" && !isVerified(client, now)) {
    return refuse("client_not_verified", "The client must be verified to transfer.");
  }
  const amount = parseAmount(request.amount, from.account.currency);
  if (typeof amount === "string") return refuseAmount(amount, "amount", from.account);
  if (amount === 0n) return refuseField("validation_failed", "amount", "must be more than 0", "out_of_range");
  return { ok: true, result: amount, changes: [], events: [] };
}

/** Whether an operator moves the money of an account: a platform keeps it, and no source is connected with it. */
export function isMovedByHand(account: Account): boolean {
  return isLinked(account) && !isCommanded(account);
}

/**
 * Decides the debit of a transfer: it is asked what a withdrawal is asked, at the prices that were read, and again at
 * the commit.
 */
export function transferOut(
  accountContext: AccountContext,
  transfer: Transfer,
  ids: readonly [out: string, into: string],
  other: Account,
  request: CreateTransfer,
  context: Context,
): Decision<Transaction> {
  const { amount_minor: amount } = transfer;
  if (accountContext.balance.accepts !== "all") return refuseGate(accountContext.account);
  const short = refuseTaking(accountContext, amount);
  if (short !== undefined) return short;
  const details = { account_id: other.id, transaction_id: ids[1], minor: transfer.credit_minor, other };
  const pending = draftLeg("transfer_out", accountContext, { transfer, id: ids[0], details }, request, context);
  if (!pending.ok) return pending;
  const booking = { kind: "transfer_out", customer_minor: -amount, legs: [["transfers", amount]] } as const;
  return bookLeg(pending.result, accountContext, { ...booking, captured_minor: 0n, final: false }, context, [
    equal("accepts", "all"),
    { attribute: "available_minor", is: "at_least", value: amount },
  ]);
}

/** Whether a transfer is made in one commit: both accounts are kept here and belong to one client. */
export function isAtOnce({ from, to }: Pick<TransferSides, "from" | "to">): boolean {
  const own = from.account.client_id === to.account.client_id;
  return own && !isCommanded(from.account) && !isCommanded(to.account);
}

/** Decides the credit of a transfer: the account takes it unless it is disabled or closed by then. */
export function transferIn(
  accountContext: AccountContext,
  transfer: Transfer,
  ids: readonly [out: string, into: string],
  other: Account,
  request: CreateTransfer,
  context: Context,
): Decision<Transaction> {
  const { credit_minor, income_minor } = transfer;
  const { external_id: _unique, ...shared } = request;
  const details = { account_id: other.id, transaction_id: ids[0], minor: transfer.amount_minor, other };
  const pending = draftLeg("transfer_in", accountContext, { transfer, id: ids[1], details }, shared, context);
  if (!pending.ok) return pending;
  const booking = transferCredit({ amount_minor: credit_minor, transfer_income_minor: income_minor });
  return bookLeg(pending.result, accountContext, { ...booking, final: false }, context, [notClosed]);
}

/** A leg, and its opposite. */
interface LegTerms {
  readonly transfer: Omit<Transfer, "income_minor">;
  readonly id: string;
  readonly details: {
    readonly account_id: string;
    readonly transaction_id: string | null;
    readonly minor: bigint;
    readonly other: Account;
  };
}

/** A leg of a transfer that is asked for, pending. */
export function draftLeg(
  kind: "transfer_out" | "transfer_in",
  accountContext: AccountContext,
  { transfer, id, details: { other, minor, ...opposite } }: LegTerms,
  request: Pick<CreateTransfer, "external_id" | "description" | "metadata">,
  context: Context,
): Decision<Transaction> {
  const { account } = accountContext;
  const { external_id, description, metadata } = request;
  const amount = kind === "transfer_out" ? transfer.amount_minor : transfer.credit_minor;
  const more = { external_id, description, metadata, method: "internal" } as const;
  const text = formatAmount(amount, account.currency);
  const draft = draftTransaction(kind, accountContext, { account_id: account.id, amount: text, ...more }, context);
  if (!draft.ok) return draft;
  const { id: transfer_id, conversion, mark_up_percent, quote_id } = transfer;
  const shown = { ...opposite, amount: formatAmount(minor, other.currency), currency: other.currency };
  return {
    ...draft,
    result: { ...draft.result, id, transfer: { transfer_id, ...shown, conversion, mark_up_percent, quote_id } },
  };
}

/** A leg that is created completed. */
export function bookLeg(
  pending: Transaction,
  { balance, margin, tenant }: AccountContext,
  booking: Booking,
  context: Context,
  require: readonly Requirement[],
): Decision<Transaction> {
  const moment = moved(pending, "completed", context, null);
  const posting = post(moment, balance, context, booking, { margin, require, credit_policy: creditPolicyOf(tenant) });
  if (!posting.ok) return posting;
  const { balance_before_minor, balance_after_minor, changes } = posting.result;
  const after: Transaction = { ...moment, balance_before_minor, balance_after_minor };
  const written: readonly Change[] = [
    { op: "create", entity: "transaction", item: after },
    ...changes,
    ...transactionMarkers(pending),
  ];
  const previous = { status: "pending" };
  const events: readonly DomainEvent[] = [
    transactionEvent("transaction.created", pending),
    transactionEvent("transaction.completed", after, previous),
    transactionEvent("transaction.updated", after, previous),
  ];
  return { ok: true, result: after, changes: written, events };
}
