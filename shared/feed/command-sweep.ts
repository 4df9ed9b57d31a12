import { isCorrection, moneyOf } from "../domain/feed/command/command.ts";
import { type CommandState, overdue } from "../domain/feed/command/settle.ts";
import { overdueTerms } from "../domain/feed/command/terms.ts";
import { unchanged } from "../domain/kernel/decision.ts";
import { isComplete } from "../domain/money/transaction.ts";
import type { MoneyCommand, PlatformCommand } from "../domain/records/command.ts";
import { overdueLiquidation } from "../domain/trading/liquidation/settle.ts";
import { countAttention } from "../money/decide.ts";
import { causeOf, countMetric, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { type SweepResult, sweepItems } from "../table/due.ts";
import { commands } from "../table/entities.ts";
import { type Load, ref } from "../table/store.ts";
import { commitDecision } from "../trading/commit.ts";
import { tradingRef } from "../trading/items.ts";
import { correctionState } from "./commands.ts";

/**
 * Ends the leases that ran out and the waits that are over, and reports the commands that wait for too long or whose
 * outcome is not known. Each is decided from a new read, so a run that comes twice, or meets an acknowledgement,
 * changes nothing. Returns how many were changed and how many could not be.
 */
export function settleOverdueCommands(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems("COMMAND", hasTime, {
    entity: commands,
    isDue: () => true,
    run: async (command) => {
      const isSettled = await endOverdue(command, remainingMs);
      if (!(isSettled && command.type === "find_operation")) report(command);
      return isSettled ? 1 : 0;
    },
    report: ({ id }, error) => log.error("A command could not be settled.", { command_id: id, ...causeOf(error) }),
  });
}

function report({ status }: PlatformCommand): void {
  if (status === "unknown") countMetric("CommandUnknown");
  if (status === "waiting") countMetric("CommandLate");
}

async function endOverdue({ id, tenant_id }: PlatformCommand, remainingMs: () => number): Promise<boolean> {
  let changes = false;
  const attempted = { tenant_id, newContext: () => systemContext(tenant_id, "expiry"), remainingMs };
  const outcome = await commitDecision<PlatformCommand | undefined>(attempted, async (load, context) => {
    changes = false;
    const { command } = await load({ command: tradingRef.command(id) });
    if (command === undefined) return unchanged(undefined);
    if (command.type === "liquidate") {
      const ended = overdueLiquidation(command, context);
      changes = ended?.ok ?? false;
      return ended ?? unchanged(command);
    }
    if (command.purpose === "terms") {
      const lost = overdueTerms(command, context);
      changes = lost !== undefined;
      return lost ?? unchanged(command);
    }
    const state = await stateOf(load, command);
    const decision = state && overdue(state, context);
    if (decision !== undefined) await countAttention(decision);
    changes = decision?.ok ?? false;
    return decision ?? unchanged(command);
  });
  return changes && outcome.kind === "done";
}

/** A command with what it is for; undefined where that is gone. */
async function stateOf(load: Load, command: MoneyCommand): Promise<CommandState | undefined> {
  if (isCorrection(command)) return correctionState(load, command);
  const refs = {
    tenant: ref.tenant(),
    ...(command.about_id === undefined ? {} : { sought: tradingRef.command(command.about_id) }),
  };
  const { transaction, sought, ...accountContext } = await load({
    ...refs,
    transaction: ref.transaction(command.transaction_id),
    account: ref.account(command.account_id),
    balance: ref.balance(command.account_id),
  });
  if (transaction === undefined || !isComplete(accountContext)) return undefined;
  const about = { purpose: "transaction", transaction, leg: command.leg, accountContext } as const;
  return { command, about, sought: moneyOf(sought) };
}
