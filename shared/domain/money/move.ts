import type { TransactionState, UpdateTransaction } from "../../schema/transaction.ts";
import { announcing } from "../feed/command/announce.ts";
import { isOpen, refuseOutstanding } from "../feed/command/command.ts";
import { isCommanded } from "../feed/command/money.ts";
import { moveByCommand, settleInPlace } from "../feed/command/move.ts";
import { followedByPlatform } from "../feed/command/settlement.ts";
import { joinSetAside } from "../feed/set-aside.ts";
import { type Context, type DomainEvent, refuse, refuseField, refuseScope, unchanged } from "../kernel/decision.ts";
import { formatAmount } from "../kernel/money.ts";
import type { Change, Decision } from "../records/change.ts";
import type { Transaction } from "../records/transaction.ts";
import { adjustmentMoves, completeAdjustment } from "./adjustment.ts";
import { isUnapproved, underRules } from "./approval.ts";
import { book, complete, end, intoTransit, reverseTransaction, settled } from "./booking.ts";
import { completeCredit, creditMoves, expireCredit } from "./credit.ts";
import { isCredit } from "./credit-booking.ts";
import { isUndecided, legChanges } from "./legs.ts";
import { receivedDeposit } from "./received-deposit.ts";
import { type AccountContext, moved, refuseReceipt } from "./transaction.ts";
import { isTransfer } from "./transfers/state.ts";

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

/**
 * The moves of a transfer, which goes on by itself once it may. The debit is what a person decides about; of a leg that
 * a platform moves they settle what the platform has done.
 */
const transferMoves: Readonly<Record<"transfer_out" | "transfer_in", Partial<typeof moves>>> = {
  transfer_out: {
    pending: {
      approved: "transactions:approve",
      rejected: "transactions:approve",
      cancelled: "transactions:write",
    },
    approved: { cancelled: "transactions:write" },
    processing: { completed: "transactions:settle", failed: "transactions:settle" },
  },
  transfer_in: { processing: { completed: "transactions:settle", failed: "transactions:settle" } },
};

const needsReason: ReadonlySet<TransactionState> = new Set(["rejected", "failed", "returned"]);

/** The moves of a state under the tenant's policies: with four eyes nothing is paid without an approval. */
function movesOf(from: TransactionState, fourEyes: boolean): Partial<Record<TransactionState, Scope>> {
  if (from !== "pending" || !fourEyes) return moves[from];
  const { processing: _processing, completed: _completed, ...rest } = moves.pending;
  return rest;
}

/** The moves of a transaction that was made for an item of a platform: its money has moved there already. */
const reportedMoves: Partial<typeof moves> = {
  pending: {
    approved: "transactions:approve",
    completed: "transactions:settle",
    rejected: "transactions:approve",
    cancelled: "transactions:write",
  },
  approved: { completed: "transactions:settle", cancelled: "transactions:write", failed: "transactions:settle" },
};

/** The moves of a transaction by its kind. One that follows from a loss, or that a platform booked, has none. */
function movesOfKind(
  { kind, status, set_aside }: Transaction,
  fourEyes: boolean,
): Partial<Record<TransactionState, Scope>> {
  if (set_aside?.created_for_item === true) return reportedMoves[status] ?? {};
  if (kind === "deposit" || kind === "withdrawal") return movesOf(status, fourEyes);
  if (isCredit({ kind })) return creditMoves(status, fourEyes);
  if (kind === "transfer_out" || kind === "transfer_in") return transferMoves[kind][status] ?? {};
  return kind === "adjustment" ? (adjustmentMoves[status] ?? {}) : {};
}

/**
 * Decides `PATCH /transactions/{id}`. Asking for the state it has changes nothing, unless the request says what the
 * platform has done.
 */
export function moveTransaction(
  transaction: Transaction,
  accountContext: AccountContext,
  request: UpdateTransaction,
  context: Context,
): Decision<Transaction> {
  const received = receivedDeposit(transaction, accountContext, request);
  if (!received.ok) return received;
  const decision = decideMove(received.result, accountContext, request, context);
  return withLegs(transaction, accountContext, sinceStored(transaction, decision), context);
}

