import {
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useRef } from "react";
import { follow, type Parameters, read } from "./client.ts";
import { pollingMs } from "./live.ts";
import { ApiError } from "./problem.ts";
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

interface Options {
  readonly enabled?: boolean;
  /** Read once, for what does not change while a page is shown. */
  readonly still?: boolean;
}

/** What a path answers, read again at the pace of the application while it is shown. */
export function useResource<P extends ReadPath>(path: P, params: Parameters = {}, options: Options = {}) {
  const { enabled = true, still = false } = options;
  return useQuery<Answer<P>>({
    queryKey: [path, params],
    queryFn: ({ signal }) => read(path, params, signal),
    enabled,
    placeholderData: params.path === undefined ? keepPreviousData : undefined,
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
  readonly error: unknown;
  readonly again: () => void;
}

/** The items of a list, read again at the pace of the application, and more slowly the more pages are shown. */
export function useList<P extends ListPath>(path: P, params: Parameters = {}, enabled = true): List<ItemOf<P>> {
  const query = useInfiniteQuery({
    queryKey: [path, "list", params],
    queryFn: async ({ pageParam, signal }) =>
      (pageParam === "" ? await read(path, params, signal) : await follow(pageParam, signal)) as Page<ItemOf<P>>,
    initialPageParam: "",
    getNextPageParam: ({ page, _links }) => (page.has_more ? _links["next"]?.href : undefined),
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval: ({ state: { data, error } }) =>
      isFinal(error) ? false : againMs(path, error) * (data?.pages.length ?? 1),
  });
  return {
    rows: query.data?.pages.flatMap(({ data }) => data) ?? [],
    hasMore: query.hasNextPage,
    loadMore: () => void query.fetchNextPage(),
    loading: query.isPending && enabled,
    loadingMore: query.isFetchingNextPage,
    error: query.data === undefined ? query.error : null,
    again: () => void query.refetch(),
  };
}

/** Runs a command with a key that a repetition of the same body keeps, and reads again what is shown. */
export function useCommand<In, Out>(run: (input: In, key: string) => Promise<Out>) {
  const client = useQueryClient();
  const last = useRef({ text: "", key: "" });
  return useMutation<Out, Error, In>({
    mutationFn: (input) => {
      const text = JSON.stringify(input) ?? "";
      if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() };
      return run(input, last.current.key);
    },
    onSuccess: () => {
      last.current = { text: "", key: "" };
      return client.invalidateQueries();
    },
  });
}
