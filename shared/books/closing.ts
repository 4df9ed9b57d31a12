import { type ClosedDay, type Closing, currenciesInTransit } from "../domain/books/closing.ts";
import { type BookRun, type BookStep, closingOf, isSettled } from "../domain/books/run.ts";
import { sameValue } from "../domain/kernel/equality.ts";
import type { Reset } from "../domain/sandbox/reset.ts";
import { closedRows, openRows } from "../domain/sums/money-report.ts";
import { log } from "../runtime/log.ts";
import { sumsOfDays } from "../sums/read-sums.ts";
import { daysSince } from "../table/book-days.ts";
import { lastClosing } from "../table/closings.ts";
import { timeOfId } from "../table/entities/keys.ts";
import { bookDays } from "../table/entities.ts";
import { putOnce } from "../table/items.ts";

/**
 * The next day of a brokerage that is to be closed, the oldest first, with the currencies in transit before it;
 * undefined while that day is not settled. It is stored, so its ends stay whatever happens to the rule.
 */
export async function dayToClose(tenant: string, now: string) {
  const last = await lastClosing(tenant);
  const start = last?.ends_at ?? timeOfId(tenant);
  const { days } = await daysSince(tenant, start);
  const next = days.at(start);
  if (!isSettled(next, now)) return undefined;
  const { day, starts_at, ends_at } = (await putOnce(bookDays, next)) ?? next;
  return { day: { day, starts_at, ends_at } satisfies ClosedDay, currencies: currenciesInTransit(last) };
}

/** A step with the closing of its day where it is the last one of its ledgers and control accounts. */
export async function withClosing(
  run: BookRun,
  step: BookStep,
  reset: Reset | undefined,
  now: string,
): Promise<{ readonly step: BookStep; readonly closing?: Closing }> {
  if (run.closes === undefined || run.phase !== "postings" || step.position !== null) return { step };
  const last = await lastClosing(run.tenant_id);
  // A reset has removed accounts of then, and what was in transit with them.
  const isOther = last === undefined || (reset !== undefined && reset.created_at >= last.closed_at);
  return closingOf(run, run.closes, step, isOther ? undefined : last, now);
}

/**
 * Logs where the settled money of a day by its events is not that by its control accounts. At the end of a day the
 * clocks of two machines may differ, so that is no alarm.
 */
export async function compareSums(closing: Closing): Promise<void> {
  const { tenant_id, day } = closing;
  const { days } = await sumsOfDays(tenant_id, "settled", { from: day, to: day });
  for (const type of ["live", "demo"] as const) {
    const summed = openRows(days, type).map((row) => ({ ...row, final: true }));
    const booked = closedRows(closing, type);
    const inOrder = (rows: typeof booked) => rows.toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
    if (sameValue(inOrder(summed), inOrder(booked))) continue;
    log.warn("The settled money of a day by its events is not that by its control accounts.", { tenant_id, day, type });
  }
}
