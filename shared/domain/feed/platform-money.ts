import { limits } from "../../limits.ts";
import type { FeedData } from "../../schema/feed.ts";
import { adjustBalance, equal } from "../accounts/balance.ts";
import { consumed, lotsOf } from "../accounts/credit-lots.ts";
import { type Context, numberOf, refuse, refuseField, unchanged } from "../kernel/decision.ts";
import { formatAmount, reportedFigure, roundReported } from "../kernel/money.ts";
import { book } from "../money/booking.ts";
import { isCredit, moveCredit, bookCredit as settleCredit } from "../money/credit-booking.ts";
import { takesMoney } from "../money/legs.ts";
import { type Booking, completion, type Late, post } from "../money/posting.ts";
import { type AccountContext, draftTransaction, moved, refuseAmount, transactionEvent } from "../money/transaction.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Decision } from "../records/change.ts";
import type { Contra } from "../records/ledger.ts";
import type { Tenant } from "../records/tenant.ts";
import type { Transaction } from "../records/transaction.ts";
import { type Evidence, joinedOperation } from "./command/money.ts";
import type { Origin } from "./mirror-order.ts";

/** Money that a platform moved, as its bridge reports it. */
export type Operation = FeedData["balance_operation"];

/** The account that an operation is about, with what booking it needs. */
export interface OperationState {
  readonly account: Account;
  readonly balance: Balance;
  /** Profit and loss of its open positions, in minor units. */
  readonly floating_minor: bigint;
}

/** How an operation is booked: as it happened, whatever the account has here. */
export function asHappened({ floating_minor }: OperationState, { source }: Pick<Origin, "source">) {
  const margin = { payable_minor: 0n, floating_minor, stale: false, liquidating: false };
  return { booking: { happened: true, owed: source.authoritative === "platform" }, margin } as const;
}

/** Kinds that give the sign of their amount. */
type SignedKind = "deposit" | "withdrawal" | "credit_in" | "credit_out";

const signedKinds: ReadonlySet<Operation["kind"]> = new Set<SignedKind>([
  "deposit",
  "withdrawal",
  "credit_in",
  "credit_out",
]);

/** Where the counter entry of each kind is that only platforms book. */
const controls: Readonly<Record<Exclude<Operation["kind"], SignedKind>, Contra["control_account"]>> = {
  adjustment: "adjustment",
  correction: "adjustment",
  fee: "fee_income",
  commission: "commission",
  dividend: "dividend",
  swap: "swap",
};

/** Kinds of an operation that move the balance. */
type MoneyKind = Exclude<Operation["kind"], "credit_in" | "credit_out">;

function isMoney(kind: string): kind is MoneyKind {
  return kind === "deposit" || kind === "withdrawal" || kind in controls;
}

/**
 * Amount that an operation adds to its account, in minor units. The kind gives the sign of a deposit, of a withdrawal
 * and of credit, so that `withdrawal 100.00` takes 100.00; a deposit or granted credit below zero contradicts itself.
 * More digits than the currency has are rounded half away from zero; an amount of nothing then moves no money.
 */
export function operationMinor({ kind, amount }: Operation, { currency }: Pick<Account, "currency">): Decision<bigint> {
  const negative = amount.startsWith("-");
  const size = roundReported(negative ? amount.slice(1) : amount, currency);
  if (typeof size === "string") return refuseAmount(size, "amount", { currency });
  if (size === 0n) {
    const detail = /[1-9]/.test(amount) ? `is less than half the smallest amount of ${currency}` : "must not be 0";
    return refuseField("validation_failed", "amount", detail, "out_of_range");
  }
  if ((kind === "deposit" || kind === "credit_in") && negative) {
    return refuseField("sign_mismatch", "amount", `An amount of the kind ${kind} is not below 0.`);
  }
  const takes = kind === "withdrawal" || kind === "credit_out" || negative;
  return { ok: true, result: takes ? -size : size, changes: [], events: [] };
}

