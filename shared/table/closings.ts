import type { Closing } from "../domain/books/closing.ts";
import { closings } from "./entities.ts";
import { readPage, readPartition } from "./partition.ts";
import { readItem } from "./table.ts";

/** The last day of a tenant that is closed; undefined before the first one is. */
export async function lastClosing(tenant: string): Promise<Closing | undefined> {
  const { items } = await readPage(closings.partition(tenant), { descending: true, page_size: 1 });
  return items.map((item) => readItem<Closing>(item, closings))[0];
}

/** The closed days of a tenant from one label to another, both included, in their order. */
export async function closingsWithin(tenant: string, from: string, to: string): Promise<readonly Closing[]> {
  const found = await readPartition(closings.partition(tenant), { from, to });
  return found.map((item) => readItem<Closing>(item, closings));
}
