import { limits } from "../../../limits.ts";
import type { AckCommand } from "../../../schema/feed/command.ts";
import { type Context, later, refuse, refuseField, unchanged } from "../../kernel/decision.ts";
import { actedOn, refuseActed } from "../../money/approval.ts";
import { settled } from "../../money/booking.ts";
import { legChanges, unjoinedLegsOf } from "../../money/legs.ts";
import { type AccountContext, changedTransaction } from "../../money/transaction.ts";
import type { Change, Decision } from "../../records/change.ts";
import type { CorrectionCommand, MoneyCommand } from "../../records/command.ts";
import { type FeedSource, isEnded } from "../../records/feed-source.ts";
import type { LegName } from "../../records/leg.ts";
import type { Tenant } from "../../records/tenant.ts";
import type { Transaction } from "../../records/transaction.ts";
import { announcing } from "./announce.ts";
import {
  type CommandMove,
  commandChanges,
  draftCommand,
  isCorrection,
  isExpired,
  isOpen,
  lostLease,
  movedCommand,
  moveOfAck,
} from "./command.ts";
import { type Corrected, correctionEnded, correctionSearch, isWanted, refuseCorrection } from "./correction.ts";
import { commandOf, type Evidence, platformMoved, platformRefused, withClaim } from "./money.ts";
import { followedByPlatform } from "./settlement.ts";

/** A command about money with what it is for. */
export interface CommandState {
  readonly command: MoneyCommand;
  readonly about: AboutTransaction | AboutDrift | AboutSettlement;
  /** The command whose operation a search looks for. */
  readonly sought?: MoneyCommand | undefined;
}

/** The transaction whose money a command moves, and that transaction's account. */
export interface AboutTransaction {
  readonly purpose: "transaction";
  readonly transaction: Transaction;
  readonly leg: LegName;
  readonly accountContext: AccountContext;
}

/** The drift that a command corrects on the platform. */
export interface AboutDrift {
  readonly purpose: "drift";
  readonly drift: Corrected | undefined;
  readonly tenant: Pick<Tenant, "four_eyes" | "approval_rules">;
}

/** A settlement that was booked here at once and that the platform is to follow. */
export interface AboutSettlement {
  readonly purpose: "settlement";
  readonly tenant: Pick<Tenant, "four_eyes" | "approval_rules">;
  /** Nothing is taken of a source that has ended; undefined where it is gone. */
  readonly source: Pick<FeedSource, "ended_at"> | undefined;
}

type Reason = NonNullable<Transaction["status_reason"]>;

/** Decides an acknowledgement. One that says nothing new, or comes from an earlier attempt, changes nothing. */
export function acknowledge(state: CommandState, ack: AckCommand, context: Context): Decision<MoneyCommand> {
  return followed(state, announcing(acknowledged(state, ack, context)), context);
}

/** The money that a failed payout brings back may repay a correction, which the platform follows. */
function followed({ about }: CommandState, decision: Decision<MoneyCommand>, context: Context) {
  if (about.purpose !== "transaction") return decision;
  const { account, source } = about.accountContext;
  return followedByPlatform(decision, account, source, context);
}

function acknowledged(state: CommandState, ack: AckCommand, context: Context): Decision<MoneyCommand> {
  const { command } = state;
  if (ack.attempt > command.attempt) {
    return refuseField("validation_failed", "attempt", "was never taken", "out_of_range");
  }
  const move = moveOfAck(command, ack);
  if (move === undefined) return unchanged(command);
  const error = ack.error ? { code: ack.error.code, message: ack.error.message ?? null } : null;
  const operation_id = ack.operation_id ?? null;
  if (command.type === "find_operation") return searched(state, move, { operation_id, error }, context);
  if (move === "done") return moneyMoved(state, operation_id, context);
  const after = movedCommand(command, move, context, { error });
  if (after === undefined) return unchanged(command);
  if (move === "failed")
    return moneyRefused(state, after, error ?? { code: "platform_refused", message: null }, context);
  if (move === "unknown") return outcomeUnknown(state, after, context);
  return withCommand(command, notSent(state, context) ?? after);
}

