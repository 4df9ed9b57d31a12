import { adjustBalance } from "../../accounts/balance.ts";
import { type Context, refuse } from "../../kernel/decision.ts";
import { adjustmentBooking, refuseAdjustment } from "../../money/adjustment-booking.ts";
import {
  book,
  bookReturn,
  end,
  giveBack,
  intoTransit,
  type ReturnRequest,
  refuseReturn,
  returnedMinor,
  settled,
} from "../../money/booking.ts";
import { bookCredit, isCredit, refuseCredit } from "../../money/credit-booking.ts";
import { subtracts, takesMoney } from "../../money/legs.ts";
import { type Booking, completion, type Late, refusePayment } from "../../money/posting.ts";
import {
  type AccountContext,
  changedTransaction,
  moved,
  returningFields,
  returningOf,
  withoutReturning,
} from "../../money/transaction.ts";
import { transferCredit } from "../../money/transfers/booking.ts";
import type { Account } from "../../records/account.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { PlatformCommand } from "../../records/command.ts";
import { isEnded } from "../../records/feed-source.ts";
import type { LegName } from "../../records/leg.ts";
import type { Returning, Transaction } from "../../records/transaction.ts";
import { operationMarker } from "../operation-marker.ts";
import { refuseEnded } from "../source.ts";
import { draftCommand } from "./command.ts";

/** Whether the platform of an account moves its money, by commands. */
export function isCommanded({ source_id }: Pick<Account, "source_id">): boolean {
  return source_id !== undefined && source_id !== null;
}

/** The transaction with a command about it, and the change that writes the command. */
export function issued(
  transaction: Transaction,
  { account }: Pick<AccountContext, "account">,
  { leg, minor }: { readonly leg: LegName; readonly minor: bigint },
  context: Context,
): { readonly transaction: Transaction; readonly changes: readonly Change[] } {
  const { source_id, platform_login } = account;
  const link = { source_id: source_id ?? "", platform_login: platform_login ?? "" };
  const type = isCredit(transaction) ? "credit_operation" : "balance_operation";
  const command = draftCommand({ type, transaction, leg, minor, ...link }, context);
  return {
    transaction: { ...transaction, command_id: command.id, outcome: null },
    changes: [{ op: "create", entity: "command", item: command }],
  };
}

/** The refusal of money of an account whose source has ended or is gone; undefined when it may move. */
export function refuseSource({ source }: Pick<AccountContext, "source">) {
  return source === undefined || isEnded(source) ? refuseEnded() : undefined;
}

/** Amount that the forward command of a transaction adds to its account: net of a deposit, gross of a withdrawal. */
export function forwardMinor(transaction: Transaction): bigint {
  const { amount_minor: amount, fee_minor: fee } = transaction;
  return subtracts(transaction) ? -amount : amount - fee;
}

/**
 * Asks the platform to move the money of a transaction: a withdrawal keeps its hold, and nothing is booked yet. That it
 * can be paid is asked now; what has happened on the platform later is booked whatever the account has by then.
 */
export function commandForward(
  before: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const { balance, margin } = accountContext;
  const refusal =
    refuseSource(accountContext) ??
    (takesMoney(before) ? refusePayment(balance, before.amount_minor, margin) : undefined) ??
    (before.kind === "adjustment" ? refuseAdjustment(before, accountContext) : undefined) ??
    (isCredit(before) ? refuseCredit(before, accountContext, context) : undefined);
  if (refusal !== undefined) return refusal;
  const next = inProcessing(before, context);
  const { transaction, changes } = issued(
    next,
    accountContext,
    { leg: "forward", minor: forwardMinor(before) },
    context,
  );
  return settled(before, transaction, changes, []);
}

/**
 * Asks the platform to bring the money of a payout that failed, or of a completed transaction, back. Until then the
 * return's debit is held, unless the caller forces it. No platform can be asked once the source has ended: a payout
 * that failed is then given back here alone, and a person must see to the platform.
 */
