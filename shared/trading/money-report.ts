import type { CurrencyCode } from "../currencies.ts";
import { moneyReport, type Settlement, settlingControls } from "../domain/internal-money/money-report.ts";
import type { SummaryDays } from "../domain/internal-money/summary.ts";
import { daysWithin, refusedRange } from "../http/days.ts";
import { limits } from "../limits.ts";
import { timePart } from "../runtime/ids.ts";
import type { MoneyReportBody } from "../schema/internal-money/report.ts";
import { contras } from "../table/entities.ts";
import { pagesOf } from "../table/partition.ts";
import { readItem } from "../table/table.ts";

/**
 * Settled money by day, from the entries of the control accounts, strongly consistent. A month of a control account is
 * 32 partitions, so two months are 128 queries (three, around a whole February, 192): with no entry as many units, with
 * the most about 1,100.
 * @throws HttpProblem `invalid_parameter` for days in the wrong order, for too many, and for too many entries
 */
export async function settledMoney(
  tenant: string,
  days: SummaryDays,
  currency: string,
  most: number = limits.report.max_entries,
): Promise<MoneyReportBody> {
  const [first, end] = daysWithin(days, limits.report.max_days);
  const entries: Settlement[] = [];
  // An identifier has the time of its entry to the millisecond; the report looks at the day of the entry itself.
  const bounds = { from: timePart(first), to: timePart(end) };
  const months = monthsOf(first, end);
  const readInto = async (partition: string) => {
    for await (const { items } of pagesOf(partition, bounds)) {
      entries.push(...items.map((item) => readItem<Settlement>(item)));
      if (entries.length > most) throw refusedRange("from", `names days with more than ${most} entries together`);
    }
  };
  for (const control of settlingControls) {
    for (const month of months) await Promise.all(contras.partitions(tenant, control, currency, month).map(readInto));
  }
  return moneyReport(days, currency as CurrencyCode, entries);
}

/** Months of the days from one midnight to another, UTC: 31 days around a February are in three. */
function monthsOf(firstMs: number, endMs: number): string[] {
  const months: string[] = [];
  const first = new Date(firstMs);
  for (let month = first.getUTCMonth(); ; month += 1) {
    const began = Date.UTC(first.getUTCFullYear(), month, 1);
    if (began >= endMs) return months;
    months.push(new Date(began).toISOString().slice(0, 7));
  }
}
