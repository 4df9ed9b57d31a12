import type { Decision } from "../domain/decision.ts";
import type { Transaction } from "../domain/transaction.ts";
import { countMetric, log } from "../runtime/log.ts";
import { untilAdmitted } from "../runtime/verdict.ts";

/**
 * Logs and counts a transaction whose money a platform did not bring back, which only a person can settle: its reverse
 * command has failed, or its source has ended. This happens at the decision of a request that is admitted, so one that
 * is made again counts again.
 */
export async function countAttention<R>(decision: Decision<R>): Promise<Decision<R>> {
  const left = decision.ok ? decision.changes.flatMap(leftTo) : [];
  if (left.length > 0) await untilAdmitted();
  for (const { id, status } of left) {
    log.warn("Money was not brought back on a platform.", { transaction_id: id, status });
    countMetric("MoneyNeedsAttention");
  }
  return decision;
}

/** The transaction that a change leaves to a person. */
function leftTo(change: Extract<Decision<unknown>, { ok: true }>["changes"][number]): readonly Transaction[] {
  if (change.op !== "update" || change.entity !== "transaction") return [];
  const [before, after] = [change.before as Transaction, change.after as unknown as Transaction];
  return after.outcome === "needs_attention" && before.outcome !== "needs_attention" ? [after] : [];
}