export function commandBack(
  before: Transaction,
  returning: Returning,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const refusal = refuseSource(accountContext);
  if (refusal !== undefined && returning.to === "failed") {
    const after = moved(withoutReturning(before), "failed", context, returning.reason);
    return giveBack(before, { ...after, outcome: "needs_attention" }, accountContext, context);
  }
  if (refusal !== undefined) return refusal;
  const next = changedTransaction(before, returningFields(returning), context);
  const { transaction, changes } = issued(next, accountContext, { leg: "reverse", minor: returning.minor }, context);
  if (returning.to === "failed") return settled(before, transaction, changes, []);
  const { balance } = accountContext;
  const held = returning.held_minor;
  const hold = adjustBalance(balance, context, {
    add: { pending: 1, ...(held === 0n ? {} : { held_minor: held, available_minor: -held }) },
    require: [
      { attribute: "pos_version", is: "equal", value: balance.pos_version },
      ...(held === 0n ? [] : [{ attribute: "available_minor", is: "at_least", value: held } as const]),
    ],
  });
  return settled(before, transaction, [hold, ...changes], []);
}

/** The amounts to bring back of a transaction, or why it cannot be brought back now. */
export function askedBack(
  before: Transaction,
  after: Transaction,
  accountContext: AccountContext,
  request: ReturnRequest,
  context: Context,
): Decision<Returning> {
  const reason = after.status_reason;
  const nothing = { held_minor: 0n, kept_fee_minor: 0n } as const;
  const found = (result: Returning) => ({ ok: true, result, changes: [], events: [] }) as const;
  if (before.status === "processing") return found({ minor: before.amount_minor, to: "failed", reason, ...nothing });
  const kept_fee_minor = request.keep_fee === true ? before.fee_minor : 0n;
  const minor = returnedMinor(before, kept_fee_minor);
  const refusal = refuseReturn(accountContext, -minor, request, context);
  if (refusal !== undefined) return refusal;
  const held_minor = minor < 0n && request.force !== true ? -minor : 0n;
  return found({ minor, to: "returned", reason, held_minor, kept_fee_minor });
}

/** Knowledge of an operation that has moved money on a platform. */
export interface Evidence {
  readonly source: { readonly id: string; readonly authoritative: "platform" | "service" };
  /** Absent where it is not known. */
  readonly operation_id: string | undefined;
  /** When it happened, RFC 3339. */
  readonly at: string;
  /** Whether the source has reported it as an item; otherwise it was acknowledged or entered by a person. */
  readonly confirmed: boolean;
  /** Number of the item that reported it; absent unless one did. */
  readonly feed_seq?: string;
  /** Its amount as the item has it; only where that has more digits than the currency. */
  readonly reported_amount?: string;
  /** Where it belongs in the ledger, where a loss was corrected since it happened. */
  readonly late?: Late | undefined;
}

/**
 * Books what a platform has done with one leg of a transaction, whatever the account may do here, since it has
 * happened: a deposit or the credit of a transfer is completed, what leaves is debited to what is in transit, and what
 * was to come back is back.
 */
export function platformMoved(
  before: Transaction,
  leg: LegName,
  accountContext: AccountContext,
  evidence: Evidence,
  context: Context,
): Decision<Transaction> {
  const { at } = evidence;
  const { how, noted } = happened(before, leg, evidence);
  const done_at = context.now < at ? context.now : at;
  if (leg === "reverse") return broughtBack(before, noted, accountContext, how, context);
  const fields = { ...noted, platform_done_at: done_at };
  if (!takesMoney(before)) {
    const after = { ...moved(before, "completed", context, null), ...fields };
    if (isCredit(before)) return bookCredit(before, after, accountContext, context);
    return book(before, after, accountContext, context, { ...arrival(before), ...how });
  }
  const next = inProcessing(before, context);
  return book(before, { ...next, ...fields }, accountContext, context, { ...intoTransit(before), ...how });
}

/** Booking of a transaction whose money a platform has credited or adjusted. */
function arrival(transaction: Transaction): Booking {
  if (transaction.kind === "adjustment") return adjustmentBooking(transaction);
  return transaction.kind === "transfer_in" ? transferCredit(transaction) : completion(transaction);
}

