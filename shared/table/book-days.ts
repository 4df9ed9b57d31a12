import { type BookDay, BookDays } from "../domain/books/days.ts";
import type { Tenant } from "../domain/records/tenant.ts";
import { limits } from "../limits.ts";
import { timeOfId } from "./entities/keys.ts";
import { bookDays, tenants } from "./entities.ts";
import { readPage } from "./partition.ts";
import { findAll } from "./store.ts";
import { readItem } from "./table.ts";

/** The days of a brokerage, and the last one of them that is stored. */
export interface DaysSince {
  readonly days: BookDays;
  readonly stored: BookDay | undefined;
}

/**
 * The days of a brokerage from the one that a moment is in; strongly consistent. The rule is read first: who changes it
 * stores the days that it has made.
 */
export async function daysSince(tenant: string, moment: string, known?: Tenant): Promise<DaysSince> {
  const [found] = known === undefined ? await findAll<Tenant>(tenants, [tenants.key(tenant)]) : [known];
  const stored: BookDay[] = [];
  let page: Awaited<ReturnType<typeof readPage>> | undefined;
  do {
    const query = { descending: true, page_size: limits.books.days_per_read };
    page = await readPage(bookDays.partition(tenant), query, page?.next);
    stored.unshift(...page.items.map((item) => readItem<BookDay>(item)).toReversed());
  } while (page.next !== undefined && (stored[0]?.starts_at ?? "") > moment);
  const days = new BookDays(stored, found?.day_end, { tenant_id: tenant, at: timeOfId(tenant) });
  return { days, stored: stored.at(-1) };
}

/** The days of a brokerage up to the one of now that are not stored, under the rule that it has. */
export async function unstoredDays(tenant: Tenant, now: string): Promise<readonly BookDay[]> {
  const { days, stored } = await daysSince(tenant.id, now, tenant);
  return days.until(now).filter(({ day }) => stored === undefined || day > stored.day);
}
