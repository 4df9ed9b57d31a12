import { type Context, later, refuse } from "../../kernel/decision.ts";
import { refuseActed } from "../../money/approval.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { CorrectionCommand, MoneyCommand } from "../../records/command.ts";
import type { Drift } from "../../records/drift.ts";
import type { Tenant } from "../../records/tenant.ts";
import { deltaMinor } from "../drift/drift.ts";
import { operationMarker } from "../operation-marker.ts";
import {
  type CommandMove,
  type CorrectionDraft,
  commandChanges,
  draftCorrection,
  isOpen,
  movedCommand,
  refuseOutstanding,
} from "./command.ts";

/**
 * Changes that issue a command which brings a platform to what is booked here: its marker keeps its operation from
 * being new money.
 * @param corrects the correction of a loss that a person may name instead of the command
 */
export function correctionIssued(
  draft: CorrectionDraft,
  context: Context,
  corrects?: string,
): { readonly command: CorrectionCommand; readonly changes: readonly Change[] } {
  const command = draftCorrection(draft, context);
  return { command, changes: [{ op: "create", entity: "command", item: command }, marker("list", command, corrects)] };
}

function marker(
  op: "list" | "unlist",
  { tenant_id, account_id, amount_minor, id }: CorrectionCommand,
  corrects?: string,
): Change {
  const named = corrects === undefined ? {} : { transaction_id: corrects };
  return { op, leg: { tenant_id, account_id, amount_minor, command_id: id, ...named } };
}

/** A search for the operation of a command that brings a platform to what is booked here. */
export function correctionSearch(sought: CorrectionCommand, context: Context): Change {
  const item = draftCorrection({ ...draftOf(sought), type: "find_operation", about_id: sought.id }, context);
  return { op: "create", entity: "command", item };
}

function draftOf(command: CorrectionCommand) {
  const { tenant_id, client_id, account_id, source_id, platform_login } = command;
  const { amount_minor, currency, issued_by } = command;
  const to = { tenant_id, client_id, account_id, source_id, platform_login };
  const money = { amount_minor, currency, issued_by };
  if (command.purpose === "drift") {
    const { purpose, drift_id, transaction_id } = command;
    return { ...to, ...money, purpose, drift_id, transaction_id };
  }
  const { purpose, drift_id, transaction_id } = command;
  return { ...to, ...money, purpose, drift_id, transaction_id };
}

/**
 * Changes at the end of a command that brings a platform to the books of this service. Nothing is booked: an operation
 * that was acknowledged is claimed, so that no item books it, and the marker stays until its source has reported it.
 * That of a settlement which was refused stays too: it is booked here, so a person may still repeat it on the platform.
 */
export function correctionEnded(before: CorrectionCommand, after: CorrectionCommand): readonly Change[] {
  const changes = commandChanges(before, after);
  const moves = before.type !== "find_operation";
  if (moves && after.status === "done" && after.operation_id !== null) return [...changes, claimOf(after)];
  const forgotten = before.purpose === "drift" && !isOpen(after) && after.status !== "done";
  return moves && forgotten ? [...changes, marker("unlist", before)] : changes;
}

/** The claim of an operation for the command that it has carried out. */
function claimOf({ source_id, operation_id, id: owner }: CorrectionCommand): Extract<Change, { op: "claim" }> {
  return {
    op: "claim",
    kind: "source_operation",
    value: operationMarker({ id: source_id }, operation_id ?? ""),
    owner,
    refusal: { code: "operation_known", detail: "The operation belongs to a transaction, or to another command." },
  };
}

/** An operation of a platform as a source reports it, with the number of its item. */
export interface ReportedOperation {
  readonly source_id: string;
  readonly account_id: string;
  readonly operation_id: string;
  readonly minor: bigint;
  /** It moves credit and not the balance. */
  readonly credits: boolean;
  readonly feed_seq: string;
}

/** Whether an operation is what a command asked for, and the command still waits for its operation. */
export function isCorrectedBy(command: CorrectionCommand, operation: Omit<ReportedOperation, "feed_seq">): boolean {
  const { source_id, account_id, amount_minor, status, feed_seq, type } = command;
  const same =
    source_id === operation.source_id && account_id === operation.account_id && amount_minor === operation.minor;
  const awaits = (isOpen(command) || status === "done" || command.purpose === "settlement") && feed_seq === undefined;
  return same && awaits && type === (operation.credits ? "credit_operation" : "balance_operation");
}

