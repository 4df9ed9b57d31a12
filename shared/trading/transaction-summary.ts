import { type SummaryDays, summaryOf } from "../domain/internal-money/summary.ts";
import { daysWithin, refusedRange } from "../http/days.ts";
import { limits } from "../limits.ts";
import { timePart } from "../runtime/ids.ts";
import type { TransactionSummaryBody } from "../schema/internal-money/summary.ts";
import { transactions } from "../table/entities.ts";
import { keyIn, pagesOf } from "../table/partition.ts";
import { readAll } from "../table/store.ts";
import { indexes, keyAttributes } from "../table/table-shape.ts";

/**
 * The sums of the transactions that were created on these days, from the transactions themselves: a counter would be an
 * item that every transaction of a day writes.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order, for too many, and for too many transactions
 */
export async function summarize(
  tenant: string,
  days: SummaryDays,
  most: number = limits.summary.max_transactions,
): Promise<TransactionSummaryBody> {
  const [first, end] = daysWithin(days, limits.summary.max_days);
  const query = {
    index: indexes.list,
    from: timePart(first),
    to: timePart(end),
    attributes: [keyAttributes.partition, keyAttributes.sort],
  };
  const keys = [];
  for await (const { items } of pagesOf(transactions.all(tenant), query)) {
    keys.push(...items.map(keyIn));
    if (keys.length > most) {
      throw refusedRange("from", `names days with more than ${most} transactions together`);
    }
  }
  const found = await readAll(transactions, keys, false);
  return summaryOf(
    days,
    found.filter((one) => one !== undefined),
  );
}