/** The end of a command that was not sent and whose drift is resolved otherwise, or is another amount by now. */
function notSent(state: CommandState, context: Context): MoneyCommand | undefined {
  const { command, about } = state;
  if (about.purpose !== "drift" || isWanted(command, about.drift)) return undefined;
  return movedCommand(command, "failed", context, { error: { code: "not_sent", message: null } });
}

function withCommand(before: MoneyCommand, after: MoneyCommand): Decision<MoneyCommand> {
  return { ok: true, result: after, changes: changesOf(before, after), events: [] };
}

/** Writes of a change of a command that books nothing. */
function changesOf(before: MoneyCommand, after: MoneyCommand): readonly Change[] {
  return isCorrection(before) ? correctionEnded(before, after as CorrectionCommand) : commandChanges(before, after);
}

/** The transaction that still waits for a command: another operation may have been joined with its leg meanwhile. */
function awaiting({ command, about }: CommandState): AboutTransaction | undefined {
  if (about.purpose !== "transaction") return undefined;
  const { transaction, leg } = about;
  const open = unjoinedLegsOf(transaction).some(({ name }) => name === leg);
  return open && commandOf(transaction, command, leg) !== undefined ? about : undefined;
}

/** Whether a command is still to be carried out. */
function isAwaited(state: CommandState): boolean {
  const { command, about } = state;
  if (about.purpose === "settlement") return true;
  return about.purpose === "drift" ? isWanted(command, about.drift) : awaiting(state) !== undefined;
}

/** A decision about the transaction of a command, with the command and the markers of unjoined legs. */
function both(
  { transaction, accountContext }: AboutTransaction,
  decision: Decision<Transaction>,
  [before, after]: readonly [MoneyCommand, MoneyCommand],
): Decision<MoneyCommand> {
  if (!decision.ok) return decision;
  const legs = legChanges(accountContext.account, transaction, decision.result);
  return { ...decision, result: after, changes: [...decision.changes, ...commandChanges(before, after), ...legs] };
}

/**
 * Books what a command has done, once: where another operation was joined with its leg meanwhile, that was the money of
 * the transaction, and what this command has done is booked when its source reports it.
 */
function moneyMoved(state: CommandState, operation_id: string | null, context: Context): Decision<MoneyCommand> {
  const { command } = state;
  const after = movedCommand(command, "done", context, { operation_id, error: null });
  if (after === undefined) return unchanged(command);
  const awaited = awaiting(state);
  if (awaited === undefined) return withCommand(command, after);
  const { transaction, leg, accountContext } = awaited;
  const { source_id: id } = command;
  const authoritative = accountContext.source?.authoritative ?? "platform";
  const evidence: Evidence = {
    source: { id, authoritative },
    operation_id: operation_id ?? undefined,
    at: context.now,
    confirmed: false,
  };
  const decision = platformMoved(transaction, leg, accountContext, evidence, context);
  return both(awaited, withClaim(decision, evidence, transaction), [command, after]);
}

/** A money command that failed or expired ends its transaction in the same commit. */
function moneyRefused(
  state: CommandState,
  after: MoneyCommand,
  reason: Reason,
  context: Context,
): Decision<MoneyCommand> {
  const { command } = state;
  const awaited = awaiting(state);
  if (awaited === undefined) return withCommand(command, after);
  const { transaction, leg, accountContext } = awaited;
  const decision = platformRefused(transaction, leg, accountContext, reason, context);
  return both(awaited, decision, [command, after]);
}

