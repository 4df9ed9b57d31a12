import type { TransactionState, UpdateTransaction } from "../schema/transaction.ts";
import { type Account, accountUpdated, type Balance } from "./account.ts";
import {
  type Change,
  type Context,
  type Decision,
  later,
  type Requirement,
  refuse,
  refuseField,
  refuseScope,
  unchanged,
} from "./decision.ts";
import { least } from "./money.ts";
import {
  adjustBalance,
  adjustMore,
  type Booking,
  completion,
  contraEntries,
  equal,
  isAdjustment,
  type Leg,
  post,
  refuseUnsettled,
} from "./posting.ts";
import { type AccountContext, moved, refuseFunds, type Transaction, transactionEvent } from "./transaction.ts";
import { legChanges } from "./transaction-legs.ts";

type Scope = Context["scopes"][number];

/** The moves that a caller can ask for, and the scope that each needs. The system alone lets one expire. */
const moves: Readonly<Record<TransactionState, Partial<Record<TransactionState, Scope>>>> = {
  pending: {
    approved: "transactions:approve",
    processing: "transactions:settle",
    completed: "transactions:settle",
    rejected: "transactions:approve",
    cancelled: "transactions:write",
  },
  approved: {
    processing: "transactions:settle",
    completed: "transactions:settle",
    cancelled: "transactions:write",
    failed: "transactions:settle",
  },
  processing: { completed: "transactions:settle", failed: "transactions:settle" },
  completed: { returned: "transactions:settle" },
  rejected: {},
  cancelled: {},
  failed: {},
  returned: {},
};

const needsReason: ReadonlySet<TransactionState> = new Set(["rejected", "failed", "returned"]);

/** The moves of a state under the tenant's policies: with four eyes nothing is paid without an approval. */
function movesOf(from: TransactionState, fourEyes: boolean): Partial<Record<TransactionState, Scope>> {
  if (from !== "pending" || !fourEyes) return moves[from];
  const { processing: _processing, completed: _completed, ...rest } = moves.pending;
  return rest;
}

/** Decides `PATCH /transactions/{id}`. Asking for the state it has changes nothing. */
export function moveTransaction(
  transaction: Transaction,
  accountContext: AccountContext,
  request: UpdateTransaction,
  context: Context,
): Decision<Transaction> {
  return withLegs(transaction, accountContext, decideMove(transaction, accountContext, request, context));
}

/** A move with what it changes in the markers of the transaction's unjoined legs. */
function withLegs(before: Transaction, { account }: AccountContext, decision: Decision<Transaction>) {
  if (!decision.ok) return decision;
  return { ...decision, changes: [...decision.changes, ...legChanges(account, before, decision.result)] };
}

function decideMove(
  transaction: Transaction,
  accountContext: AccountContext,
  request: UpdateTransaction,
  context: Context,
): Decision<Transaction> {
  const from = transaction.status;
  const to = request.status ?? from;
  if (to === from) return unchanged(transaction);
  // A correction follows from a loss; there is no payer whose money could be returned.
  const booked = transaction.kind !== "deposit" && transaction.kind !== "withdrawal";
  const allowed = booked ? {} : movesOf(from, accountContext.tenant.four_eyes);
  const scope = allowed[to];
  if (scope === undefined) return refuseMove(from, to, allowed);
  if (!context.scopes.includes(scope)) return refuseScope(scope);
  const reason = request.reason ? { code: request.reason.code, message: request.reason.message ?? null } : null;
  if (needsReason.has(to) && reason === null) {
    return refuseField("validation_failed", "reason", `is required for the status ${to}`, "required");
  }
  const after = moved(transaction, to, context, reason);
  switch (to) {
    case "approved":
      return approve(transaction, after, accountContext, context);
    case "processing":
      return transaction.kind === "deposit"
        ? settled(transaction, after, [], [])
        : book(transaction, after, accountContext, context, withdrawalIntoTransit(transaction));
    case "completed":
      return complete(transaction, after, accountContext, context);
    case "returned":
      return reverseTransaction(transaction, after, accountContext, context, request);
    default:
      return end(transaction, after, accountContext, context);
  }
}

function refuseMove(from: TransactionState, to: TransactionState, allowed: object) {
  return refuse("illegal_transition", `A ${from} transaction cannot become ${to}.`, {
    extra: { from, to, allowed: Object.keys(allowed) },
  });
}

