import { type Context, later, numberOf, refuse } from "../kernel/decision.ts";
import { reportedFigure } from "../kernel/money.ts";
import { isUnapproved } from "../money/approval.ts";
import { isCredit } from "../money/credit-booking.ts";
import { type Leg, legChanges, takesMoney, unreportedLegsOf } from "../money/legs.ts";
import { awaitsPlatform, changedTransaction, transactionEvent } from "../money/transaction.ts";
import type { Change, Decision } from "../records/change.ts";
import type { CorrectionCommand, PlatformCommand } from "../records/command.ts";
import type { Transaction } from "../records/transaction.ts";
import type { Made } from "./apply.ts";
import { announcing } from "./command/announce.ts";
import { commandChanges, isCorrection, isOpen, movedCommand } from "./command/command.ts";
import { correctionReleased, correctionReported, isCorrectedBy, isCorrectedByHand } from "./command/correction.ts";
import { commandOf, type Evidence, forwardMinor, joinedOperation, platformMoved } from "./command/money.ts";
import { followedByPlatform } from "./command/settlement.ts";
import type { Origin } from "./mirror-order.ts";
import { operationMarker } from "./operation-marker.ts";
import { asHappened, type Operation, type OperationState, operationMinor } from "./platform-money.ts";
import { type Applied, claimed, insteadOf, type OperationLinks, type Reported } from "./reported.ts";
import type { ItemDecision } from "./set-aside.ts";
import { decideUnasked, setAsideFor } from "./unasked.ts";
import { decideWaiting } from "./waiting.ts";

/**
 * Decides what money that a platform moved is here. An operation that names a command, or a transaction, joins the
 * unreported leg of the same account and amount, in place of an operation that was only claimed for it, so that the
 * same money is booked once; whatever else it names, it is booked as it happened, in addition to the transaction. One
 * that names none and could be ours is put aside until a person says what it is.
 */
export function applyOperation(
  state: OperationState,
  operation: Operation,
  links: OperationLinks,
  origin: Origin,
  context: Context,
): ItemDecision<Made> {
  const decision = decideReported(state, operation, links, origin, context);
  return followedByPlatform(decision, state.account, origin.source, context);
}

function decideReported(
  state: OperationState,
  operation: Operation,
  links: OperationLinks,
  origin: Origin,
  context: Context,
): ItemDecision<Made> {
  const amount = operationMinor(operation, state.account);
  if (!amount.ok) return amount;
  const reported = { operation, minor: amount.result, origin };
  const { claimant, claiming, waiting } = links;
  if (waiting !== undefined) {
    const decideOther = () => decideOperation(state, reported, links, context);
    return decideWaiting(waiting, state, reported, links, context, decideOther);
  }
  if (links.said === "take_back") return refuseTakingBack();
  if (claiming !== undefined) return decideClaimed(claiming, state, reported, links, context);
  if (claimant === undefined) return decideOperation(state, reported, links, context);
  if (isConfirmed(claimant, state, reported, links)) return confirm(claimant, state, reported, context);
  // The claimant is changed already, so the operation cannot be joined with another leg of it in the same commit.
  const others = links.named?.id === claimant.id ? { ...links, joins: false } : links;
  const decision = decideOperation(state, reported, others, context);
  return decision.ok ? withRelease(decision, claimant, reported, context) : decision;
}

function decideOperation(
  state: OperationState,
  reported: Reported,
  links: OperationLinks & { readonly joins?: boolean },
  context: Context,
): ItemDecision<Made> {
  const { operation, minor } = reported;
  const { named, candidates, said, command, drift, joins = true } = links;
  if (isCorrection(command)) {
    const reportedOf = operationOf(state, reported, context);
    const byHand = said === "is_named" && isCorrectedByHand(command, reportedOf, drift);
    if (byHand || isCorrectedBy(command, reportedOf)) return corrects(command, state, reported, context);
  }
  const leg = joins && named?.account_id === state.account.id ? legOf(named, minor, operation, command) : undefined;
  if (named !== undefined && leg !== undefined) {
    if (isUnapproved(named, links)) return setAsideFor(named, state, reported, context);
    const decision = joinLeg(state, named, leg, reported, links, context);
    return decision.ok ? claimed(decision, { transaction_id: named.id }, reported) : decision;
  }
  if (said === "is_named") {
    return refuse("transaction_mismatch", "No money of this transaction or command waits for this account and amount.");
  }
  if (named === undefined && !isCorrection(command) && said !== "is_new" && candidates.length > 0) {
    const detail = `It could be the money of ${candidates.join(", ")}, which the platform has not reported yet.`;
    return refuse("possible_duplicate", detail, { extra: { candidates } });
  }
  return decideUnasked(state, reported, { ...links, related: named?.id ?? null }, context);
}

