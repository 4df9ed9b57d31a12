import { unchanged } from "../domain/kernel/decision.ts";
import { expireTransaction } from "../domain/money/move.ts";
import type { Transaction } from "../domain/records/transaction.ts";
import { simulateProvider } from "../domain/sandbox/triggers.ts";
import { limits } from "../limits.ts";
import { decideTransaction } from "../money/decide.ts";
import { delayMs, nowIso, nowMs } from "../runtime/clock.ts";
import { causeOf, log } from "../runtime/log.ts";
import { systemContext } from "../table/context.ts";
import { rescheduled, type SweepResult, sweepItems } from "../table/due.ts";
import { transactions } from "../table/entities.ts";
import { isStill } from "../table/expression.ts";
import { changeItem } from "../table/items.ts";
import { readAll } from "../table/store.ts";
import { commitDecision } from "../trading/commit.ts";

/** Whether the provider of the sandbox, or the end of its time, moves a transaction now. */
function isDue({ provider_at: at, expires_at: end }: Transaction): boolean {
  const now = nowIso();
  return at !== undefined && (at <= now || (end !== null && end <= now));
}

/**
 * Lets the provider of the sandbox move a transaction as far as it does now. Each move is decided from a new read, so
 * that a concurrent run, or one after another's move, changes nothing. A refused move is tried again later.
 */
async function simulate({ tenant_id, id }: Transaction, remainingMs: () => number): Promise<void> {
  const newContext = () => systemContext(tenant_id, "sandbox_provider");
  const outcome = await commitDecision({ tenant_id, newContext, remainingMs }, (load, context) =>
    decideTransaction(
      load,
      context,
      id,
      (found, accountContext, at) =>
        expireTransaction(found, accountContext, at) ?? simulateProvider(found, accountContext, at) ?? unchanged(found),
    ),
  );
  if (outcome.kind === "refused") await putOff(tenant_id, id);
}

async function putOff(tenant: string, id: string): Promise<void> {
  const [found] = await readAll(transactions, [transactions.key(tenant, id)]);
  if (found === undefined || !isDue(found)) return;
  const provider_at = new Date(nowMs() + delayMs(limits.sandbox.provider_retry_seconds)).toISOString();
  const when = isStill({ version: found.version, provider_at: found.provider_at });
  await changeItem(transactions.keyOf(found), rescheduled(transactions, found, { set: { provider_at }, when }));
}

/** Lets the provider act on every transaction that is due to it. Returns how many it saw, and how many it could not. */
export function simulateOverdue(hasTime: () => boolean, remainingMs: () => number): Promise<SweepResult> {
  return sweepItems("PROVIDER", hasTime, {
    entity: transactions,
    isDue,
    run: async (transaction) => {
      await simulate(transaction, remainingMs);
      return 1;
    },
    report: ({ id }, error) =>
      log.error("The payment provider could not settle a transaction.", { transaction_id: id, ...causeOf(error) }),
  });
}
