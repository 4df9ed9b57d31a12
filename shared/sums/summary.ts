import { type SummaryDays, summaryOf } from "../domain/sums/summary.ts";
import { daysWithin, refusedRange } from "../http/days.ts";
import { limits } from "../limits.ts";
import type { TransactionSummaryBody } from "../schema/internal-money/summary.ts";
import { sumsOfDays } from "./read-sums.ts";

/**
 * The sums of the transactions that were created on these days, whatever their number.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order, for too many, and for too many rows
 */
export async function summarize(
  tenant: string,
  days: SummaryDays,
  most: number = limits.sums.max_rows,
): Promise<TransactionSummaryBody> {
  daysWithin(days, limits.sums.max_days);
  const { days: found, ...asOf } = await sumsOfDays(tenant, "created", days);
  const summary = summaryOf(days, found, asOf);
  if (summary.data.length > most) throw refusedRange("from", `names days with more than ${most} rows together`);
  return summary;
}
