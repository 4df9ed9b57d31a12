import { unchanged } from "../domain/decision.ts";
import { expireTransaction } from "../domain/move-transaction.ts";
import { isComplete, type Transaction } from "../domain/transaction.ts";
import { log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { type SweepResult, sweepItems } from "../table/due.ts";
import { transactions } from "../table/entities.ts";
import { execute, ref } from "../table/store.ts";

const nothing = { status: 200, headers: {}, body: "" };

/**
 * Fails the transactions that were not decided in time and releases what they held. Each is decided from a new read,
 * so a run that comes twice, or meets a caller's own move, changes nothing. Returns how many expired and how many could
 * not.
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
  let done = false;
  const outcome = await execute<Transaction | undefined>({
    tenant_id,
    newContext: () => systemContext(tenant_id, "expiry"),
    decide: async (load, context) => {
      done = false;
      const { transaction } = await load({ transaction: ref.transaction(id) });
      if (transaction === undefined) return unchanged(undefined);
      const account = transaction.account_id;
      const accountContext = await load({
        tenant: ref.tenant(),
        account: ref.account(account),
        balance: ref.balance(account),
      });
      const decision = isComplete(accountContext) ? expireTransaction(transaction, accountContext, context) : undefined;
      done = decision?.ok ?? false;
      return decision ?? unchanged(transaction);
    },
    show: () => nothing,
    showRefusal: () => ({ reply: nothing, stored: false }),
    remainingMs,
  });
  return done && outcome.kind === "fresh";
}
