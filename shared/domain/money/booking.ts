import { creditPolicyOf } from "../access/tenant.ts";
import { accountUpdated } from "../accounts/account.ts";
import { adjustBalance, adjustMore, equal, isAdjustment } from "../accounts/balance.ts";
import { type Context, later, type Requirement, refuseScope } from "../kernel/decision.ts";
import { least } from "../kernel/money.ts";
import type { Account } from "../records/account.ts";
import type { Balance } from "../records/balance.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { contraEntries, type Leg } from "./entries.ts";
import { takesMoney } from "./legs.ts";
import { type Booking, completion, post, refuseMargin, refuseUnsettled } from "./posting.ts";
import { type AccountContext, awaitsPlatform, refuseFunds, transactionEvent } from "./transaction.ts";
import { freedNames } from "./transaction-names.ts";

/** Completes: what has arrived is credited, what is paid out leaves the account or the money in transit. */
export function complete(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  if (before.status === "processing" && before.kind === "withdrawal") {
    // The money left the customer's account when the withdrawal went into processing: this cannot be refused.
    const paid: readonly Leg[] = [
      ["payouts_in_transit", -before.amount_minor],
      ["fee_income", before.fee_minor],
      ["payouts", before.amount_minor - before.fee_minor],
    ];
    const changes = [
      adjustBalance(accountContext.balance, context, { add: { pending: -1 }, require: [] }),
      ...contraEntries(after, paid, context, null),
    ];
    return settled(before, after, changes, ["transaction.completed"]);
  }
  return book(before, after, accountContext, context, completion(before));
}

/** Rejects, cancels or fails: what is held is released; what was in transit is credited back. */
export function end(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  if (takesMoney(before) && before.status === "processing" && !awaitsPlatform(before)) {
    return giveBack(before, after, accountContext, context);
  }
  const release = takesMoney(before) ? before.amount_minor : 0n;
  const change = adjustBalance(accountContext.balance, context, {
    add: { pending: -1, ...(release === 0n ? {} : { held_minor: -release, available_minor: release }) },
    require: [],
  });
  return settled(before, after, [change], []);
}

/** Credits a payout or the debit of a transfer that failed: its money was in transit. */
export function giveBack(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
  how: Partial<Booking> = {},
): Decision<Transaction> {
  return book(before, { ...after, reverse_minor: before.amount_minor }, accountContext, context, {
    kind: bookedKind(before),
    customer_minor: before.amount_minor,
    legs: [[transitOf(before), -before.amount_minor]],
    captured_minor: 0n,
    final: true,
    ...reversing(before, accountContext),
    ...how,
  });
}

/** The debit that a booking takes back, where the transaction has one, with the ledger since then where it matters. */
function reversing({ debited_seq: seq }: Transaction, { since_debit: entries }: AccountContext) {
  if (seq === undefined) return {};
  return { reverses: { seq, ...(entries === undefined ? {} : { entries }) } };
}

/** Where the money of a transaction is between its debit and its end. */
function transitOf({ kind }: Transaction): "in_transit" | "payouts_in_transit" {
  return kind === "transfer_out" ? "in_transit" : "payouts_in_transit";
}

function bookedKind({ kind }: Transaction): "transfer_out" | "withdrawal" {
  return kind === "transfer_out" ? kind : "withdrawal";
}

/** Booking when the money of a withdrawal leaves for the bank, or of a transfer for the other account. */
export function intoTransit(transaction: Transaction): Booking {
  const { amount_minor: amount } = transaction;
  return {
    kind: bookedKind(transaction),
    customer_minor: -amount,
    legs: [[transitOf(transaction), amount]],
    captured_minor: amount,
    final: false,
  };
}

/** Books, and moves the transaction with it: one ledger entry, its legs, and the balance without another posting. */
export function book(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
  booking: Booking,
  require: readonly Requirement[] = [],
): Decision<Transaction> {
  const { balance, margin, tenant } = accountContext;
  const credit_policy = creditPolicyOf(tenant);
  const posting = post(after, balance, context, booking, { margin, require, credit_policy });
  if (!posting.ok) return posting;
  const { seq, balance_before_minor, balance_after_minor, changes } = posting.result;
  const payout = takesMoney(before) && booking.customer_minor < 0n;
  const debited = payout ? { debited_seq: seq } : {};
  const shown = booking.customer_minor < 0n || after.status === "completed";
  const booked = shown ? { ...after, ...debited, balance_before_minor, balance_after_minor } : after;
  return settled(before, booked, changes, after.status === "completed" ? ["transaction.completed"] : []);
}

/** How a completed transaction is returned. */
export interface ReturnRequest {
  /** The account may go below zero; needs the scope `transactions:approve`. */
  readonly force?: boolean | undefined;
  readonly keep_fee?: boolean | undefined;
}

/** Why the client cannot take an amount from an account now, beyond what is held already; undefined when they can. */
export function refuseTaking({ balance, margin }: Pick<AccountContext, "balance" | "margin">, amount: bigint) {
  if (balance.available_minor < amount) return refuseFunds(balance);
  const unsettled = refuseUnsettled(margin);
  if (unsettled !== undefined) return unsettled;
  const payable = (margin?.payable_minor ?? balance.balance_minor) - balance.held_minor;
  return payable < amount ? refuseMargin(payable, balance) : undefined;
}

