import { wantedBy } from "../domain/accounts/finding.ts";
import type { FindTexts } from "../domain/records/client.ts";
import { limits } from "../limits.ts";
import { timePart } from "../runtime/ids.ts";
import { withAsciiDomain } from "../schema/client.ts";
import type { PageRequest } from "../table/list.ts";
import { type ListPlace, pageRequest } from "./page.ts";
import { HttpProblem } from "./problem.ts";

/** Filters of the list of clients. */
export const clientFilters = ["status", "verification_status", "country", "email", "external_id", "tag"];

/** Filters of the list of applications. */
export const applicationFilters = ["status"];
/** Filters of the list of operators. */
export const operatorFilters = ["status"];

type Query = Readonly<Record<string, string | undefined>>;

/** The distinct values of a list parameter such as `status=pending,approved`; undefined if it is absent. */
export function listParameter(query: Query, name: string): readonly string[] | undefined {
  const value = query[name];
  return value === undefined ? undefined : [...new Set(value.split(","))];
}

/** A filter whose values an index has partitions for. */
interface Facet {
  readonly name: string;
  readonly values: readonly string[];
}

/**
 * The partitions of an index that hold what a query asks for by two facets, and the filters that are left to look at;
 * undefined where it names neither. Few of many are found so without a look at the others.
 */
export function partitionsOf(
  query: Query,
  filters: readonly string[],
  [one, other]: readonly [Facet, Facet],
  partition: (first: string, second: string) => string,
): { readonly partitions: readonly string[]; readonly filters: readonly string[] } | undefined {
  const [first, second] = [one, other].map(({ name }) => listParameter(query, name));
  if (first === undefined && second === undefined) return undefined;
  const pairs = (first ?? one.values).flatMap((each) => (second ?? other.values).map((more) => partition(each, more)));
  return { partitions: pairs, filters: filters.filter((name) => name !== one.name && name !== other.name) };
}

/** Timestamps that lists filter by range: `created_from` (inclusive) and `created_to` (exclusive). */
type FilteredTime = "created" | "completed" | "open" | "close" | "opened";

/** Bounds of a list that is sorted by a timestamp, as the first characters of a ULID. */
export function boundsBy(query: Query, moment: FilteredTime): Pick<PageRequest, "floor" | "ceiling"> {
  const [from, to] = [query[`${moment}_from`], query[`${moment}_to`]];
  return {
    ...(from === undefined ? {} : { floor: timePart(timeOf(from)) }),
    ...(to === undefined ? {} : { ceiling: timePart(timeOf(to)) }),
  };
}

// The time of a ULID has 48 bits from 1970 on; a time outside that range is clamped to it.
function timeOf(moment: string): number {
  return Math.min(Math.max(Date.parse(moment), 0), 2 ** 48 - 1);
}

/**
 * A filter on the attributes of an index: each of these parameters that the query has must match the attribute of its
 * name. `tag` matches if one of the tags does.
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
        // A missing attribute is not a string, so the value "null" matches only itself. Parameters are normalised;
        // values that were stored before that rule may not be.
        return typeof value === "string" && words.includes(value.normalize("NFC"));
      }),
  };
}

/** Parameters whose attribute has another name. */
const otherNames: Readonly<Record<string, string>> = { tag: "tags", event_type: "type" };

/** Free text may contain commas, so these parameters are a single value. */
const free = new Set(["external_id", "provider_reference", "group_id", "platform_login", "tag", "email"]);

function literal(name: string, words: readonly string[], query: Query): readonly string[] {
  return free.has(name) ? [query[name] ?? ""] : words;
}

/**
 * A filter on a timestamp that an item stores as text, for lists that are not sorted by it. An item without the
 * timestamp is outside every range.
 */
export function inRange(query: Query, moment: FilteredTime): Pick<PageRequest, "keep"> {
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

const momentFields: Readonly<Record<FilteredTime, string>> = {
  created: "created_at",
  completed: "completed_at",
  open: "open_at",
  close: "close_at",
  opened: "opened_at",
};

/**
 * The page that a list request asks for: newest first unless `sort` is set, within `created_from` and `created_to`,
 * filtered by these parameters.
 * @throws HttpProblem `invalid_cursor`
 */
export function resourcePage(place: ListPlace, filters: readonly string[]): PageRequest {
  const { query } = place;
  return { ...pageRequest(place, "-created_at"), ...boundsBy(query, "created"), ...matching(query, filters) };
}

/** A filter that passes what both filters pass. */
export function and(a: Pick<PageRequest, "keep">, b: Pick<PageRequest, "keep">): Pick<PageRequest, "keep"> {
  const [first, second] = [a.keep, b.keep];
  if (first === undefined || second === undefined) return first === undefined ? b : a;
  return { keep: (entry) => first(entry) && second(entry) };
}

/** A search of clients. */
export interface Search {
  readonly texts: FindTexts;
  readonly external_id: string;
  readonly limit: number;
}

/**
 * The search that a query of the list of clients is; undefined where it filters or lists.
 * @throws HttpProblem `invalid_parameter` for a text that is too short or too long, and for other parameters with it
 */
export function searchIn(query: Query): Search | undefined {
  const { search, limit: asked, ...others } = query;
  if (search === undefined) return undefined;
  const [other] = Object.keys(others);
  if (other !== undefined) throw refusedParameter(other, "not_allowed", "cannot be combined with search");
  const { min_characters, max_characters, max_items } = limits.search;
  const isEmail = search.includes("@");
  const texts = wantedBy(isEmail ? withAsciiDomain(search.trim().toLowerCase().normalize("NFC")) : search);
  if (texts === undefined) {
    const rule = `must have ${min_characters} to ${max_characters} characters, of which signs do not count`;
    throw refusedParameter("search", "out_of_range", rule);
  }
  const limit = Number(asked ?? max_items);
  if (limit > max_items) throw refusedParameter("limit", "too_big", `must be at most ${max_items} with search`);
  return { texts, external_id: search.trim().normalize("NFC"), limit };
}

/** A refusal of a query parameter. */
export function refusedParameter(parameter: string, code: string, detail: string): HttpProblem {
  return new HttpProblem("invalid_parameter", "A query parameter is not valid.", {
    errors: [{ parameter, code, detail }],
  });
}
