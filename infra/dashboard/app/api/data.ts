import {
  type Query,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { follow, type Parameters, read } from "./client.ts";
import { forgetKey, keyOf } from "./keys-of-commands.ts";
import { isFollowed, pollingMs } from "./live.ts";
import { ApiError, isUnanswered } from "./problem.ts";
import { pace } from "./transport.ts";
import type { Answer, ItemOf, ListPath, ReadPath } from "./types.ts";

/** Reads and keeps what the pages show. A refused request is not repeated, unless it was refused for its pace. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: "always",
      staleTime: 2_000,
      retry: (tries, error) => tries < 3 && error instanceof ApiError && error.problem.status === 429,
      retryDelay: () => pace.wait(Date.now()) + 100,
    },
    mutations: { networkMode: "always" },
  },
});

/** An answer that says that the resource is not there, or not for this person, does not change by itself. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && error.problem.status < 500 && error.problem.status !== 429;
}

/** Milliseconds until a path is read again; an answer that failed is not one that the stream keeps up to date. */
function againMs(path: string, error: unknown): number {
  return error === null ? pollingMs(path, Date.now()) : pace.next(Date.now());
}

/** Filters of a list, by the names of the query parameters. */
type Filters = Readonly<Record<string, string | undefined>>;

interface Options {
  readonly enabled?: boolean;
  /** Read once, for what does not change while a page is shown. */
  readonly still?: boolean;
  /** The answer to other parameters is shown until that to these arrives. */
  readonly keep?: boolean;
}

/** The answer of a path, read again at the pace of the application while it is shown. */
export function useResource<P extends ReadPath>(path: P, params: Parameters = {}, options: Options = {}) {
  const { enabled = true, still = false, keep = false } = options;
  return useQuery<Answer<P>>({
    queryKey: [path, params],
    queryFn: ({ signal }) => read(path, params, signal),
    enabled,
    meta: { still },
    placeholderData: (former) => (keep ? (former as never) : undefined),
    refetchInterval: ({ state: { error } }) => (still || isFinal(error) ? false : againMs(path, error)),
  });
}

interface Page<T> {
  readonly data: readonly T[];
  readonly page: { readonly has_more: boolean };
  readonly _links: Readonly<Record<string, { readonly href: string }>>;
}

/** A list with its pages, which follow each other by `_links.next`. */
export interface List<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  readonly loading: boolean;
  readonly loadingMore: boolean;
  /** The rows are those of the filters before, until those of the present ones arrive. */
  readonly replacing: boolean;
  /** Why the last reading failed; null while the rows are what the service answered last. */
  readonly error: unknown;
  /** When the rows were read, in milliseconds since the epoch; 0 before that. */
  readonly readAt: number;
  readonly again: () => void;
}

/** A page may have fewer rows than it could while there is a next one: the next ones are followed for so long. */
const followedForMs = 3_000;
const usualLimit = 50;

/**
 * The items of a list, read again at the pace of the application, and more slowly the more pages are shown. Rows of
 * other filters stay until those of the present ones arrive; rows of another path or owner are never shown.
 */
export function useList<P extends ListPath>(
  path: P,
  params: Parameters = {},
  { filters = {} }: { readonly filters?: Filters } = {},
): List<ItemOf<P>> {
  const owner = JSON.stringify([path, params]);
  const limit = Number(params.query?.["limit"] ?? usualLimit);
  const query = useInfiniteQuery({
    queryKey: [path, "list", params, filters],
    queryFn: async ({ pageParam, signal }) => {
      const all = { ...params, query: { ...params.query, ...filters } };
      return (pageParam === "" ? await read(path, all, signal) : await follow(pageParam, signal)) as Page<ItemOf<P>>;
    },
    initialPageParam: "",
    getNextPageParam: ({ page, _links }) => (page.has_more ? _links["next"]?.href : undefined),
    placeholderData: (
      former,
      { queryKey: [formerPath, , formerParams] = [] }: Pick<Query, "queryKey"> = { queryKey: [] },
    ) => (JSON.stringify([formerPath, formerParams]) === owner ? former : undefined),
    refetchInterval: ({ state: { data, error } }) =>
      isFinal(error) ? false : againMs(path, error) * (data?.pages.length ?? 1),
  });
  const rows = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const wanted = JSON.stringify([owner, filters]);
  const [search, setSearch] = useState({ wanted: "", rows: 0, until: 0 });
  const lookFor = (count: number) => setSearch({ wanted, rows: count, until: Date.now() + followedForMs });
  const { isPlaceholderData: replacing, hasNextPage, isFetching, fetchNextPage } = query;
  const isShort = rows.length < (search.wanted === wanted ? search.rows : limit);
  const goesOn = isShort && hasNextPage && !isFetching && !replacing && query.error === null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page that has arrived is looked at once
  useEffect(() => {
    if (!goesOn) return;
    if (search.wanted !== wanted) lookFor(limit);
    else if (Date.now() < search.until) void fetchNextPage({ cancelRefetch: false });
  }, [goesOn, search, wanted, query.dataUpdatedAt]);
  return {
    rows,
    hasMore: hasNextPage,
    loadMore: () => lookFor(rows.length + limit),
    loading: query.isPending,
    loadingMore: query.isFetchingNextPage || (goesOn && (search.wanted !== wanted || Date.now() < search.until)),
    replacing,
    error: query.error,
    readAt: query.dataUpdatedAt,
    again: () => void query.refetch(),
  };
}

/** Whether the rows of a list are what the service answered last. */
export function isKnown({ readAt, error, replacing }: List<unknown>): boolean {
  return readAt > 0 && error === null && !replacing;
}

/** How many rows a list has; "–" while that is not known. */
export function countOf(list: List<unknown>): string {
  return isKnown(list) ? `${list.rows.length}${list.hasMore ? "+" : ""}` : "–";
}

/** When the oldest of what is shown was read, in milliseconds since the epoch, and whether reading any of it failed. */
export interface Freshness {
  readonly readAt: number | undefined;
  readonly failed: boolean;
}

/** How old what is shown is. Data that the stream keeps up to date is as of now. */
export function freshness(nowMs: number): Freshness {
  const shown = queryClient
    .getQueryCache()
    .findAll({ type: "active", predicate: ({ meta }) => meta?.["still"] !== true });
  const times = shown.flatMap(({ queryKey: [path], state }) => {
    if (state.dataUpdatedAt === 0) return [];
    return [isFollowed(String(path)) && state.error === null ? nowMs : state.dataUpdatedAt];
  });
  return {
    readAt: times.length === 0 ? undefined : Math.min(...times),
    failed: shown.some(({ state }) => state.error !== null),
  };
}

/** Whether a command is under way at this moment, which a component knows only once it is drawn again. */
export function isSending(): boolean {
  return queryClient.isMutating() > 0;
}

/**
 * Runs a command under the name of what it does. A repetition of the same input has the same idempotency key until an
 * answer says what became of it. Reads again what is shown.
 */
export function useCommand<In, Out>(name: string, run: (input: In, key: string) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation<Out, Error, In>({
    mutationFn: async (input) => {
      const [place, key] = await keyOf(JSON.stringify([name, input]));
      try {
        const answer = await run(input, key);
        forgetKey(place);
        return answer;
      } catch (error) {
        if (!isUnanswered(error)) forgetKey(place);
        throw error;
      }
    },
    // The page is read again meanwhile: who sent the command need not wait for that.
    onSettled: (_, error) => {
      if (error === null || isUnanswered(error)) void client.invalidateQueries();
    },
  });
}
