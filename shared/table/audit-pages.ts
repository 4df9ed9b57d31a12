import { limits } from "../limits.ts";
import { pause } from "../runtime/clock.ts";
import { log } from "../runtime/log.ts";
import { readable, type ShownAudit, shownIn } from "./audit-entry.ts";
import { type AuditPage, auditPages, auditPointers, placeOfAudit } from "./entities.ts";
import { cutPage, type Entry, type Page, type PageRequest, pageOfEntries, pageWith } from "./list.ts";
import { pagesOf, readPage, type StoredAttributes } from "./partition.ts";
import { findAll } from "./store.ts";
import { readItem } from "./table.ts";
import { backoffMs } from "./transact.ts";

/** Selects the entries of a list. */
type Wanted = (entry: ShownAudit) => boolean;

/** A page of a tenant's entries by number, strongly consistent. With a filter it may be short while there is a next. */
export async function pageOfAudit(tenant: string, request: PageRequest, wanted?: Wanted): Promise<Page<ShownAudit>> {
  const { cursor, limit } = request;
  const down = request.descending === (cursor?.direction !== "prev");
  const isOnWay = ({ sort }: Entry) =>
    cursor === undefined ||
    (down ? sort < cursor.position : sort > cursor.position) ||
    (cursor.inclusive && sort === cursor.position);
  const bounds = cursor && (down ? { to: cursor.position } : { from: pageBefore(cursor.position) });
  const size = wanted === undefined ? limit + 2 : limits.page.entries_per_read;
  const shown: Entry[] = [];
  let frontier: string | undefined;
  let next: Record<string, unknown> | undefined;
  for (let round = 0; round < limits.page.max_reads && shown.length <= limit; round += 1) {
    const page = await readPage(auditPages.partition(tenant), { ...bounds, descending: down, page_size: size }, next);
    const entries = page.items.map(storedPage).flatMap(placedIn);
    const looked = (down ? entries.toSorted((a, b) => (a.sort < b.sort ? 1 : -1)) : entries).filter(isOnWay);
    shown.push(...looked.filter(({ item }) => wanted?.(item as unknown as ShownAudit) ?? true));
    next = page.next;
    frontier = next === undefined ? undefined : (looked.at(-1)?.sort ?? frontier ?? cursor?.position);
    if (next === undefined) break;
  }
  const page = cutPage(shown, frontier, request);
  return { ...page, items: page.items.map(({ item }) => item as unknown as ShownAudit) };
}

/** The lowest sort key that the page of an entry can have: a transaction holds no more entries than items. */
export function pageBefore(position: string): string {
  return auditPages.sortOf(Math.max(0, Number(position) - limits.commit.max_items));
}

/** A page of the entries of an actor or of a resource, from the index; eventually consistent. */
export async function pageOfPointers(
  tenant: string,
  by: { readonly actor: string } | { readonly resource: string },
  request: PageRequest,
  wanted: Wanted,
): Promise<Page<ShownAudit>> {
  const found =
    "actor" in by
      ? await pageOfEntries("list", [auditPointers.ofActor(tenant, by.actor)], request, [])
      : await pageOfEntries("client", [auditPointers.ofResource(tenant, by.resource)], request, []);
  const places = found.items.map(({ sort }) => auditPointers.placeIn(sort));
  const keys = [...new Set(places.map(({ first }) => first))].map((first) => auditPages.key(tenant, first));
  const entries = new Map((await findAll(auditPages, keys)).flatMap(shownIn).map((entry) => [entry.sequence, entry]));
  const items = places.map(({ sequence }) => entries.get(String(sequence)));
  return pageWith(
    found,
    items.map((entry) => (entry !== undefined && wanted(entry) ? entry : undefined)),
  );
}

/** An entry by its identifier, which says where it is; undefined when there is none. */
export async function auditById(tenant: string, id: string): Promise<ShownAudit | undefined> {
  const [page] = await findAll(auditPages, [auditPages.key(tenant, placeOfAudit(id).first)]);
  return page && shownIn(page).find((entry) => entry.id === id);
}

/** The page with the oldest entries that are kept, strongly consistent; undefined when there is none. */
export async function oldestPage(tenant: string): Promise<AuditPage | undefined> {
  const { items } = await readPage(auditPages.partition(tenant), { page_size: 1 });
  return items.map(storedPage)[0];
}

/**
 * The entries after one number and up to another, in the order in which they lie, a page at a time in memory. Where one
 * is missing, it reads once more: DynamoDB may show a transaction on the counter before it shows it on the page.
 * Entries that are still missing are reported and left out, so that an export lacks them too.
 */
export async function* entriesBetween(tenant: string, after: number, to: number): AsyncGenerator<ShownAudit> {
  let last = after;
  for (const isLastTry of [false, true]) {
    for await (const page of pagesBetween(tenant, last + 1, to)) {
      if (page.first > last + 1 && !isLastTry) break;
      if (page.first > last + 1) reportMissing(tenant, last, page.first - 1);
      const entries = readable(page).filter(({ sequence }) => Number(sequence) > last && Number(sequence) <= to);
      last = Math.max(last, Number(entries.at(-1)?.sequence ?? last));
      yield* entries;
    }
    if (last >= to) return;
    if (!isLastTry) await pause(backoffMs(1));
  }
  reportMissing(tenant, last, to);
}

function reportMissing(tenant_id: string, after: number, to: number): void {
  log.error("security: entries of the audit are missing", { tenant_id, after, to });
}

async function* pagesBetween(tenant: string, from: number, to: number): AsyncGenerator<AuditPage> {
  const bounds = { from: pageBefore(auditPages.sortOf(from)), to: auditPages.sortOf(to) };
  for await (const { items } of pagesOf(auditPages.partition(tenant), bounds)) yield* items.map(storedPage);
}

/** A page as it is stored. */
export function storedPage(item: StoredAttributes): AuditPage {
  return { ...readItem<AuditPage>(item), ...auditPages.fromStored(item) };
}

function placedIn(page: AuditPage): Entry[] {
  const key = auditPages.keyOf(page);
  return shownIn(page).map((item) => ({
    key,
    sort: auditPages.sortOf(Number(item.sequence)),
    item: item as unknown as Entry["item"],
  }));
}
