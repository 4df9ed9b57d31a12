import { dayOf, daysAfter } from "../../calendar.ts";
import { limits } from "../../limits.ts";
import type { UsageBody } from "../../schema/reports/usage.ts";
import type { Region } from "./prices.ts";
import type { UsageDay } from "./usage-day.ts";
import { type UsageScope, usageReport } from "./usage-report.ts";

/**
 * Cost of the current month if its other days cost as much on average as those that are counted completely: null
 * where the report does not begin with the month, or no day of it is complete.
 */
export function forecastOf(
  scope: UsageScope,
  days: readonly UsageDay[],
  region: Region,
  now: string,
): UsageBody["forecast"] {
  const { hour_ms, settled_after_ms } = limits.usage;
  // An hour is complete two hours after its end: it is read for the last time an hour after, in the run of that hour.
  const settled = dayOf(new Date(Date.parse(now) - hour_ms - settled_after_ms).toISOString());
  const complete = daysAfter(settled, -1);
  const last = scope.to < complete ? scope.to : complete;
  const month = dayOf(now).slice(0, 7);
  if (scope.from !== `${month}-01` || last < scope.from) return null;
  const counted_days = Number(last.slice(8));
  const next = daysAfter(scope.from, 31).slice(0, 7);
  const days_of_month = Number(daysAfter(`${next}-01`, -1).slice(8));
  const counted = days.filter(({ day }) => day <= last);
  const dollars = Number(usageReport(scope, counted, region).total.cost_usd);
  return { month, counted_days, cost_usd: ((dollars / counted_days) * days_of_month).toFixed(9) };
}