/**
 * Whether an operation is what a person has done on the platform in place of a command that was given up, because a
 * snapshot found the books equal: it is in both of them already. Where the drift was resolved otherwise it is money.
 */
export function isCorrectedByHand(
  command: CorrectionCommand,
  operation: Omit<ReportedOperation, "feed_seq">,
  drift: Pick<Drift, "status" | "command_id" | "resolution"> | undefined,
): boolean {
  const agreed = drift?.resolution?.action === "agreed" && drift.command_id === command.id;
  return agreed && !isOpen(command) && isCorrectedBy({ ...command, status: "done" }, operation);
}

/**
 * Joins an operation with the command that asked for it: the command has ended with it and nothing is booked, since the
 * money here is what the platform was brought to. An operation that was only acknowledged makes way.
 */
export function correctionReported(
  before: CorrectionCommand,
  { operation_id, feed_seq }: ReportedOperation,
  context: Context,
): readonly Change[] {
  const ended = isOpen(before) ? movedCommand(before, "done", context, { error: null }) : undefined;
  const updated_at = later(before.updated_at, context.now);
  const done = ended ?? { ...before, updated_at, version: before.version + 1 };
  const after: CorrectionCommand = { ...done, operation_id, feed_seq };
  const known = before.status === "done" ? before.operation_id : null;
  // One that was given up has no marker any more.
  const kept = isOpen(before) || before.status === "done" || before.purpose === "settlement";
  const marked = kept ? [marker("unlist", before)] : [];
  const changes = [...commandChanges(before, after), ...marked];
  if (known === operation_id) return changes;
  const released = known === null ? [] : [releaseOf(before, known)];
  return [...changes, ...released, { ...claimOf(after), drawn: true }];
}

function releaseOf({ source_id, id: owner }: CorrectionCommand, operation_id: string): Change {
  const value = operationMarker({ id: source_id }, operation_id);
  return { op: "release", kind: "source_operation", value, owner };
}

/** The command without the operation that it was acknowledged with, which is other money. */
export function correctionReleased(before: CorrectionCommand, { now }: Pick<Context, "now">): readonly Change[] {
  const updated_at = later(before.updated_at, now);
  return commandChanges(before, { ...before, operation_id: null, updated_at, version: before.version + 1 });
}

/** The drift that a command corrects, as far as its commands depend on it. */
export type Corrected = Pick<Drift, "status" | "command_id" | "ours" | "theirs">;

/** Whether a command is still the one that is to correct its drift, by what that is now. */
export function isWanted({ id, about_id, amount_minor }: MoneyCommand, drift: Corrected | undefined): boolean {
  if (drift?.status !== "open" || drift.command_id !== (about_id ?? id)) return false;
  return deltaMinor(drift) === -amount_minor;
}

/**
 * The changes that give up a command whose difference is resolved otherwise, or is another one: nothing was sent of one
 * that waits, and the operation of an unknown one was looked for in vain. Any other may still move money.
 */
export function givenUp(command: CorrectionCommand | undefined, context: Context): Decision<readonly Change[]> {
  const nothing = { ok: true, result: [], changes: [], events: [] } as const;
  if (command === undefined || !isOpen(command)) return nothing;
  const move = moveToEnd(command);
  const error = { code: "not_found", message: null };
  const after = move && movedCommand(command, move, context, move === "failed" ? { error } : {});
  if (after === undefined) return refuseOutstanding(command, "The platform may still correct the balance.");
  return { ...nothing, result: correctionEnded(command, after) };
}

function moveToEnd({ status, not_found_at }: CorrectionCommand): CommandMove | undefined {
  if (status === "waiting") return "cancel";
  return status === "unknown" && not_found_at !== null ? "failed" : undefined;
}

/**
 * Why a person may not hand out a command again for which nothing is booked; undefined when they may.
 * @param wanted whether it is still to be carried out
 */
export function refuseCorrection(
  { issued_by, amount_minor: minor, currency }: CorrectionCommand,
  wanted: boolean,
  tenant: Pick<Tenant, "four_eyes" | "approval_rules">,
  context: Context,
) {
  if (!wanted) return refuse("illegal_transition", "The drift is resolved, or has another command or amount.");
  return refuseActed({ minor, currency, acted: [issued_by] }, tenant, context);
}
