import { beginning, ChainCheck, type ChainReport } from "../domain/audit/chain.ts";
import { limits } from "../limits.ts";
import { sha256 } from "../runtime/digest.ts";
import { entriesOf, type ShownAudit } from "./audit-entry.ts";
import { type AuditPage, auditPages, auditPointers, placeOfAudit } from "./entities.ts";
import { cut, type Entry, type Page, type PageRequest, pageOfEntries, pageWith } from "./list.ts";
import { pagesOf, readPage, type StoredAttributes } from "./partition.ts";
import { eventCounter } from "./sequences.ts";
import { findAll } from "./store.ts";
import { readItem } from "./table.ts";

/** Which entries a list shows. */
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
    const entries = page.items.map(storedPage).flatMap(shownIn);
    const looked = (down ? entries.toSorted((a, b) => (a.sort < b.sort ? 1 : -1)) : entries).filter(isOnWay);
    shown.push(...looked.filter(({ item }) => wanted?.(item as unknown as ShownAudit) ?? true));
    next = page.next;
    frontier = next === undefined ? undefined : (looked.at(-1)?.sort ?? frontier ?? cursor?.position);
    if (next === undefined) break;
  }
  const page = cut(shown, frontier, request);
  return { ...page, items: page.items.map(({ item }) => item as unknown as ShownAudit) };
}

/** The lowest sort key that the page of an entry can have: a transaction holds no more entries than items. */
function pageBefore(position: string): string {
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
  const entries = new Map((await findAll(auditPages, keys)).flatMap(entriesOf).map((entry) => [entry.sequence, entry]));
  const items = places.map(({ sequence }) => entries.get(String(sequence)));
  return pageWith(
    found,
    items.map((entry) => (entry !== undefined && wanted(entry) ? entry : undefined)),
  );
}

/** An entry by its identifier, which says where it is; undefined when there is none. */
export async function auditById(tenant: string, id: string): Promise<ShownAudit | undefined> {
  const [page] = await findAll(auditPages, [auditPages.key(tenant, placeOfAudit(id).first)]);
  return page && entriesOf(page).find((entry) => entry.id === id);
}

/** What a check of a tenant's chain came to. */
export interface AuditReport extends ChainReport {
  /** Numbers of the first and the last entry that were looked at; undefined when there is none. */
  readonly from?: number;
  readonly to?: number;
  readonly more: boolean;
}

/**
 * Checks a part of a tenant's chain, at most so many entries: from a number on, or from the oldest entry that is left,
 * to a number, or to the head.
 */
export async function checkAudit(
  tenant: string,
  { from = 1, to, most }: { readonly from?: number; readonly to?: number; readonly most: number },
): Promise<AuditReport> {
  const { audit: head } = await eventCounter(tenant);
  const end = Math.min(to ?? head.sequence, head.sequence);
  const bounds = { from: pageBefore(auditPages.sortOf(from)), to: auditPages.sortOf(end) };
  let check: ChainCheck | undefined;
  let [first, last, count] = [0, 0, 0];
  let isSound = true;
  for await (const { items } of pagesOf(auditPages.partition(tenant), bounds)) {
    const entries = items.map(storedPage).flatMap(readable);
    for (const entry of entries) {
      const number = Number(entry.sequence);
      if (!isSound || number > end || (check === undefined && number < from) || count >= most) continue;
      if (check === undefined) {
        // What came before the oldest entry is gone, so its own word is taken for it.
        check = new ChainCheck(number === 1 ? beginning : { sequence: number - 1, hash: entry.previous_hash }, sha256);
        first = number;
      }
      isSound = check.add(entry);
      last = number;
      count += 1;
    }
    if (!isSound || count >= most) break;
  }
  const more = isSound && last < end && count >= most;
  const nothing = new ChainCheck(beginning, sha256);
  const report = (check ?? nothing).end(end === head.sequence && !more ? head : undefined);
  return { ...report, ...(check === undefined ? {} : { from: first, to: last }), more };
}

/** The entries of a page; of one that cannot be read an entry that no hash fits. */
function readable(page: AuditPage): readonly ShownAudit[] {
  try {
    return entriesOf(page);
  } catch {
    return [{ id: null, sequence: String(page.first), previous_hash: "", hash: "" } as unknown as ShownAudit];
  }
}

function storedPage(item: StoredAttributes): AuditPage {
  return { ...readItem<AuditPage>(item), ...auditPages.fromStored(item) };
}

function shownIn(page: AuditPage): Entry[] {
  const key = auditPages.keyOf(page);
  return entriesOf(page).map((item) => ({
    key,
    sort: auditPages.sortOf(Number(item.sequence)),
    item: item as unknown as Entry["item"],
  }));
}
