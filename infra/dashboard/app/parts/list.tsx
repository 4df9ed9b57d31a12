import type { ReactNode } from "react";
import type { Parameters } from "../api/client.ts";
import { isKnown, type List, useList } from "../api/data.ts";
import { problemOf } from "../api/problem.ts";
import type { ItemOf, ListPath } from "../api/types.ts";
import { useAddress } from "./address.ts";
import { Contained } from "./contained.tsx";
import { csvOf } from "./csv.ts";
import { type Filter, Filters, queryOf } from "./filters.tsx";
import { timeOf, today } from "./format.ts";
import { moveInRows, useKeys } from "./keys.ts";
import { saveFile } from "./save-file.ts";
import { Empty, type EmptyText, Failed } from "./states-of-page.tsx";
import { Bones, type Column, Table } from "./table.tsx";
import { Go } from "./values.tsx";

interface RowsProps<T> {
  readonly list: List<T>;
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly idOf: (row: T) => string;
  readonly to?: ((row: T) => string) | undefined;
  readonly selected?: string | undefined;
  readonly filters?: readonly Filter[];
  readonly empty: EmptyText;
  readonly dense?: boolean;
  /** Without the line that counts them. */
  readonly bare?: boolean;
  /** Where all rows are exported; without it there is no such export. */
  readonly exportAll?: string | undefined;
}

/** The rows of a list in whichever state it is: on its way, refused, empty, or shown. */
export function Rows<T>({ list, empty, filters = [], bare = false, exportAll, ...table }: RowsProps<T>) {
  const { rows, hasMore, loadMore, loadingMore } = list;
  if (list.loading || (rows.length === 0 && loadingMore)) return <Bones columns={table.columns} />;
  if (rows.length === 0 && list.error !== null) return <Failed error={list.error} again={list.again} />;
  if (rows.length === 0 && hasMore) return <NotYet onGoOn={loadMore} />;
  if (rows.length === 0) return <Empty empty={empty} filters={filters} />;
  return (
    <Contained>
      <ListState list={list} />
      <div className={isKnown(list) ? undefined : "stale-value"} aria-busy={list.replacing}>
        <Table rows={rows} {...table} />
      </div>
      {!bare && (
        <div className="list-foot">
          <span>{rows.length} shown.</span>
          {hasMore && (
            <button type="button" className="plain" onClick={loadMore} disabled={loadingMore}>
              {loadingMore ? "Loading…" : "Load 50 more"}
            </button>
          )}
          <button type="button" className="plain" onClick={() => download(table.caption, rows)}>
            Save these {rows.length} rows
          </button>
          {exportAll !== undefined && <Go to={exportAll}>Export all</Go>}
        </div>
      )}
    </Contained>
  );
}

/** Says that the rows are not those of now, and why. */
function ListState({ list: { error, replacing, readAt } }: { readonly list: List<unknown> }) {
  if (replacing)
    return (
      <p className="list-state dim" role="status">
        Loading…
      </p>
    );
  if (error === null) return null;
  return (
    <p className="list-state warn" role="status">
      As of {timeOf(readAt)}. Later changes are not known: {problemOf(error).title}.
    </p>
  );
}

/** Nothing was found in what was looked through, and there is more. */
function NotYet({ onGoOn }: { readonly onGoOn: () => void }) {
  return (
    <div className="empty">
      <h2>Nothing matches so far</h2>
      <p className="dim">There is more to look through.</p>
      <button type="button" className="plain" onClick={onGoOn}>
        Go on
      </button>
    </div>
  );
}

/** Saves the rows that are shown. */
function download(caption: string, rows: readonly unknown[]): void {
  const name = `${caption.toLowerCase().replaceAll(" ", "-")}-${today()}.csv`;
  saveFile(name, "text/csv", csvOf(rows));
}

/** A list of the API and its rows. */
export interface ListViewProps<P extends ListPath> extends Omit<RowsProps<ItemOf<P>>, "list"> {
  readonly path: P;
  readonly params?: Parameters;
  /** Stands behind the filters. */
  readonly afterFilters?: ReactNode;
  readonly limit?: number;
}

/** A list of the API with its filters in the address. */
export function ListView<P extends ListPath>({
  path,
  params = {},
  afterFilters,
  limit = 50,
  ...rows
}: ListViewProps<P>) {
  const { filters = [] } = rows;
  const [search] = useAddress();
  const list = useList(path, { ...params, query: { limit, ...params.query } }, { filters: queryOf(filters, search) });
  useKeys({ j: () => moveInRows(1), k: () => moveInRows(-1) });
  return (
    <>
      {filters.length > 0 && <Filters filters={filters}>{afterFilters}</Filters>}
      <Rows list={list} {...rows} />
    </>
  );
}

/** A list at the left and the opened item, which the address names, at the right. */
export function Split({
  list,
  opened,
  queue = false,
}: {
  readonly list: ReactNode;
  readonly opened: ReactNode;
  readonly queue?: boolean;
}) {
  const shape = opened === null ? "split alone" : queue ? "split queue" : "split";
  return (
    <div className={shape}>
      <div className="list">{list}</div>
      {opened !== null && (
        <aside className="opened">
          <Contained>{opened}</Contained>
        </aside>
      )}
    </div>
  );
}