/** Decides what happens to a transaction that was not decided in time; undefined when its time has not come. */
export function expireTransaction(
  transaction: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> | undefined {
  const { status, expires_at } = transaction;
  if ((status !== "pending" && status !== "approved") || expires_at === null || expires_at > context.now)
    return undefined;
  const after = moved(transaction, "failed", context, { code: "expired", message: null });
  return withLegs(transaction, accountContext, end(transaction, after, accountContext, context));
}

/**
 * Decides what a provider's refusal makes of a transaction: like its expiry it needs no approval, so what is pending
 * fails as well, though no caller could move it there.
 */
export function declineTransaction(
  transaction: Transaction,
  accountContext: AccountContext,
  reason: NonNullable<Transaction["status_reason"]>,
  context: Context,
): Decision<Transaction> {
  const from = transaction.status;
  if (from === "failed") return unchanged(transaction);
  if (from === "pending" || moves[from].failed !== undefined) {
    const after = moved(transaction, "failed", context, reason);
    return withLegs(transaction, accountContext, end(transaction, after, accountContext, context));
  }
  return refuseMove(from, "failed", moves[from]);
}

function approve(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  if (accountContext.tenant.four_eyes && before.created_by.id === context.actor.id) {
    return refuse("four_eyes_required", "Another application than the creator must approve this transaction.");
  }
  return settled(before, { ...after, approved_by: context.actor, approved_at: after.updated_at }, [], []);
}

function complete(
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
function end(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  if (before.kind === "withdrawal" && before.status === "processing") {
    const given = { ...after, reverse_minor: before.amount_minor };
    return book(before, given, accountContext, context, {
      kind: "withdrawal",
      customer_minor: before.amount_minor,
      legs: [["payouts_in_transit", -before.amount_minor]],
      captured_minor: 0n,
      final: true,
      ...reversing(before, accountContext),
    });
  }
  const release = before.kind === "withdrawal" ? before.amount_minor : 0n;
  const change = adjustBalance(accountContext.balance, context, {
    add: { pending: -1, ...(release === 0n ? {} : { held_minor: -release, available_minor: release }) },
    require: [],
  });
  return settled(before, after, [change], []);
}

/** The debit that a booking takes back, where the transaction has one, with the ledger since then where it matters. */
function reversing({ debited_seq: seq }: Transaction, { since_debit: entries }: AccountContext) {
  if (seq === undefined) return {};
  return { reverses: { seq, ...(entries === undefined ? {} : { entries }) } };
}

/** What a withdrawal books when its money leaves for the bank. */
export function withdrawalIntoTransit({ amount_minor: amount }: Transaction): Booking {
  return {
    kind: "withdrawal",
    customer_minor: -amount,
    legs: [["payouts_in_transit", amount]],
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
): Decision<Transaction> {
  const posting = post(after, accountContext.balance, context, booking, { margin: accountContext.margin });
  if (!posting.ok) return posting;
  const { seq, balance_before_minor, balance_after_minor, changes } = posting.result;
  const debited = booking.customer_minor < 0n ? { debited_seq: seq } : {};
  const shown = booking.customer_minor < 0n || after.status === "completed";
  const booked = shown ? { ...after, ...debited, balance_before_minor, balance_after_minor } : after;
  return settled(before, booked, changes, after.status === "completed" ? ["transaction.completed"] : []);
}

/**
 * Reverses a completed transaction leg by leg; `keep_fee` leaves the fee where it is. What it takes from the customer
 * must be there, unless the caller forces it: then the account may go below zero and only allows closing. A closed
 * account that gets money back is disabled again, so that the money can be dealt with.
 */
function reverseTransaction(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  context: Context,
  request: UpdateTransaction,
): Decision<Transaction> {
  const { account, balance, margin } = accountContext;
  const forced = request.force === true;
  if (forced && !context.scopes.includes("admin")) return refuseScope("admin");
  const { amount_minor: amount, fee_minor: fee, kind } = before;
  const kept = request.keep_fee === true ? fee : 0n;
  const income: Leg = ["fee_income", kept - fee];
  const customer = kind === "deposit" ? -(amount - fee) - kept : amount - kept;
  const returned: Transaction = { ...after, reverse_minor: customer };
  const other: Leg = kind === "deposit" ? ["clearing", amount] : ["payouts", -(amount - fee)];
  if (customer < 0n && !forced) {
    const unsettled = refuseUnsettled(margin);
    if (unsettled !== undefined) return unsettled;
    const free = least(balance.available_minor, (margin?.payable_minor ?? balance.balance_minor) - balance.held_minor);
    if (free < -customer) return refuseFunds({ ...balance, available_minor: free }, 409);
  }
  const booking: Booking = {
    kind: "return",
    customer_minor: customer,
    legs: [other, income],
    captured_minor: 0n,
    final: false,
    ...reversing(before, accountContext),
  };
  // A hold does not number itself, and a gate moves by itself: both are met at the commit again.
  const covered: Requirement = { attribute: "available_minor", is: "at_least", value: -customer };
  const require = customer < 0n ? [forced ? equal("accepts", balance.accepts) : covered] : [];
  const posting = post(returned, balance, context, booking, { require, margin });
  if (!posting.ok) return posting;
  const { balance: posted } = posting.result;
  const below = posted.balance_minor < 0n && balance.accepts === "all";
  const reopened = account.status === "closed";
  const changes = posting.result.changes;
  if (!below && !reopened) return settled(before, returned, changes, []);
  const next: Account = {
    ...account,
    ...(reopened ? { status: "disabled", closed_at: null } : { trading_mode: "close_only" }),
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

/** A move with what it changes: always announced to those who ask for `transaction.updated` by name. */
function settled(
  before: Transaction,
  after: Transaction,
  changes: readonly Change[],
  announced: readonly "transaction.completed"[],
): Decision<Transaction> {
  const previous = { status: before.status };
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "transaction", before, after }, ...changes],
    events: [...announced, "transaction.updated" as const].map((type) => transactionEvent(type, after, previous)),
  };
}
