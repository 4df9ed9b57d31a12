import type { UpdateTransaction } from "../../../schema/transaction.ts";
import { type Context, refuse, unchanged } from "../../kernel/decision.ts";
import { actedOn, refuseActed } from "../../money/approval.ts";
import { bookReturn, complete, end } from "../../money/booking.ts";
import { takesMoney } from "../../money/legs.ts";
import { type AccountContext, returningFields, returningOf, withoutReturning } from "../../money/transaction.ts";
import { isTransfer } from "../../money/transfers/state.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { PlatformCommand } from "../../records/command.ts";
import type { LegName } from "../../records/leg.ts";
import type { Returning, Transaction } from "../../records/transaction.ts";
import { commandChanges, isCorrection, isOpen, movedCommand, refuseOutstanding } from "./command.ts";
import {
  askedBack,
  commandBack,
  commandForward,
  type Evidence,
  happened,
  platformMoved,
  platformRefused,
  refuseSource,
  withClaim,
} from "./money.ts";

/** A move of a transaction that a caller asks for: the transaction as it would be, and what the request says. */
interface Asked {
  readonly before: Transaction;
  readonly after: Transaction;
  readonly request: UpdateTransaction;
}

/**
 * Decides a move of a transaction whose money a platform moves. A move that would book money here asks the platform for
 * it, and is booked when the platform has done it. A person who names an operation settles by hand. Undefined for a
 * move that is the same on every account.
 */
