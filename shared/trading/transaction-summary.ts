import { type SummaryDays, summaryOf } from "../domain/internal-money/summary.ts";
import { HttpProblem } from "../http/problem.ts";
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

/**
 * The first moment of some calendar days in UTC and the one after them, epoch milliseconds.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order and for more than `maxDays`
 */
export function daysWithin({ from, to }: SummaryDays, maxDays: number): readonly [first: number, end: number] {
  const [first, end] = [Date.parse(from), Date.parse(to) + 24 * 3_600_000];
  if (first >= end) throw refusedRange("to", "must not be before from");
  if (end - first > maxDays * 24 * 3_600_000) throw refusedRange("to", `must be within ${maxDays} days of from`);
  return [first, end];
}

/** A refusal of days as a query names them. */
export function refusedRange(parameter: string, detail: string): HttpProblem {
  return new HttpProblem("invalid_parameter", "A query parameter is not valid.", {
    errors: [{ parameter, code: "out_of_range", detail }],
  });
}