/** State for an operation that no transaction asked for. */
export interface Unasked {
  readonly tenant: Tenant;
  /** The transaction that it names and is not the money of. */
  readonly related: string | null;
  readonly late?: Late | undefined;
}

/** The transaction that an operation makes here, pending. */
function draftReported(
  { account }: Pick<OperationState, "account">,
  operation: Operation,
  minor: bigint,
  { tenant, related }: Unasked,
  source: Origin["source"],
  context: Context,
): Decision<Transaction> {
  if (account.status === "closed") return refuse("account_closed", "The account is closed.");
  const { kind, operation_id } = operation;
  const request = {
    account_id: account.id,
    amount: formatAmount(minor < 0n ? -minor : minor, account.currency),
    method: "internal",
    provider: source.name,
    provider_reference: operation_id,
  } as const;
  const draft = draftTransaction(kind, { account, tenant }, request, context);
  if (!draft.ok) return draft;
  const signed = signedKinds.has(kind) ? draft.result.amount_minor : minor;
  return unchanged({ ...draft.result, amount_minor: signed, related_to: related });
}

/**
 * Books an operation as it happened: a transaction that is completed at once, with the platform as its provider. The
 * checks of new requests do not apply: neither gates, verification nor available money, so the balance may fall below
 * zero while holds stay. Only a closed account, and what cannot be stored, refuse it.
 * @param minor what it adds to the account
 */
export function bookOperation(
  state: OperationState,
  operation: Operation,
  minor: bigint,
  unasked: Unasked,
  { source, at }: Origin,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = state;
  const draft = draftReported(state, operation, minor, unasked, source, context);
  if (!draft.ok) return draft;
  if (balance.balance_minor + minor < -limits.money.max_minor) {
    return refuse("amount_too_large", "The balance would be lower than the service can hold.");
  }
  const { kind, operation_id } = operation;
  const { late } = unasked;
  const deal = operation.deal_id === null || operation.deal_id === undefined ? {} : { deal_id: operation.deal_id };
  const figure = reportedFigure(operation.amount, account.currency);
  const joined = {
    source_id: source.id,
    operation_id,
    leg: "forward",
    at,
    ...figure,
    ...deal,
    ...numberOf(context),
  } as const;
  const pending = { ...draft.result, platform_operations: [joined] };
  const moment = moved(pending, "completed", context, null);
  const booked =
    kind === "credit_in" || kind === "credit_out"
      ? bookCredit(moment, balance, minor, context)
      : bookMoney(state, kind, { pending, moment, minor, late }, source, context);
  if (!booked.ok) return booked;
  const { result: after, changes } = booked;
  const previous = { status: "pending" };
  return {
    ok: true,
    result: after,
    changes: [{ op: "create", entity: "transaction", item: after }, ...changes],
    events: [
      transactionEvent("transaction.created", pending),
      transactionEvent("transaction.completed", after, previous),
      transactionEvent("transaction.updated", after, previous),
    ],
  };
}

/**
 * Decides a pending transaction for an operation that needs approvals first, with its leg claimed for it: no command is
 * issued, and lack of funds does not refuse it. A withdrawal holds what it takes. It does not expire, since the money
 * has moved.
 */
export function awaitApproval(
  state: Pick<OperationState, "account" | "balance">,
  operation: Operation,
  minor: bigint,
  unasked: Unasked,
  { source, at }: Origin,
  context: Context,
): Decision<Transaction> {
  const draft = draftReported(state, operation, minor, unasked, source, context);
  if (!draft.ok) return draft;
  const { operation_id } = operation;
  const { feed_seq: seq = "" } = context.cause ?? {};
  const figure = reportedFigure(operation.amount, state.account.currency);
  const set_aside = { source_id: source.id, operation_id, seq, at, ...figure, created_for_item: true };
  const pending: Transaction = { ...draft.result, set_aside, expires_at: null };
  const held = takesMoney(pending) ? pending.amount_minor : 0n;
  const { balance } = state;
  const counted = adjustBalance(balance, context, {
    add: { pending: 1, ...(held === 0n ? {} : { held_minor: held, available_minor: -held }) },
    // Linking the account to another login moves this number.
    require: [equal("pos_version", balance.pos_version)],
  });
  return {
    ok: true,
    result: pending,
    changes: [{ op: "create", entity: "transaction", item: pending }, counted],
    events: [transactionEvent("transaction.created", pending)],
  };
}

