import { useNavigate, useParams, useRouterState, useSearch } from "@tanstack/react-router";

/** Query of a page's address; every filter and every opened item is there. */
export type Search = Readonly<Record<string, string | undefined>>;

/** The parameters of the address, and a change of them. A change keeps the others. */
export function useAddress(): readonly [Search, (change: Search, replace?: boolean) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (next: Search, replace = false) => {
    const to = Object.fromEntries(Object.entries({ ...search, ...next }).filter(([, value]) => value));
    void navigate({ to: ".", search: to as never, replace });
  };
  return [search, change];
}

/** The identifier in the path of the page. */
export function useId(): string {
  return (useParams({ strict: false }) as { id?: string }).id ?? "";
}

/** The path of the page. */
export function usePath(): string {
  return useRouterState({ select: ({ location }) => location.pathname });
}

/** The address of this page with other parameters. */
export function addressWith(path: string, search: Search): string {
  const query = new URLSearchParams(Object.entries(search).flatMap(([name, value]) => (value ? [[name, value]] : [])));
  return query.size === 0 ? path : `${path}?${query}`;
}