function refuseTakingBack() {
  return refuse("illegal_transition", "Only an item whose transaction has ended is taken back.");
}

function operationOf(
  { account }: OperationState,
  { operation: { operation_id, kind }, minor, origin }: Reported,
  context: Context,
) {
  const feed_seq = context.cause?.feed_seq ?? "";
  return {
    source_id: origin.source.id,
    account_id: account.id,
    operation_id,
    minor,
    credits: isCredit({ kind }),
    feed_seq,
  };
}

/** The operation of a command that corrects a balance is joined with it, and books nothing. */
function corrects(command: CorrectionCommand, state: OperationState, reported: Reported, context: Context): Applied {
  const changes = correctionReported(command, operationOf(state, reported, context), context);
  return announcing({ ok: true, result: { command_id: command.id }, changes, events: [] } satisfies Applied);
}

/**
 * Decides an operation that a command which corrects a balance was acknowledged with: it is that, also without a
 * reference, unless its account, its amount or what it names contradicts it. Then it stands on its own.
 */
function decideClaimed(
  claiming: CorrectionCommand,
  state: OperationState,
  reported: Reported,
  links: OperationLinks,
  context: Context,
): ItemDecision<Made> {
  const { named, command } = links;
  const names = command === undefined ? named === undefined : command.id === claiming.id;
  if (names && isCorrectedBy(claiming, operationOf(state, reported, context))) {
    return corrects(claiming, state, reported, context);
  }
  const decision = decideOperation(state, reported, links, context);
  if (!decision.ok) return decision;
  const changes = insteadOf(claiming.id, decision.changes);
  return { ...decision, changes: [...changes, ...correctionReleased(claiming, context)] };
}

/**
 * The leg whose money an operation is. One that names a command is that of the command's leg alone, as long as the
 * command has not ended otherwise: the opposite operation of a payout carries the same transaction. A command that is
 * done has its leg also after the opposite one was issued: it may have been acknowledged without its operation. Money
 * is not the leg of credit, nor the other way round.
 */
function legOf(
  transaction: Transaction,
  minor: bigint,
  { reference, kind }: Operation,
  command: PlatformCommand | undefined,
): Leg | undefined {
  if (isCredit({ kind }) !== isCredit(transaction)) return undefined;
  const legs = unreportedLegsOf(transaction).filter((leg) => leg.minor === minor);
  if (command === undefined || command.id !== reference) return legs[0];
  const moves =
    command.purpose === "transaction" &&
    command.type !== "find_operation" &&
    (isOpen(command) || command.status === "done");
  const newest = commandOf(transaction, command, command.leg ?? "forward") !== undefined;
  const own = moves && (newest || command.status === "done");
  return own ? legs.find(({ name }) => name === command.leg) : undefined;
}

/** Joins an operation with a leg: nothing is booked twice, and what was still open here follows the platform. */
function joinLeg(
  state: OperationState,
  before: Transaction,
  leg: Leg,
  { operation, origin: { source, at } }: Reported,
  { tenant, command, since_debit, late }: OperationLinks,
  context: Context,
): Decision<Transaction> {
  const { account, balance } = state;
  const { margin } = asHappened(state, { source });
  const { operation_id, amount } = operation;
  const accountContext = { tenant, account, balance, margin, ...(since_debit === undefined ? {} : { since_debit }) };
  const figure = reportedFigure(amount, account.currency);
  const evidence: Evidence = { source, operation_id, at, confirmed: true, late, ...figure, ...numberOf(context) };
  const decision = isToBook(before, leg)
    ? platformMoved(before, leg.name, accountContext, evidence, context)
    : noted(before, leg, evidence, context);
  if (!decision.ok) return decision;
  const legs = legChanges(account, before, decision.result);
  const ended = [
    ...commandEnded(commandOf(before, command, leg.name), operation, context),
    ...corrected(command, before, leg, operation, context),
  ];
  return announcing({ ...decision, changes: [...decision.changes, ...legs, ...ended] });
}

/**
 * Whether the money of a leg is not booked yet. A deposit is completed by its operation. A withdrawal that is in
 * processing has been debited, unless the platform was asked to release its money.
 */
function isToBook(transaction: Transaction, { name }: Leg): boolean {
  const { status, returning } = transaction;
  if (name === "reverse") return returning !== undefined;
  const undecided = status === "pending" || status === "approved";
  return undecided || (status === "processing" && (!takesMoney(transaction) || awaitsPlatform(transaction)));
}

/**
 * The command about a leg after its join. An operation that names the command is its end. One that a person made on the
 * platform takes its place: nothing was sent of a command that waits, so it is cancelled.
 */
