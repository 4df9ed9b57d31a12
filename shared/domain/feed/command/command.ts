import { limits } from "../../../limits.ts";
import type { AckCommand } from "../../../schema/feed/command.ts";
import { type Context, later, refuse } from "../../kernel/decision.ts";
import { isTransfer } from "../../money/transfers/state.ts";
import type { Account } from "../../records/account.ts";
import type { Change, Decision } from "../../records/change.ts";
import type {
  AboutMoney,
  Correcting,
  CorrectionCommand,
  DriftCommand,
  LiquidateCommand,
  MoneyCommand,
  PlatformCommand,
  SettlementCommand,
  StoredCommand,
  TransactionCommand,
} from "../../records/command.ts";
import type { LegName } from "../../records/leg.ts";
import type { Transaction } from "../../records/transaction.ts";

/** A command, where it is about money. */
export function moneyOf(command: PlatformCommand | undefined): MoneyCommand | undefined {
  return command?.purpose === "transaction" || isCorrection(command) ? command : undefined;
}

/** Whether a command brings a platform to what is booked here, so that nothing is booked for it. */
export function isCorrection(command: PlatformCommand | undefined): command is CorrectionCommand {
  return command?.purpose === "drift" || command?.purpose === "settlement";
}

/** State of a command. */
export type CommandState = PlatformCommand["status"];

/** Moves of a command from one state to another. */
export type CommandMove = "take" | "done" | "failed" | "unknown" | "not_sent" | "cancel" | "expire" | "requeue";

/**
 * The moves of a command. It is handed out again only where nothing was sent, or where a person says so: what runs out
 * of time becomes unknown. `done` counts in every state that is not final, because it has happened.
 */
export const commandMoves: Readonly<Record<CommandState, Partial<Record<CommandMove, CommandState>>>> = {
  waiting: { take: "taken", done: "done", cancel: "cancelled", expire: "expired" },
  taken: { done: "done", failed: "failed", unknown: "unknown", not_sent: "waiting" },
  unknown: { done: "done", failed: "failed", requeue: "waiting" },
  done: {},
  failed: {},
  cancelled: {},
  expired: {},
};

/** Whether a command has not ended. */
export function isOpen({ status }: Pick<PlatformCommand, "status">): boolean {
  return Object.keys(commandMoves[status]).length > 0;
}

/** Members that a move sets in addition to the state. */
type Told = Partial<Pick<PlatformCommand, "operation_id" | "error" | "not_found_at">>;

/** The command after a move; undefined where its state does not know the move. */
export function movedCommand<C extends PlatformCommand>(
  before: C,
  move: CommandMove,
  { now }: Pick<Context, "now">,
  told: Told = {},
): C | undefined {
  const status = commandMoves[before.status][move];
  if (status === undefined) return undefined;
  const at = later(before.updated_at, now);
  const lease_until = status === "unknown" ? before.lease_until : null;
  const next = { ...before, ...told, status, lease_until, updated_at: at, version: before.version + 1 };
  return isOpen({ status }) ? next : { ...next, done_at: at };
}

/** How a command is taken. */
export interface Lease {
  readonly seconds: number;
  /** The moment so many seconds from now. */
  readonly in: Context["in"];
}

/**
 * The command in the hands of a bridge, which starts nothing after `start_before`: an answer that is given again after
 * the command was handed out once more starts nothing. Undefined when it does not wait any more.
 */
export function takenCommand<C extends PlatformCommand>(
  before: C,
  lease: Lease,
  context: Pick<Context, "now">,
): C | undefined {
  if (isExpired(before, context.now)) return undefined;
  const after = movedCommand(before, "take", context, { not_found_at: null });
  if (after === undefined) return undefined;
  const [half, whole] = [lease.in(lease.seconds / 2), lease.in(lease.seconds)];
  const start_before = before.not_after !== null && before.not_after < half ? before.not_after : half;
  return { ...after, attempt: before.attempt + 1, taken_at: after.updated_at, start_before, lease_until: whole };
}

/** Whether a command waits that is not to be begun any more. */
export function isExpired({ status, not_after }: PlatformCommand, now: string): boolean {
  return status === "waiting" && not_after !== null && not_after <= now;
}

/**
 * The move that an acknowledgement is. A failure reported for an earlier attempt counts for nothing, and neither does
 * anything that comes after the end. A read is begun again where its outcome is unknown, because it changes nothing.
 */
export function moveOfAck(
  command: Pick<PlatformCommand, "status" | "attempt" | "type">,
  { attempt, status }: Pick<AckCommand, "attempt" | "status">,
): CommandMove | undefined {
  if (status !== "done" && attempt !== command.attempt) return undefined;
  const move = status === "unknown" ? lossOf(command) : status;
  return commandMoves[command.status][move] === undefined ? undefined : move;
}

/** The move of a lease that has run out; undefined when it has not. */
export function lostLease(command: PlatformCommand, now: string): CommandMove | undefined {
  const { status, lease_until: end } = command;
  return status === "taken" && end !== null && end <= now ? lossOf(command) : undefined;
}

function lossOf({ type }: Pick<PlatformCommand, "type">): CommandMove {
  return type === "find_operation" ? "not_sent" : "unknown";
}

/** When the sweep is to look at a command, RFC 3339; undefined once it has ended. */
export function commandWakesAt(command: PlatformCommand): string | undefined {
  const { status, lease_until, not_after, updated_at } = command;
  if (status === "unknown") return updated_at;
  if (status === "taken") return lease_until ?? updated_at;
  if (status !== "waiting") return undefined;
  const late = new Date(Date.parse(updated_at) + limits.commands.late_after_seconds * 1000).toISOString();
  return not_after !== null && not_after < late ? not_after : late;
}

