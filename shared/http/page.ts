import { limits } from "../limits.ts";
import { absolute } from "../runtime/links.ts";
import { UnreadableItem } from "../runtime/unreadable.ts";
import { inOrder, type MemberOrder } from "../schema/member-order.ts";
import { type Cursor, decodeCursor, encodeCursor, listFingerprint } from "../table/cursor.ts";
import { type Page, type PageRequest, pageWith, shortened } from "../table/list.ts";
import type { Reply } from "../table/store.ts";
import { reported } from "../table/table.ts";
import { HttpProblem } from "./problem.ts";

type Query = Readonly<Record<string, string | undefined>>;

/** The address of a list: its path with the version, its query, and the order of the page's members. */
export interface ListPlace {
  readonly path: string;
  readonly query: Query;
  readonly order: MemberOrder;
}

/**
 * The page that a request asks for. `sort` starts with a hyphen for descending order; its default depends on the list.
 * @throws HttpProblem `invalid_cursor`
 */
export function pageRequest({ path, query }: Omit<ListPlace, "order">, defaultSort: string): PageRequest {
  return {
    limit: Number(query["limit"] ?? limits.page.default_items),
    descending: (query["sort"] ?? defaultSort).startsWith("-"),
    cursor: query["cursor"] === undefined ? undefined : knownCursor(query["cursor"], listFingerprint(path, query)),
  };
}

function knownCursor(text: string, fingerprint: string): Cursor {
  const cursor = decodeCursor(text, fingerprint);
  if (cursor !== undefined) return cursor;
  const detail = "is malformed or belongs to another list";
  throw new HttpProblem("invalid_cursor", `The cursor ${detail}. Follow the links of a page.`, {
    errors: [{ parameter: "cursor", code: "invalid_cursor", detail }],
  });
}

/**
 * The answer for a page: the items, links that include every filter, and the same links in a Link header (RFC 8288).
 * A page that exceeds the maximum size of an answer is shortened, and its link continues from there.
 */
export function pageReply<T extends object>(place: ListPlace, found: Page<T>, show: (item: T) => unknown): Reply {
  const page = pageWith(
    found,
    found.items.map((item) => shownOrNot(item, show)),
  );
  const reply = wholeReply(place, page);
  const { max_bytes } = limits.page;
  // A UTF-16 unit takes at most three bytes, escaped or in UTF-8, so nearly every page is known to fit unmeasured.
  if (reply.body.length * 3 <= max_bytes || payloadBytes(reply.body) <= max_bytes) return reply;
  const { data } = JSON.parse(reply.body) as { readonly data: readonly unknown[] };
  const sizes = data.map((each) => payloadBytes(JSON.stringify(each)));
  return wholeReply(place, shortened(page, fitting(page.direction === "next" ? sizes : sizes.toReversed())));
}

/** An item as it is shown; one that is so damaged that it cannot be is left out like one that cannot be read. */
export function shownOrNot<T extends object>(item: T, show: (item: T) => unknown): unknown {
  try {
    return show(item);
  } catch (error) {
    if (error instanceof UnreadableItem) return error;
    const { tenant_id, id } = item as { readonly tenant_id?: string; readonly id?: string };
    return reported({ pk: tenant_id, sk: id }, error);
  }
}

/** Bytes of a body in the answer of a function: a text inside JSON. */
function payloadBytes(body: string): number {
  return Buffer.byteLength(JSON.stringify(body));
}

/** How many of the first items fit, at least one: no item of the table exceeds the maximum size of an answer. */
function fitting(sizes: readonly number[]): number {
  let bytes = 0;
  const tooMany = sizes.findIndex((size) => {
    bytes += size;
    return bytes > limits.page.max_bytes;
  });
  return tooMany === -1 ? sizes.length : Math.max(1, tooMany);
}

function wholeReply({ path, query, order }: ListPlace, page: Page<unknown>): Reply {
  const fingerprint = listFingerprint(path, query);
  const { cursor: _cursor, ...filters } = query;
  const address = (cursor?: Cursor) => {
    const parameters = { ...filters, ...(cursor === undefined ? {} : { cursor: encodeCursor(cursor, fingerprint) }) };
    const text = new URLSearchParams(Object.entries(parameters) as [string, string][]).toString();
    return absolute(path) + (text === "" ? "" : `?${text}`);
  };
  const next = page.next && address(page.next);
  const prev = page.prev && address(page.prev);
  const self =
    query["cursor"] === undefined
      ? address()
      : `${address()}${address().includes("?") ? "&" : "?"}cursor=${query["cursor"]}`;
  const body = {
    object: "list",
    data: page.items,
    page: {
      limit: Number(query["limit"] ?? limits.page.default_items),
      has_more: next !== undefined || page.more === true,
      ...(page.unreadable ? { unreadable: page.unreadable } : {}),
    },
    _links: {
      self: { href: self },
      first: { href: address() },
      ...(next === undefined ? {} : { next: { href: next } }),
      ...(prev === undefined ? {} : { prev: { href: prev } }),
    },
  };
  const links = Object.entries({ first: address(), next, prev }).filter(([, href]) => href !== undefined);
  return {
    status: 200,
    headers: {
      "Content-Type": "application/json",
      Link: links.map(([relation, href]) => `<${href}>; rel="${relation}"`).join(", "),
    },
    body: JSON.stringify(inOrder(order, body, absolute)),
  };
}
