import { type MoneyScope, moneyReport } from "../domain/sums/money-report.ts";
import { daysWithin } from "../http/days.ts";
import { limits } from "../limits.ts";
import type { MoneyReportBody } from "../schema/internal-money/report.ts";
import { closingsWithin } from "../table/closings.ts";
import { sumsOfDays } from "./read-sums.ts";

/**
 * The money that was settled on these days, whatever the number of transactions.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order and for too many
 */
export async function settledMoney(tenant: string, scope: MoneyScope): Promise<MoneyReportBody> {
  daysWithin(scope, limits.sums.max_days);
  const { days, ...asOf } = await sumsOfDays(tenant, "settled", scope);
  // Read last: a day that is closed meanwhile is in both, and its closing counts.
  const closed = await closingsWithin(tenant, scope.from, scope.to);
  return moneyReport(scope, days, closed, asOf);
}