/** Holds an amount for an undecided transaction, where it is still covered and nothing of the account has changed. */
export function holdAmount({ balance }: Pick<AccountContext, "balance">, amount: bigint, context: Context): Change {
  return adjustBalance(balance, context, {
    add: { held_minor: amount, available_minor: -amount, pending: 1 },
    require: [
      equal("accepts", "all"),
      equal("pos_version", balance.pos_version),
      { attribute: "available_minor", is: "at_least", value: amount },
    ],
  });
}

/** Amount that a return adds to the account, with its sign; a fee that is kept is not given back. */
export function returnedMinor({ kind, amount_minor: amount, fee_minor: fee }: Transaction, kept: bigint): bigint {
  return kind === "deposit" ? -(amount - fee) - kept : amount - kept;
}

/** Why a return cannot take an amount from the account now; undefined when it can, or when the caller forces it. */
export function refuseReturn(
  { balance, margin }: AccountContext,
  amount: bigint,
  { force }: ReturnRequest,
  { scopes }: Context,
) {
  if (force === true && !scopes.includes("transactions:approve")) return refuseScope("transactions:approve");
  if (amount <= 0n || force === true) return undefined;
  const unsettled = refuseUnsettled(margin);
  if (unsettled !== undefined) return unsettled;
  const free = least(balance.available_minor, (margin?.payable_minor ?? balance.balance_minor) - balance.held_minor);
  return free < amount ? refuseFunds({ ...balance, available_minor: free }, 409) : undefined;
}

/**
 * Reverses a completed transaction leg by leg; `keep_fee` leaves the fee where it is. The customer must have the amount
 * that it takes, unless the caller forces it: then the account may go below zero and only allows closing.
 */
export function reverseTransaction(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
  request: ReturnRequest,
): Decision<Transaction> {
  const { balance } = accountContext;
  const kept = request.keep_fee === true ? before.fee_minor : 0n;
  const customer = returnedMinor(before, kept);
  const refusal = refuseReturn(accountContext, -customer, request, context);
  if (refusal !== undefined) return refusal;
  // A hold does not number itself, and a gate moves by itself: both are met at the commit again.
  const covered: Requirement = { attribute: "available_minor", is: "at_least", value: -customer };
  const require = customer < 0n ? [request.force === true ? equal("accepts", balance.accepts) : covered] : [];
  return bookReturn(before, after, accountContext, context, { kept, require });
}

/** How a return is booked: the fee that is kept, and what the booking has in addition. */
interface Return {
  readonly kept: bigint;
  readonly require: readonly Requirement[];
  readonly how?: Partial<Booking>;
}

/** Books a return. A closed account that gets money back is disabled again, so that the money can be dealt with. */
export function bookReturn(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
  { kept, require, how = {} }: Return,
): Decision<Transaction> {
  const { account, balance, margin } = accountContext;
  const { amount_minor: amount, fee_minor: fee, kind } = before;
  const customer = returnedMinor(before, kept);
  const returned: Transaction = { ...after, reverse_minor: customer };
  const other: Leg = kind === "deposit" ? ["clearing", amount] : ["payouts", -(amount - fee)];
  const booking: Booking = {
    kind: "return",
    customer_minor: customer,
    legs: [other, ["fee_income", kept - fee]],
    captured_minor: 0n,
    final: false,
    ...reversing(before, accountContext),
    ...how,
  };
  const posting = post(returned, balance, context, booking, { require, margin });
  if (!posting.ok) return posting;
  const { balance: posted, changes } = posting.result;
  const below = posted.balance_minor < 0n && balance.accepts === "all";
  const reopened = account.status === "closed";
  if (!below && !reopened) return settled(before, returned, changes, []);
  const next: Account = {
    ...account,
    ...(reopened ? { status: "disabled", closed_at: null, reopened: true } : { trading_mode: "close_only" }),
    updated_at: later(account.updated_at, context.now),
    version: account.version + 1,
  };
  const decision = settled(before, returned, below ? changes.map(closeOnly) : changes, []);
  if (!decision.ok) return decision;
  const reopening: Change = {
    op: "adjust",
    entity: "client",
    id: account.client_id,
    add: { open_accounts: 1 },
    require: [],
  };
  const money: Balance = { ...posted, accepts: below ? "close_only" : balance.accepts };
  return {
    ...decision,
    changes: [
      ...decision.changes,
      { op: "update", entity: "account", before: account, after: next },
      ...(reopened ? [reopening] : []),
    ],
    events: [...decision.events, accountUpdated(account, next, money)],
  };
}

/** The balance change of a posting that leaves a debt also lets the account close positions only. */
function closeOnly(change: Change): Change {
  return isAdjustment(change) ? adjustMore(change, { accepts: "close_only" }) : change;
}

/**
 * A move with what it changes, and the names that it frees: always announced to those who ask for
 * `transaction.updated` by name.
 */
export function settled(
  before: Transaction,
  after: Transaction,
  changes: readonly Change[],
  announced: readonly "transaction.completed"[],
): Decision<Transaction> {
  const previous = { status: before.status };
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "transaction", before, after }, ...changes, ...freedNames(before, after)],
    events: [...announced, "transaction.updated" as const].map((type) => transactionEvent(type, after, previous)),
  };
}
