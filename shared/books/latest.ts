import type { BookRun } from "../domain/books/run.ts";
import { limits } from "../limits.ts";
import { bookRuns } from "../table/entities.ts";
import { readPage } from "../table/partition.ts";
import { readItem } from "../table/table.ts";

/** The latest runs of a tenant, newest first. */
export async function latestRuns(tenant: string, most: number = limits.books.shown_runs): Promise<BookRun[]> {
  const { items } = await readPage(bookRuns.partition(tenant), { descending: true, page_size: most });
  return items.map((item) => ({ ...readItem<BookRun>(item), ...bookRuns.fromStored(item) }));
}