export function moveByCommand(
  asked: Asked,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> | undefined {
  const { before, after, request } = asked;
  const { command } = accountContext;
  if (command !== undefined && isOpen(command)) return whileOutstanding(asked, command, accountContext, context);
  if (request.not_found) return refuse("illegal_transition", "No command with an unknown outcome is about this.");
  if (isTransfer(before) && before.status === "processing") return transferMove(asked, accountContext, context);
  const released = before.kind === "withdrawal" && before.platform_done_at !== undefined;
  switch (after.status) {
    case "processing":
      return before.kind === "deposit" ? undefined : forward(asked, accountContext, context);
    case "completed":
      if (!released) return forward(asked, accountContext, context);
      return request.operation_id === undefined ? payout(before, after, accountContext, context) : refuseReleased();
    case "failed":
      return released ? back(asked, accountContext, context) : undefined;
    case "returned":
      return back(asked, accountContext, context);
    default:
      return request.operation_id === undefined ? undefined : refuseHand();
  }
}

/** A transfer whose money is in transit goes on by itself, but where the platform did not bring a debit back. */
function transferMove(asked: Asked, accountContext: AccountContext, context: Context): Decision<Transaction> {
  const { before, after } = asked;
  const stands = before.kind === "transfer_out" && before.outcome === "needs_attention";
  if (stands && after.status === "failed") return back(asked, accountContext, context);
  return refuse("illegal_transition", "The transfer is under way: its credit decides.");
}

/** A withdrawal that its operation was named for is not paid by naming it again, or another one. */
function refuseReleased() {
  return refuse(
    "illegal_transition",
    "The platform has released the money: its payout is confirmed without operation_id.",
  );
}

/**
 * Decides a request that says what the platform has done and asks for the state that the transaction has, `processing`
 * of a withdrawal for one. It settles the command that has not ended. Its statement is never accepted without effect,
 * unless it is known already.
 */
export function settleInPlace(
  before: Transaction,
  request: UpdateTransaction,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const { operation_id, not_found } = request;
  if (before.platform_operations?.some((each) => each.operation_id === operation_id)) return unchanged(before);
  if (operation_id === undefined && not_found && before.status === "failed") return unchanged(before);
  const { command } = accountContext;
  if (command !== undefined && isOpen(command) && !isCorrection(command)) {
    return whileOutstanding({ before, after: before, request }, command, accountContext, context);
  }
  return refuse("illegal_transition", `No command about the ${before.status} transaction is there to settle.`);
}

function refuseHand() {
  return refuse("illegal_transition", "This status is not settled by an operation of the platform.");
}

function forward({ before, request }: Asked, accountContext: AccountContext, context: Context): Decision<Transaction> {
  return request.operation_id === undefined
    ? commandForward(before, accountContext, context)
    : byHand(before, "forward", request.operation_id, accountContext, context);
}

function back(asked: Asked, accountContext: AccountContext, context: Context): Decision<Transaction> {
  const { before, after, request } = asked;
  const found = askedBack(before, after, accountContext, request, context);
  if (!found.ok) return found;
  if (request.operation_id === undefined) return commandBack(before, found.result, accountContext, context);
  if (found.result.to === "returned")
    return returnedByHand(asked, found.result, request.operation_id, accountContext, context);
  return byHand(
    { ...before, ...returningFields(found.result) },
    "reverse",
    request.operation_id,
    accountContext,
    context,
  );
}

/** Evidence of a person that the platform has done it. The operation is theirs to prove until its source reports it. */
function evidenceOf(operation_id: string, accountContext: AccountContext, { now }: Context): Decision<Evidence> {
  const { source } = accountContext;
  const refusal = refuseSource(accountContext);
  if (refusal !== undefined || source === undefined) return refusal ?? refuseHand();
  return unchanged({ source, operation_id, at: now, confirmed: false });
}

/** Books a return that a person has made on the platform: nothing was held for it, and it did not count as pending. */
function returnedByHand(
  { before, after }: Asked,
  { kept_fee_minor: kept }: Returning,
  operation_id: string,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const shown = evidenceOf(operation_id, accountContext, context);
  if (!shown.ok) return shown;
  const evidence = shown.result;
  const { how, noted } = happened(before, "reverse", evidence);
  const decision = bookReturn(before, { ...after, ...noted }, accountContext, context, { kept, require: [], how });
  return withClaim(decision, evidence, before);
}

/** Books what a person says the platform has done. */
function byHand(
  before: Transaction,
  leg: LegName,
  operation_id: string,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const shown = evidenceOf(operation_id, accountContext, context);
  if (!shown.ok) return shown;
  const evidence = shown.result;
  return withClaim(platformMoved(before, leg, accountContext, evidence, context), evidence, before);
}

/** The state that the end of a command leads its transaction to. */
function targetOf({ kind, returning }: Transaction, { leg }: PlatformCommand): readonly Transaction["status"][] {
  if (leg === "reverse") return returning === undefined ? [] : [returning.to];
  return takesMoney({ kind }) ? ["processing", "completed"] : ["completed"];
}

/**
 * Decides a move while a command has not ended. As long as the command waits, a person may settle by hand, and the
 * command is cancelled with that; once it is taken its end decides; and when its outcome is unknown, a person says what
 * became of it, with four eyes where the brokerage asks for them.
 */
function whileOutstanding(
  { before, after, request }: Asked,
  command: PlatformCommand,
  accountContext: AccountContext,
  context: Context,
): Decision<Transaction> {
  const { operation_id, not_found } = request;
  const reached = targetOf(before, command).includes(after.status);
  const given = command.leg === "forward" && after.status === "failed";
  if (command.status === "waiting") {
    // An operation says that the platform has done it, which a failure contradicts.
    if (given && operation_id === undefined)
      return ended(command, "cancel", end(before, after, accountContext, context), context);
    if (reached && operation_id !== undefined) {
      const leg = command.leg ?? "forward";
      return ended(command, "cancel", byHand(before, leg, operation_id, accountContext, context), context);
    }
    const paid = command.leg === "reverse" && before.kind === "withdrawal" && after.status === "completed";
    if (paid && before.status === "processing")
      return ended(command, "cancel", payout(before, after, accountContext, context), context);
    const returning = returningOf(before);
    if (reached && returning?.to === "failed" && refuseSource(accountContext) !== undefined) {
      return ended(command, "cancel", commandBack(before, returning, accountContext, context), context);
    }
  }
  if (command.status === "unknown" && (operation_id !== undefined || not_found)) {
    const refusal = refuseActed(actedOn(before, { amount_minor: 0n, ...command }), accountContext.tenant, context);
    if (refusal !== undefined) return refusal;
    const leg = command.leg ?? "forward";
    if (operation_id !== undefined && reached) {
      return ended(command, "done", byHand(before, leg, operation_id, accountContext, context), context, operation_id);
    }
    if (not_found && (given || (leg === "reverse" && reached))) {
      const reason = after.status_reason ?? { code: "not_found", message: null };
      return ended(command, "failed", platformRefused(before, leg, accountContext, reason, context), context);
    }
  }
  const says = operation_id !== undefined || not_found === true;
  if (says && command.leg === "reverse" && !reached) return refuseIncomplete(before, command);
  return refuseOutstanding(command, `A command is ${command.status}: its end decides about the transaction.`);
}

/** The refusal of a request that settles what a platform was to bring back, and lacks what that needs. */
function refuseIncomplete(before: Transaction, command: PlatformCommand) {
  const [to = "failed"] = targetOf(before, command);
  const done = command.status === "unknown" ? "`operation_id` or `not_found`" : "`operation_id`";
  const detail = `To settle by hand what the platform was to bring back send \`status\` ${to}, \`reason\` and ${done}.`;
  return refuseOutstanding(command, detail);
}

/** The payout was made after all: what was to be brought back stays away. */
function payout(before: Transaction, after: Transaction, accountContext: AccountContext, context: Context) {
  return complete(before, { ...withoutReturning(after), outcome: null }, accountContext, context);
}

/** A decision with the end of the command in the same commit. */
function ended(
  command: PlatformCommand,
  move: "cancel" | "done" | "failed",
  decision: Decision<Transaction>,
  context: Context,
  operation_id?: string,
): Decision<Transaction> {
  if (!decision.ok) return decision;
  const after = movedCommand(command, move, context, operation_id === undefined ? {} : { operation_id });
  const changes: readonly Change[] = after === undefined ? [] : commandChanges(command, after);
  return { ...decision, changes: [...decision.changes, ...changes] };
}