function inProcessing(before: Transaction, context: Context): Transaction {
  return before.status === "processing"
    ? changedTransaction(before, {}, context)
    : moved(before, "processing", context, null);
}

/** How an operation of a platform is booked, and what the transaction notes of it. */
export function happened(before: Transaction, leg: LegName, evidence: Evidence): Happened {
  const { source, operation_id, late } = evidence;
  const joined = operation_id === undefined ? [] : [{ ...joinedOperation(evidence, leg), operation_id }];
  return {
    how: { happened: true, owed: source.authoritative === "platform", ...(late !== undefined && { late }) },
    noted: { platform_operations: [...(before.platform_operations ?? []), ...joined], outcome: null },
  };
}

/** A transaction's note of the operation that moved a leg of it, without its identifier. */
export function joinedOperation(evidence: Evidence, leg: LegName) {
  const { source, at, confirmed, feed_seq, reported_amount } = evidence;
  return {
    ...{ source_id: source.id, leg, at, confirmed },
    ...(reported_amount !== undefined && { reported_amount }),
    ...(feed_seq !== undefined && { feed_seq }),
  };
}

interface Happened {
  readonly how: Pick<Booking, "happened" | "owed" | "late">;
  readonly noted: { readonly platform_operations: Transaction["platform_operations"]; readonly outcome: null };
}

function broughtBack(
  before: Transaction,
  noted: Happened["noted"],
  accountContext: AccountContext,
  how: Happened["how"],
  context: Context,
): Decision<Transaction> {
  const returning = returningOf(before);
  const rest = withoutReturning(before);
  if (returning === undefined) return refuse("illegal_transition", "Nothing of the transaction is to be brought back.");
  const after = { ...moved(rest, returning.to, context, returning.reason), ...noted };
  if (returning.to === "failed") return giveBack(before, after, accountContext, context, how);
  const captured = { captured_minor: returning.held_minor, final: true, ...how };
  const { kept_fee_minor: kept } = returning;
  return bookReturn(before, after, accountContext, context, { kept, require: [], how: captured });
}

/**
 * Decides what a command that did not move its money leaves: a transaction whose money did not move has failed, and one
 * whose money was to be brought back needs a person.
 */
export function platformRefused(
  before: Transaction,
  leg: LegName,
  accountContext: AccountContext,
  reason: NonNullable<Transaction["status_reason"]>,
  context: Context,
): Decision<Transaction> {
  if (leg === "forward") {
    const after = { ...moved(before, "failed", context, reason), outcome: null };
    return end(before, after, accountContext, context);
  }
  const returning = returningOf(before);
  const after = changedTransaction(withoutReturning(before), { outcome: "needs_attention" }, context);
  if (returning?.to !== "returned") return settled(before, after, [], []);
  const held = returning.held_minor;
  const released = adjustBalance(accountContext.balance, context, {
    add: { pending: -1, ...(held === 0n ? {} : { held_minor: -held, available_minor: held }) },
    require: [],
  });
  return settled(before, after, [released], []);
}

/** The claim of an operation for the transaction whose money it is: it is one of a kind for good, whatever expires. */
function claimOperation({ source, operation_id }: Evidence, owner: Transaction): Change[] {
  if (operation_id === undefined) return [];
  return [
    {
      op: "claim",
      kind: "source_operation",
      value: operationMarker(source, operation_id),
      owner: owner.id,
      refusal: { code: "operation_known", detail: "The operation belongs to another transaction." },
    },
  ];
}

/** A decision that books an operation, with its claim. */
export function withClaim(
  decision: Decision<Transaction>,
  evidence: Evidence,
  owner: Transaction,
): Decision<Transaction> {
  if (!decision.ok) return decision;
  return { ...decision, changes: [...decision.changes, ...claimOperation(evidence, owner)] };
}

/** The newest command about a transaction, where it moves this leg of it. */
export function commandOf(
  transaction: Transaction,
  command: PlatformCommand | undefined,
  leg: LegName,
): PlatformCommand | undefined {
  return command !== undefined && command.id === transaction.command_id && command.leg === leg ? command : undefined;
}
