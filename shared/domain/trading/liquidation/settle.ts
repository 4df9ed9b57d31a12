import { limits } from "../../../limits.ts";
import type { AckCommand } from "../../../schema/feed/command.ts";
import { announcing } from "../../feed/command/announce.ts";
import { commandChanges, isExpired, lostLease, movedCommand, moveOfAck } from "../../feed/command/command.ts";
import { type Context, later, refuseField, unchanged } from "../../kernel/decision.ts";
import type { Decision } from "../../records/change.ts";
import type { LiquidateCommand } from "../../records/command.ts";
import type { StoredRisk } from "../../records/risk.ts";
import type { TradingChange, TradingDecision } from "../../records/trading-change.ts";

/**
 * Decides an acknowledgement of a command to close a position. It books nothing, since the deals of the platform do,
 * and leaves the account to the evaluator, which decides at once what is still to be closed.
 */
export function acknowledgeLiquidation(
  command: LiquidateCommand,
  risk: StoredRisk | undefined,
  ack: AckCommand,
  context: Context,
): TradingDecision<LiquidateCommand> {
  if (ack.attempt > command.attempt) {
    return refuseField("validation_failed", "attempt", "was never taken", "out_of_range");
  }
  const move = moveOfAck(command, ack);
  const error = ack.error ? { code: ack.error.code, message: ack.error.message ?? null } : null;
  const operation_id = ack.operation_id ?? null;
  const after = move && movedCommand(command, move, context, { error, operation_id });
  if (after === undefined) return unchanged(command);
  const changes = [...commandChanges(command, after), ...dueAtOnce(risk, command, context)];
  return announcing({ ok: true, result: after, changes, events: [] });
}

/** The account whose liquidation the command is part of, due at once. */
function dueAtOnce(risk: StoredRisk | undefined, { id }: LiquidateCommand, { now }: Context): readonly TradingChange[] {
  if (risk?.requested?.command_ids.includes(id) !== true) return [];
  const at = later(risk.updated_at, now);
  const after: StoredRisk = { ...risk, left_by: "commit", wake_at: at, updated_at: at, version: risk.version + 1 };
  return [{ op: "update", entity: "risk", before: risk, after }];
}

/**
 * Decides what time makes of a command to close a position: a wait that is over, a lease that ran out, and an outcome
 * that stays unknown. Such a command may fail by time alone, which money never does: another one names the lots that
 * the position must have, so the platform closes nothing twice. Undefined when it is none of them.
 */
export function overdueLiquidation(
  command: LiquidateCommand,
  context: Context,
): Extract<Decision<LiquidateCommand>, { ok: true }> | undefined {
  const ended = endedByTime(command, context);
  return ended && announcing({ ok: true as const, result: ended, changes: commandChanges(command, ended), events: [] });
}

function endedByTime(command: LiquidateCommand, context: Context): LiquidateCommand | undefined {
  if (isExpired(command, context.now)) return movedCommand(command, "expire", context);
  if (command.status === "unknown" && isPast(command.updated_at, context)) {
    const error = { code: "outcome_unknown", message: null };
    return movedCommand(command, "failed", context, { error });
  }
  const lost = lostLease(command, context.now);
  return lost && movedCommand(command, lost, context);
}

/** Whether what a command has come to is not believed any more while its position stays as it was. */
export function isPast(since: string, context: Pick<Context, "now" | "in">): boolean {
  return context.in(-limits.commands.liquidation_believed_seconds) >= since;
}