/** The outcome of a money command is not known: its transaction says so, and a search for its operation is issued. */
function outcomeUnknown(state: CommandState, after: MoneyCommand, context: Context): Decision<MoneyCommand> {
  const { command } = state;
  const { search_again_at: _before, ...rest } = after;
  const unknown = { ...rest, searches: 1 } as MoneyCommand;
  const search = searchFor(state, context);
  const awaited = awaiting(state);
  if (awaited === undefined)
    return isSearched(state) ? searching([command, unknown], search) : withCommand(command, after);
  const { transaction } = awaited;
  const marked = changedTransaction(transaction, { outcome: "unknown" }, context);
  return both(awaited, settled(transaction, marked, [search], []), [command, unknown]);
}

/** Whether the operation of a command is looked for: that of a drift also once the drift is resolved otherwise. */
function isSearched(state: CommandState): boolean {
  return state.about.purpose !== "transaction" || awaiting(state) !== undefined;
}

function searching([before, after]: readonly [MoneyCommand, MoneyCommand], search: Change): Decision<MoneyCommand> {
  return { ok: true, result: after, changes: [...changesOf(before, after), search], events: [] };
}

/** A search for the operation of a command. */
function searchFor({ command, about }: CommandState, context: Context): Change {
  if (isCorrection(command)) return correctionSearch(command, context);
  if (about.purpose !== "transaction") throw new Error("A command is for another thing than its state.");
  const { source_id, platform_login, amount_minor: minor } = command;
  const link = { source_id, platform_login, about_id: command.id };
  const draft = { type: "find_operation", transaction: about.transaction, leg: about.leg, minor, ...link } as const;
  return { op: "create", entity: "command", item: draftCommand(draft, context) };
}

/** The next search for the operation of an unknown command whose last search has failed; undefined before its time. */
function searchedAgain(state: CommandState, context: Context): Decision<MoneyCommand> | undefined {
  const { command } = state;
  const { status, searches = 0, search_again_at: due } = command;
  if (status !== "unknown" || due === undefined || due > context.now || !isSearched(state)) return undefined;
  const { search_again_at: _due, ...before } = command;
  const updated_at = later(command.updated_at, context.now);
  const after = { ...before, searches: searches + 1, updated_at, version: command.version + 1 } as MoneyCommand;
  return searching([command, after], searchFor(state, context));
}

/** The end of a search: the operation that it found is the end of the command that it is about. */
function searched(
  state: CommandState,
  move: CommandMove,
  told: Pick<MoneyCommand, "operation_id" | "error">,
  context: Context,
): Decision<MoneyCommand> {
  const { command: search, sought } = state;
  const after = movedCommand(search, move, context, told);
  if (after === undefined) return unchanged(search);
  const own = withCommand(search, after);
  if (own.ok && move === "failed" && sought !== undefined)
    return { ...own, changes: [...own.changes, ...missed(sought, context)] };
  if (!own.ok || move !== "done" || sought === undefined || !isOpen(sought)) return own;
  if (told.operation_id !== null) {
    const found = moneyMoved({ ...state, command: sought }, told.operation_id, context);
    return found.ok ? { ...found, result: after, changes: [...own.changes, ...found.changes] } : found;
  }
  if (sought.status !== "unknown") return own;
  const updated_at = later(after.updated_at, sought.updated_at);
  const known: MoneyCommand = { ...sought, not_found_at: after.updated_at, updated_at, version: sought.version + 1 };
  const ended = isAwaited({ ...state, command: sought }) ? undefined : notFound(sought, known, context);
  if (ended !== undefined) return { ...own, changes: [...own.changes, ...ended] };
  return { ...own, changes: [...own.changes, ...commandChanges(sought, known)] };
}

/** The end of a command whose drift is resolved otherwise, once its operation was looked for in vain. */
function notFound(
  before: MoneyCommand,
  { not_found_at }: MoneyCommand,
  context: Context,
): readonly Change[] | undefined {
  const error = { code: "not_found", message: null };
  const after =
    before.purpose === "drift" ? movedCommand(before, "failed", context, { not_found_at, error }) : undefined;
  return after && changesOf(before, after);
}

