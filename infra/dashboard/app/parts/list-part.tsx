import type { ListPath } from "../api/types.ts";
import { ListView, type ListViewProps } from "./list.tsx";
import type { Part } from "./page.tsx";

interface ListPartProps<P extends ListPath> extends Omit<ListViewProps<P>, "caption" | "params"> {
  readonly name: string;
  /** Without one everybody may read the list. */
  readonly scope?: string;
  /** The name by default. */
  readonly caption?: string;
}

/** A part of the page of an item: a list of what belongs to it, at a path with its id. */
export function listPart<P extends ListPath>(
  id: string,
  { name, scope, caption = name, ...list }: ListPartProps<P>,
): Part {
  return {
    value: name.toLowerCase(),
    name,
    ...(scope !== undefined && { scope }),
    content: <ListView<P> dense params={{ path: { id } }} caption={caption} {...list} />,
  };
}

/** Key of a row that has an id. */
export const byId = ({ id }: { readonly id: string }): string => id;