/** Books the operation of a transaction that was made for it, once that is approved: it completes the transaction. */
export function bookReported(
  before: Transaction,
  accountContext: AccountContext,
  evidence: Evidence,
  context: Context,
): Decision<Transaction> {
  const { source, operation_id = "", late } = evidence;
  const joined = { ...joinedOperation(evidence, "forward"), operation_id };
  const after = { ...moved(before, "completed", context, null), platform_operations: [joined] };
  const { kind, amount_minor: amount } = before;
  if (isCredit(before)) return settleCredit(before, after, accountContext, context);
  if (!isMoney(kind)) throw new Error(`No operation makes a transaction of the kind ${kind}.`);
  const minor = takesMoney(before) ? -amount : amount;
  const captured = { captured_minor: takesMoney(before) ? amount : 0n, final: true } as const;
  const placed = {
    happened: true,
    owed: source.authoritative === "platform",
    ...(late !== undefined && { late }),
  } as const;
  return book(before, after, accountContext, context, { ...bookingOf(kind, before, minor), ...captured, ...placed });
}

/** A transaction before and after it is completed, with what it adds to the account. */
interface Moved {
  readonly pending: Transaction;
  readonly moment: Transaction;
  readonly minor: bigint;
  readonly late: Late | undefined;
}

/** Books an operation that moves the balance. */
function bookMoney(
  state: OperationState,
  kind: MoneyKind,
  { pending, moment, minor, late }: Moved,
  source: Origin["source"],
  context: Context,
): Decision<Transaction> {
  const { booking, margin } = asHappened(state, { source });
  const placed = late === undefined ? booking : { ...booking, late };
  const posting = post(moment, state.balance, context, { ...bookingOf(kind, pending, minor), ...placed }, { margin });
  if (!posting.ok) return posting;
  const { seq, balance_before_minor, balance_after_minor, changes } = posting.result;
  const debited = kind === "withdrawal" ? { debited_seq: seq } : {};
  const after = { ...moment, balance_before_minor, balance_after_minor, ...debited };
  return { ok: true, result: after, changes, events: [] };
}

/**
 * Books credit that a platform granted or took. It is in no lot of this service, since the platform decides when it
 * ends. An account has no credit below zero: what takes more than there is is put aside.
 */
export function bookCredit(
  moment: Transaction,
  balance: Balance,
  minor: bigint,
  context: Context,
): Decision<Transaction> {
  const { balance_minor, credit_minor } = balance;
  if (credit_minor + minor < 0n) return refuse("insufficient_credit", "The credit of the account is less than that.");
  if (credit_minor + minor > limits.money.max_minor) {
    return refuse("amount_too_large", "The credit would be larger than the service can hold.");
  }
  const lots = lotsOf(balance);
  const granted = { ...balance, credit_minor: credit_minor + minor };
  const left = minor < 0n ? consumed(lots, -minor, context.now) : lotsOf(granted);
  const done = { ...moment, balance_before_minor: balance_minor, balance_after_minor: balance_minor };
  return { ok: true, result: done, changes: moveCredit(done, balance, left, {}, context), events: [] };
}

/** Booking of an operation. It was never pending, and uses up no hold. */
function bookingOf(kind: MoneyKind, transaction: Transaction, minor: bigint): Booking {
  const rest = { captured_minor: 0n, final: false } as const;
  if (kind === "deposit" || kind === "withdrawal") return { ...completion(transaction), ...rest };
  return { kind, customer_minor: minor, legs: [[controls[kind], -minor]], ...rest };
}
