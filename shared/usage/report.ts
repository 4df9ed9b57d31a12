import { forecastOf } from "../domain/usage/forecast.ts";
import type { UsageDay } from "../domain/usage/usage-day.ts";
import { pricedRegion, type UsageScope, usageReport } from "../domain/usage/usage-report.ts";
import { daysWithin, refusedRange } from "../http/days.ts";
import { limits } from "../limits.ts";
import { nowIso } from "../runtime/clock.ts";
import { env } from "../runtime/env.ts";
import type { UsageBody } from "../schema/reports/usage.ts";
import { usageDays } from "../table/entities.ts";
import { pagesOf } from "../table/partition.ts";
import { readItem } from "../table/table.ts";

/**
 * Usage of a brokerage on these days, as counted so far; strongly consistent.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order, for too many, and for too many rows
 */
export async function reportUsage(
  tenant: string,
  scope: UsageScope,
  most: number = limits.usage.max_rows,
): Promise<UsageBody> {
  daysWithin(scope, limits.usage.max_days);
  const { from, to } = scope;
  const found: UsageDay[] = [];
  for await (const { items } of pagesOf(usageDays.partition(tenant), usageDays.bounds(from, to))) {
    found.push(...items.map((item) => readItem<UsageDay>(item)));
    if (found.length > most) throw tooMany(most);
  }
  const region = pricedRegion(env.region);
  const report = usageReport(scope, found, region);
  if (report.data.length > most) throw tooMany(most);
  return { ...report, forecast: forecastOf(scope, found, region, nowIso()) };
}

function tooMany(most: number) {
  return refusedRange("from", `names days with more than ${most} rows together`);
}
