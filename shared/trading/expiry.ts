import { unchanged } from "../domain/decision.ts";
import { expireTransaction } from "../domain/move-transaction.ts";
import type { Transaction } from "../domain/transaction.ts";
import { log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { type SweepResult, sweepItems } from "../table/due.ts";
import { transactions } from "../table/entities.ts";
import { commitDecision } from "./commit.ts";
import { decideTransaction } from "./margin.ts";

/**
 * Fails the transactions that were not decided in time and releases what they held, and ends credit whose time has
 * come. Each is decided from a new read, so a run that comes twice, or meets a caller's own move, changes nothing.
 * Returns how many expired and how many could not.
 */
export function expireOverdue(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems("TXN", hasTime, {
    entity: transactions,
    isDue: () => true,
    run: async (transaction) => ((await expire(transaction, remainingMs)) ? 1 : 0),
    report: ({ id }, { name }) => log.error("A transaction could not expire.", { transaction_id: id, error: name }),
  });
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