function commandEnded(
  command: PlatformCommand | undefined,
  { operation_id, reference }: Operation,
  context: Context,
): readonly Change[] {
  if (command === undefined) return [];
  const move = command.status === "waiting" && reference !== command.id ? "cancel" : "done";
  const after = movedCommand(command, move, context, move === "done" ? { operation_id, error: null } : {});
  return after === undefined ? [] : commandChanges(command, after);
}

/** A command that was acknowledged with another operation than the one that names it shows the right one. */
function corrected(
  command: PlatformCommand | undefined,
  { id }: Transaction,
  leg: Leg,
  { operation_id, reference }: Operation,
  { now }: Context,
): readonly Change[] {
  if (command === undefined || command.id !== reference || command.status !== "done") return [];
  const own = command.transaction_id === id && command.leg === leg.name;
  if (!own || command.operation_id === operation_id) return [];
  const updated_at = later(command.updated_at, now);
  return commandChanges(command, { ...command, operation_id, updated_at, version: command.version + 1 });
}

/**
 * The transaction with the operation beside it: its money was booked before. An operation that was only claimed for
 * the leg makes way, and is other money if the platform reports it.
 */
function noted(before: Transaction, leg: Leg, evidence: Evidence, context: Context): Decision<Transaction> {
  const joined = { ...joinedOperation(evidence, leg.name), operation_id: evidence.operation_id ?? "" };
  const operations = before.platform_operations ?? [];
  const replaced = operations.filter((each) => each.leg === leg.name);
  const others = operations.filter((each) => each.leg !== leg.name);
  const decision = withOperations(before, [...others, joined], context);
  const released = replaced.map((each): Change => {
    const value = operationMarker({ id: each.source_id }, each.operation_id);
    return { op: "release", kind: "source_operation", value, owner: before.id };
  });
  return { ...decision, changes: [...decision.changes, ...released] };
}

function withOperations(
  before: Transaction,
  platform_operations: Transaction["platform_operations"],
  context: Context,
): Extract<Decision<Transaction>, { ok: true }> {
  const after = changedTransaction(before, { platform_operations }, context);
  return {
    ok: true,
    result: after,
    changes: [{ op: "update", entity: "transaction", before, after }],
    events: [transactionEvent("transaction.updated", after, { platform_operations: before.platform_operations ?? [] })],
  };
}

/** The noted operation of a transaction that its source has not reported yet; undefined when it has. */
export function unconfirmed(transaction: Transaction, source: { readonly id: string }, operation_id: string) {
  return (transaction.platform_operations ?? []).find(
    (each) => each.confirmed === false && each.source_id === source.id && each.operation_id === operation_id,
  );
}

/**
 * Whether an operation is what it was claimed for: the money of this leg of this transaction. A reference that names
 * nothing here, a comment that a person wrote or a platform cut, does not contradict that.
 */
function isConfirmed(
  claimant: Transaction,
  { account }: OperationState,
  { operation: { operation_id, kind }, minor, origin }: Reported,
  { named }: OperationLinks,
): boolean {
  if (isCredit({ kind }) !== isCredit(claimant)) return false;
  const entry = unconfirmed(claimant, origin.source, operation_id);
  const expected = entry?.leg === "reverse" ? claimant.reverse_minor : forwardMinor(claimant);
  const names = named === undefined || named.id === claimant.id;
  return claimant.account_id === account.id && expected === minor && names;
}

function confirm(
  claimant: Transaction,
  { account }: OperationState,
  { operation: { operation_id, amount }, origin }: Reported,
  context: Context,
): Applied {
  const entry = unconfirmed(claimant, origin.source, operation_id);
  const figure = reportedFigure(amount, account.currency);
  const operations = (claimant.platform_operations ?? []).map((each) =>
    each === entry ? { ...each, at: origin.at, confirmed: true, ...figure, ...numberOf(context) } : each,
  );
  const decision = withOperations(claimant, operations, context);
  const legs = legChanges(account, claimant, decision.result);
  return { ...decision, result: { transaction_id: claimant.id }, changes: [...decision.changes, ...legs] };
}

/**
 * The decision about an operation that contradicts what it was claimed for: it stands on its own, and the leg of the
 * claimant waits for its operation again.
 */
function withRelease(
  decision: Extract<ItemDecision<Made>, { ok: true }>,
  claimant: Transaction,
  { operation: { operation_id }, origin }: Reported,
  context: Context,
): ItemDecision<Made> {
  const entry = unconfirmed(claimant, origin.source, operation_id);
  const operations = (claimant.platform_operations ?? []).filter((each) => each !== entry);
  const freed = withOperations(claimant, operations, context);
  return {
    ...decision,
    changes: [...insteadOf(claimant.id, decision.changes), ...freed.changes],
    events: [...decision.events, ...freed.events],
  };
}
