import type { Client, FindTexts } from "../../domain/records/client.ts";
import { readable } from "../../runtime/unreadable.ts";
import { clients, findables } from "../entities.ts";
import type { Page } from "../list.ts";
import { ownersOf } from "../owners.ts";
import { readPage } from "../partition.ts";
import { readEach } from "../store.ts";
import { indexes } from "../table-shape.ts";

/** A client that was found, and its place in the order of the texts that it was found by. */
interface Found {
  readonly id: string;
  readonly place: string;
}

/** Findings of a search in one order of the texts: the first ones, and whether there are more. */
interface Part {
  readonly found: readonly Found[];
  readonly ended: boolean;
}

/** Follows every character of a text: with it ends what begins with the text. */
const last = "\u{10FFFF}";

/**
 * The first clients that have this external id or are found by one of these texts, the former first, then in the order
 * of the texts: one round of queries and one of reads, whatever number of clients there are. The indexes may lag behind
 * a write for a moment, the external id does not.
 */
export async function pageOfSearch(
  tenant: string,
  { texts, external_id, limit }: { readonly texts: FindTexts; readonly external_id: string; readonly limit: number },
): Promise<Page<Client>> {
  const wanted = Object.entries(texts) as [keyof FindTexts, string][];
  const [owners, ...parts] = await Promise.all([
    ownersOf(tenant, { kind: "client_external_id", values: [external_id] }),
    ...wanted.map(([name, text]) => beginningWith(tenant, name, text, limit + 1)),
  ]);
  // Behind the end of what was read of one order there may be clients of it that come before those of another.
  const ends = parts.flatMap(({ found, ended }) => (ended ? [] : (found.at(-1)?.place ?? [])));
  const frontier = ends.toSorted(byCodePoints)[0];
  const seen = parts.flatMap(({ found }) => found).toSorted((one, other) => byCodePoints(one.place, other.place));
  const shown = seen.filter(({ place }) => frontier === undefined || byCodePoints(place, frontier) <= 0);
  const ids = [...new Set([...owners, ...shown.map(({ id }) => id)])];
  const kept = ids.slice(0, limit);
  const read = await readEach<Client>(
    kept.map((id) => clients.key(tenant, id)),
    { kind: clients },
  );
  const there = read.filter((client) => client !== undefined);
  const items = readable(there);
  return {
    items,
    sorts: items.map(({ id }) => id),
    direction: "next",
    next: undefined,
    prev: undefined,
    unreadable: there.length - items.length,
    more: ids.length > limit || frontier !== undefined,
  };
}

async function beginningWith(tenant: string, name: keyof FindTexts, text: string, count: number): Promise<Part> {
  const { index, partition } = findables.orderOf(tenant, name);
  const { sort } = indexes[index];
  const { items, next } = await readPage(partition, {
    index: indexes[index],
    from: text,
    to: text + last,
    page_size: count,
    attributes: ["client_id", sort],
  });
  const found = items.map((item) => ({ id: String(item["client_id"]), place: String(item[sort]) }));
  return { found, ended: next === undefined };
}

/** The order of DynamoDB: by the bytes of UTF-8, which is that of code points. */
function byCodePoints(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
