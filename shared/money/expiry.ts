import { unchanged } from "../domain/kernel/decision.ts";
import { expireTransaction } from "../domain/money/move.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { limits } from "../limits.ts";
import { delayMs, nowIso, nowMs, pause } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { type SweepResult, sweepItems, type Task } from "../table/due.ts";
import { endOf, transactions } from "../table/entities.ts";
import { commitDecision } from "../trading/commit.ts";
import { decideTransaction } from "./decide.ts";

/**
 * Fails the transactions that were not decided in time and releases what they held, and ends credit whose time has
 * come. Those that end before the next sweep are waited for: what a withdrawal holds, and the names of a transaction,
 * are free at that moment. Each is decided from a new read, so a run that comes twice, or meets a caller's own move,
 * changes nothing. Returns how many expired and how many could not.
 */
export function expireOverdue(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  const { sweep_every_seconds, sweep_reserve_ms, expired_in_parallel } = limits.events;
  const aheadMs = Math.max(0, Math.min(delayMs(sweep_every_seconds), remainingMs() - sweep_reserve_ms));
  const task: Task<Transaction> = {
    parallel: expired_in_parallel,
    run: async (transaction) => {
      await pause(Math.max(0, Date.parse(endOf(transaction) ?? nowIso()) - nowMs() + 1));
      return hasTime() && (await expire(transaction, remainingMs)) ? 1 : 0;
    },
    report: ({ id }, error) => log.error("A transaction could not expire.", { transaction_id: id, ...causeOf(error) }),
  };
  return sweepItems("TXN", hasTime, { entity: transactions, isDue: () => true, ...task }, { aheadMs });
}

async function expire({ id, tenant_id }: Transaction, remainingMs: () => number): Promise<boolean> {
  let ends = false;
  const newContext = () => systemContext(tenant_id, "expiry");
  const outcome = await commitDecision({ tenant_id, newContext, remainingMs }, (load, context) => {
    ends = false;
    return decideTransaction(load, context, id, (transaction, accountContext, at) => {
      const decision = expireTransaction(transaction, accountContext, at);
      ends = decision?.ok ?? false;
      return decision ?? unchanged(transaction);
    });
  });
  return ends && outcome.kind === "done";
}