/**
 * A move of a transaction that was decided about as it will be: what is written differs from what is stored, and so
 * does what its events say of before.
 */
function sinceStored(before: Transaction, decision: Decision<Transaction>): Decision<Transaction> {
  if (!decision.ok) return decision;
  const changes = decision.changes.map((change): Change => {
    return change.op === "update" && change.entity === "transaction" ? { ...change, before } : change;
  });
  const { amount_minor, fee_minor, currency } = before;
  const amounts = {
    ...(decision.result.amount_minor === amount_minor ? {} : { amount: formatAmount(amount_minor, currency) }),
    ...(decision.result.fee_minor === fee_minor ? {} : { fee: formatAmount(fee_minor, currency) }),
  };
  const events = decision.events.map((event): DomainEvent => {
    const moved = event.resource.id === before.id && event.previous !== undefined;
    return moved ? { ...event, previous: { ...event.previous, ...amounts } } : event;
  });
  return { ...decision, changes, events };
}

/** Decides the join of an item that is set aside for a transaction by itself; undefined where approvals are missing. */
export function continueSetAside(
  transaction: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> | undefined {
  if (transaction.set_aside === undefined || !isUndecided(transaction)) return undefined;
  if (isUnapproved(transaction, accountContext)) return undefined;
  const decision = joinSetAside(transaction, transaction, accountContext, context);
  return withLegs(transaction, accountContext, decision, context);
}

/** A move with what it changes in the markers of the transaction's unjoined legs, and the events of its commands. */
function withLegs(
  before: Transaction,
  { account, source }: AccountContext,
  decision: Decision<Transaction>,
  context: Context,
) {
  if (!decision.ok) return decision;
  const changes = [...decision.changes, ...legChanges(account, before, decision.result)];
  return followedByPlatform(announcing({ ...decision, changes }), account, source, context);
}

function decideMove(
  transaction: Transaction,
  accountContext: AccountContext,
  request: UpdateTransaction,
  context: Context,
): Decision<Transaction> {
  const from = transaction.status;
  const to = request.status ?? from;
  const { four_eyes } = accountContext.tenant;
  // Approvals that do not count any more are given again while the money has not moved.
  const again = from === "approved" && request.status === from && isUnapproved(transaction, accountContext);
  if (to === from && !again) return decideSettlement(transaction, accountContext, request, context);
  const allowed = movesOfKind(again ? { ...transaction, status: "pending" } : transaction, four_eyes);
  const scope = allowed[to];
  if (scope === undefined) return refuseMove(from, to, allowed);
  if (!context.scopes.includes(scope)) return refuseScope(scope);
  const asks = goesOn(to) && request.operation_id === undefined;
  if (isOver(transaction, context) && asks) return refuseOver(transaction, to, allowed);
  const received = asks ? refuseReceipt(transaction, accountContext) : undefined;
  if (received !== undefined) return received;
  const reason = request.reason ? { code: request.reason.code, message: request.reason.message ?? null } : null;
  if (needsReason.has(to) && reason === null) {
    return refuseField("validation_failed", "reason", `is required for the status ${to}`, "required");
  }
  const approved = underRules(transaction, to, accountContext, context);
  if ("decision" in approved) return approved.decision;
  const after = moved(approved.transaction, to, context, reason);
  if (transaction.set_aside !== undefined && goesOn(to)) {
    if (![undefined, transaction.set_aside.operation_id].includes(request.operation_id)) return refuseClaimed();
    const given = to === "approved" ? withApproval(after, context) : approved.transaction;
    return joinSetAside(transaction, given, accountContext, context);
  }
  if (isTransfer(transaction) && from === "processing" && !isCommanded(accountContext.account)) {
    return refuse("illegal_transition", "The transfer is under way: its other account decides.");
  }
  if (isCommanded(accountContext.account)) {
    const decision = moveByCommand({ before: transaction, after, request }, accountContext, context);
    if (decision !== undefined) return decision;
  } else if (saysWhatIsDone(request)) {
    return refuseUnlinked();
  }
  switch (to) {
    case "approved":
      return settled(transaction, withApproval(after, context), [], []);
    case "processing":
      return transaction.kind === "deposit"
        ? settled(transaction, after, [], [])
        : book(transaction, after, accountContext, context, intoTransit(transaction));
    case "completed":
      return decideCompletion(transaction, after, accountContext, context);
    case "returned":
      return reverseTransaction(transaction, after, accountContext, context, request);
    default:
      return end(transaction, after, accountContext, context);
  }
}

function saysWhatIsDone({ operation_id, not_found }: UpdateTransaction): boolean {
  return operation_id !== undefined || not_found !== undefined;
}

function refuseUnlinked() {
  return refuseField("not_linked", "operation_id", "The account is not linked to a feed source.");
}

function decideSettlement(
  transaction: Transaction,
  accountContext: AccountContext,
  request: UpdateTransaction,
  context: Context,
): Decision<Transaction> {
  if (!saysWhatIsDone(request)) return unchanged(transaction);
  if (!isCommanded(accountContext.account)) return refuseUnlinked();
  return context.scopes.includes("transactions:settle")
    ? settleInPlace(transaction, request, accountContext, context)
    : refuseScope("transactions:settle");
}

function decideCompletion(...decided: Parameters<typeof complete>): Decision<Transaction> {
  const [before] = decided;
  if (isCredit(before)) return completeCredit(...decided);
  return before.kind === "adjustment" ? completeAdjustment(...decided) : complete(...decided);
}

function refuseMove(from: TransactionState, to: TransactionState, allowed: object) {
  return refuse("illegal_transition", `A ${from} transaction cannot become ${to}.`, {
    extra: { from, to, allowed: Object.keys(allowed) },
  });
}

/** Whether the time to decide a transaction is over: it fails as expired, if the sweep has not come by yet. */
function isOver({ status, expires_at }: Transaction, { now }: Context): boolean {
  return isUndecided({ status }) && expires_at !== null && expires_at <= now;
}

/**
 * Whether a move takes a transaction on its way to being booked. At the end of its time it is refused, unless the
 * request names an operation of the platform: that money has moved already and must be booked.
 */
function goesOn(to: TransactionState): boolean {
  return to === "approved" || to === "processing" || to === "completed";
}

function refuseOver({ status: from, expires_at }: Transaction, to: TransactionState, moves: object) {
  const allowed = (Object.keys(moves) as TransactionState[]).filter((state) => !goesOn(state));
  return refuse("illegal_transition", `A ${from} transaction cannot become ${to} after its end at ${expires_at}.`, {
    extra: { from, to, allowed },
  });
}

/**
 * Decides what happens to a transaction that was not decided in time, and to credit at its end; undefined when its time
 * has not come.
 */
export function expireTransaction(
  transaction: Transaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> | undefined {
  if (transaction.status === "completed") return expireCredit(transaction, accountContext, context);
  if (!isOver(transaction, context)) return undefined;
  const after = moved(transaction, "failed", context, { code: "expired", message: null });
  return withLegs(transaction, accountContext, end(transaction, after, accountContext, context), context);
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
  if (isTransfer(transaction)) return refuseMove(from, "failed", {});
  const { command } = accountContext;
  if (command !== undefined && isOpen(command)) {
    return refuseOutstanding(command, "The platform has been asked to move the money.");
  }
  if (from === "pending" || moves[from].failed !== undefined) {
    const after = moved(transaction, "failed", context, reason);
    const asked = { before: transaction, after, request: {} };
    const commanded = isCommanded(accountContext.account) ? moveByCommand(asked, accountContext, context) : undefined;
    return withLegs(
      transaction,
      accountContext,
      commanded ?? end(transaction, after, accountContext, context),
      context,
    );
  }
  return refuseMove(from, "failed", moves[from]);
}

/** The approved transaction with the approval that made it so. */
function withApproval(after: Transaction, { actor }: Context): Transaction {
  return { ...after, approved_by: actor, approved_at: after.updated_at };
}

function refuseClaimed() {
  return refuse("operation_known", "Another operation, which is set aside, is the money of the transaction.");
}