/** The claim of the lane that a taken command occupies, by its account. */
function laneOf({ account_id, lane }: PlatformCommand): string {
  return JSON.stringify([account_id, lane]);
}

/** Claim of the lane of a command; undefined for one without a lane. */
export function laneMarker(command: PlatformCommand): string | undefined {
  return command.lane === null ? undefined : laneOf(command);
}

/** Writes of a change of a command: the command, and its lane where it takes or leaves it. */
export function commandChanges(before: PlatformCommand, after: PlatformCommand): Change[] {
  const update: Change = { op: "update", entity: "command", before, after };
  if (before.lane === null || (before.status === "taken") === (after.status === "taken")) return [update];
  const [kind, value, owner] = ["command_lane", laneOf(before), before.id] as const;
  if (before.status === "taken") return [update, { op: "release", kind, value, owner }];
  const refusal = { code: "command_outstanding", detail: "Another command of the account is taken." } as const;
  return [update, { op: "claim", kind, value, owner, refusal, drawn: true }];
}

/** Decides which of the waiting commands a bridge takes: the first of each lane that no other command occupies. */
export function takeCommands(
  waiting: readonly PlatformCommand[],
  occupied: ReadonlySet<string>,
  { max, lease_seconds }: { readonly max: number; readonly lease_seconds: number },
  context: Context,
): Decision<readonly PlatformCommand[]> {
  const lease: Lease = { seconds: lease_seconds, in: context.in };
  const busy = new Set(occupied);
  const taken: { readonly before: PlatformCommand; readonly after: PlatformCommand }[] = [];
  for (const before of waiting) {
    if (taken.length === max) break;
    const lane = laneMarker(before);
    if (lane !== undefined && busy.has(lane)) continue;
    const after = takenCommand(before, lease, context);
    if (after === undefined) continue;
    if (lane !== undefined) busy.add(lane);
    taken.push({ before, after });
  }
  const changes = taken.flatMap(({ before, after }) => commandChanges(before, after));
  return { ok: true, result: taken.map(({ after }) => after), changes, events: [] };
}

/** Input to a new command about the money of a transaction. */
interface Draft {
  readonly type: MoneyCommand["type"];
  readonly transaction: Transaction;
  readonly leg: LegName;
  readonly minor: bigint;
  readonly source_id: string;
  readonly platform_login: string;
  readonly about_id?: string;
}

/** A command about the money of a transaction that waits to be taken. */
export function draftCommand(draft: Draft, context: Context): TransactionCommand {
  const { type, transaction, leg, minor, source_id, platform_login, about_id } = draft;
  const { tenant_id, client_id, account_id, currency } = transaction;
  return {
    ...aboutMoney({ tenant_id, client_id, account_id, source_id, platform_login }, type, about_id, context),
    ...{ amount_minor: minor, currency },
    ...(isTransfer(transaction) ? { transfer: true } : {}),
    purpose: "transaction",
    transaction_id: transaction.id,
    leg,
    drift_id: null,
  };
}

/** Input to a command that brings a platform to the books of this service. */
export type CorrectionDraft = Addressed &
  Pick<AboutMoney, "type" | "amount_minor" | "currency" | "about_id"> &
  Pick<Correcting, "issued_by"> &
  (
    | Pick<DriftCommand, "purpose" | "drift_id" | "transaction_id">
    | Pick<SettlementCommand, "purpose" | "drift_id" | "transaction_id">
  );

/** A command for which nothing is booked, or a search for the operation of one, that waits to be taken. */
export function draftCorrection(draft: CorrectionDraft, context: Context): CorrectionCommand {
  const { type, tenant_id, client_id, account_id, source_id, platform_login, about_id, ...about } = draft;
  return {
    ...aboutMoney({ tenant_id, client_id, account_id, source_id, platform_login }, type, about_id, context),
    ...about,
    leg: null,
  };
}

type Addressed = Pick<StoredCommand, "tenant_id" | "client_id" | "account_id" | "source_id" | "platform_login">;

function aboutMoney(to: Addressed, type: MoneyCommand["type"], about_id: string | undefined, context: Context) {
  return {
    id: context.newId("cmd"),
    ...to,
    lane: type === "find_operation" ? null : "money",
    type,
    ...(about_id === undefined ? {} : { about_id }),
    not_after: null,
    ...waitingFrom(context.now),
  } as const;
}

/** A command to close a position that waits for a minute to be taken. */
export function draftLiquidation(
  { tenant_id, client_id, id: account_id }: Pick<Account, "tenant_id" | "client_id" | "id">,
  link: Pick<PlatformCommand, "source_id" | "platform_login">,
  { trade_id, payload }: Pick<LiquidateCommand, "trade_id" | "payload">,
  context: Context,
): LiquidateCommand {
  return {
    id: context.newId("cmd"),
    ...{ tenant_id, client_id, account_id, ...link },
    lane: "risk",
    type: "liquidate",
    purpose: "liquidation",
    ...{ trade_id, payload },
    ...{ transaction_id: null, leg: null, drift_id: null },
    not_after: context.in(limits.commands.liquidation_taken_within_seconds),
    ...waitingFrom(context.now),
  };
}

/** Members of a new command that waits to be taken. */
export function waitingFrom(now: string) {
  return {
    status: "waiting",
    attempt: 0,
    issued_at: now,
    taken_at: null,
    start_before: null,
    lease_until: null,
    done_at: null,
    operation_id: null,
    not_found_at: null,
    error: null,
    created_at: now,
    updated_at: now,
    version: 1,
  } as const;
}

/** The refusal of what must wait for the end of a command. */
export function refuseOutstanding({ id, status }: PlatformCommand, detail: string) {
  return refuse("command_outstanding", detail, { extra: { command_id: id, command_status: status } });
}
