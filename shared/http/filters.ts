import { timePart } from "../runtime/ids.ts";
import type { PageRequest } from "../table/list.ts";
import { type ListPlace, pageRequest } from "./page.ts";

/** Filters of the list of clients. */
export const clientFilters = ["status", "verification_status", "country", "email", "external_id", "tag"];

/** Filters of every list of accounts that look at the account itself; the state of its margin follows from prices. */
export const accountFilters = ["status", "type", "currency", "group_id", "number", "platform_login"];

/** Filters of every list of transactions. */
export const transactionFilters = [
  "kind",
  "status",
  "account_id",
  "client_id",
  "method",
  "external_id",
  "provider_reference",
];

/** Filters of every list of trades. */
export const tradeFilters = ["status", "symbol", "side", "close_reason"];

/** Filters of every list of positions. */
export const positionFilters = ["symbol", "side"];

/** Filters of every list of orders; their status chooses the partitions. */
export const orderFilters = ["symbol", "side", "type", "account_id"];

/** Filters of the list of applications. */
export const applicationFilters = ["status"];

type Query = Readonly<Record<string, string | undefined>>;

/** The words of a set filter such as `status=pending,approved`; undefined without the filter. */
export function listParameter(query: Query, name: string): readonly string[] | undefined {
  const value = query[name];
  return value === undefined ? undefined : [...new Set(value.split(","))];
}

/** Moments that lists have ranges over: `created_from` (inclusive) and `created_to` (exclusive). */
type Moment = "created" | "open" | "close";

/** Bounds of a list that is sorted by a moment, as the beginning of a ULID. */
export function boundsBy(query: Query, moment: Moment): Pick<PageRequest, "floor" | "ceiling"> {
  const [from, to] = [query[`${moment}_from`], query[`${moment}_to`]];
  return {
    ...(from === undefined ? {} : { floor: timePart(timeOf(from)) }),
    ...(to === undefined ? {} : { ceiling: timePart(timeOf(to)) }),
  };
}

// A ULID counts from 1970 and has 48 bits; a moment outside is as good as the end of that range.
function timeOf(moment: string): number {
  return Math.min(Math.max(Date.parse(moment), 0), 2 ** 48 - 1);
}

/**
 * A filter over what the indexes carry: each of these parameters that the query has must be met by the attribute of its
 * name. `tag` is met by one of the tags, `created_from` and `created_to` by the text of `created_at`.
 */
export function matching(query: Query, names: readonly string[]): Pick<PageRequest, "keep"> {
  const wanted = names.flatMap((name) => {
    const words = listParameter(query, name);
    return words === undefined ? [] : [{ attribute: otherNames[name] ?? name, words: literal(name, words, query) }];
  });
  if (wanted.length === 0) return {};
  return {
    keep: (entry) =>
      wanted.every(({ attribute, words }) => {
        const value = entry[attribute];
        if (Array.isArray(value)) return value.some((each) => words.includes(String(each).normalize("NFC")));
        // What is not there is no text: the word "null" finds nothing but itself. The words are normalised; what was
        // stored before that rule need not be.
        return typeof value === "string" && words.includes(value.normalize("NFC"));
      }),
  };
}

/** Parameters that indexes carry under another name. */
const otherNames: Readonly<Record<string, string>> = { tag: "tags", event_type: "type" };

/** Free texts may hold commas themselves: they are one word. */
const free = new Set(["external_id", "provider_reference", "group_id", "platform_login", "tag", "email"]);

function literal(name: string, words: readonly string[], query: Query): readonly string[] {
  return free.has(name) ? [query[name] ?? ""] : words;
}

/**
 * A filter over a moment that an item carries as text, for lists that are not sorted by it. What has no such moment is
 * in no range.
 */
export function inRange(query: Query, moment: Moment): Pick<PageRequest, "keep"> {
  const [from, to] = [query[`${moment}_from`], query[`${moment}_to`]];
  if (from === undefined && to === undefined) return {};
  const [low, high] = [from === undefined ? 0 : Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
  return {
    keep: (entry) => {
      const at = Date.parse(String(entry[momentFields[moment]]));
      return at >= low && at < high;
    },
  };
}

const momentFields: Readonly<Record<Moment, string>> = {
  created: "created_at",
  open: "open_at",
  close: "close_at",
};

/**
 * What page a list of resources asks for: newest first unless `sort` says otherwise, within `created_from` and
 * `created_to`, filtered by these parameters.
 * @throws HttpProblem `invalid_cursor`
 */
export function resourcePage(place: ListPlace, filters: readonly string[]): PageRequest {
  const { query } = place;
  return { ...pageRequest(place, "-created_at"), ...boundsBy(query, "created"), ...matching(query, filters) };
}

/** Both filters at once. */
export function and(a: Pick<PageRequest, "keep">, b: Pick<PageRequest, "keep">): Pick<PageRequest, "keep"> {
  const [first, second] = [a.keep, b.keep];
  if (first === undefined || second === undefined) return first === undefined ? b : a;
  return { keep: (entry) => first(entry) && second(entry) };
}