/** The command whose search failed: it is searched for again later, a few times. */
function missed(sought: MoneyCommand, { now, in: after }: Context): readonly Change[] {
  const { status, searches = 1 } = sought;
  if (status !== "unknown" || searches >= limits.commands.max_searches) return [];
  const search_again_at = after(limits.commands.searched_again_seconds);
  const updated_at = later(sought.updated_at, now);
  return commandChanges(sought, { ...sought, search_again_at, updated_at, version: sought.version + 1 });
}

/**
 * Decides what time makes of a command: a lease that ran out, a wait that is over, a search for the operation of a
 * command that has ended meanwhile, or one that is to be made again. Undefined when it is none of them.
 */
export function overdue(state: CommandState, context: Context): Decision<MoneyCommand> | undefined {
  const decision = endedByTime(state, context);
  return decision && followed(state, announcing(decision), context);
}

function endedByTime(state: CommandState, context: Context): Decision<MoneyCommand> | undefined {
  const { command, sought } = state;
  if (command.status === "waiting" && sought !== undefined && !isOpen(sought)) {
    const after = movedCommand(command, "cancel", context);
    return after && withCommand(command, after);
  }
  const unsent = unsentSettlement(state, context);
  if (unsent !== undefined) return withCommand(command, unsent);
  if (isExpired(command, context.now)) {
    const after = movedCommand(command, "expire", context);
    return after && moneyRefused(state, after, { code: "expired", message: null }, context);
  }
  const search = searchedAgain(state, context);
  if (search !== undefined) return search;
  const lost = lostLease(command, context.now);
  const after = lost && movedCommand(command, lost, context);
  if (after === undefined) return undefined;
  return lost === "unknown" ? outcomeUnknown(state, after, context) : withCommand(command, after);
}

/** The end of a command of a settlement that no bridge will take, because its source ended when it was issued. */
function unsentSettlement({ command, about }: CommandState, context: Context): MoneyCommand | undefined {
  const gone = about.purpose === "settlement" && (about.source === undefined || isEnded(about.source));
  return gone
    ? movedCommand(command, "cancel", context, { error: { code: "source_ended", message: null } })
    : undefined;
}

/**
 * Decides `POST …/commands/{command_id}/requeue`: a person hands an unknown command out again, after the bridge has
 * looked for its operation in vain and long after its lease, with four eyes where the brokerage asks for them.
 */
export function requeueCommand(state: CommandState, context: Context): Decision<MoneyCommand> {
  const { command, about } = state;
  const { status, not_found_at, lease_until } = command;
  const after = movedCommand(command, "requeue", context, { not_found_at: null, error: null });
  if (after === undefined) return refuse("illegal_transition", `A command that is ${status} cannot be requeued.`);
  if (not_found_at === null) {
    return refuse("illegal_transition", "The bridge has not reported yet that the platform has no such operation.");
  }
  const spanMs = Date.parse(context.in(limits.commands.requeued_after_seconds)) - Date.parse(context.now);
  const earliest = Date.parse(lease_until ?? command.updated_at) + spanMs;
  if (Date.parse(context.now) < earliest) {
    return refuse("illegal_transition", "The lease of the command ended too recently.", {
      extra: { not_before: new Date(earliest).toISOString() },
    });
  }
  if (about.purpose !== "transaction") {
    const refusal = refuseCorrection(command as CorrectionCommand, isAwaited(state), about.tenant, context);
    return refusal ?? withCommand(command, { ...after, issued_by: context.actor } as CorrectionCommand);
  }
  const { transaction, accountContext } = about;
  const refusal = refuseActed(actedOn(transaction, command), accountContext.tenant, context);
  if (refusal !== undefined) return refusal;
  if (!isAwaited(state)) return refuse("illegal_transition", "The money of the transaction has moved.");
  const marked = settled(transaction, changedTransaction(transaction, { outcome: null }, context), [], []);
  return both(about, marked, [command, after]);
}
