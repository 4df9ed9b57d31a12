import type { ReactNode } from "react";
import { Go } from "./values.tsx";

/** A column. On a small screen four of them make the two lines of a row, and the others are left out. */
export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ReactNode;
  /** Pixels; the columns without share the rest. */
  readonly width?: number;
  readonly right?: boolean;
  readonly small?: "name" | "amount" | "purpose" | "age";
  /** Left out where the table has little room, as next to an opened item. */
  readonly wide?: boolean;
  /** The column whose text is the link of the row. */
  readonly key?: boolean;
}

interface TableProps<T> {
  readonly caption: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly idOf: (row: T) => string;
  /** Where a row leads to; without, rows are no links. */
  readonly to?: ((row: T) => string) | undefined;
  readonly selected?: string | undefined;
  readonly dense?: boolean;
}

/** Rows of one height, with a link over each. */
export function Table<T>({ caption, rows, columns, idOf, to, selected, dense = false }: TableProps<T>) {
  return (
    <div className="table-place">
      <table className={dense ? "table dense" : "table"} role="table">
        <caption className="hidden-text">{caption}</caption>
        <Head columns={columns} />
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={idOf(row)} className="row" role="row" aria-selected={selected === idOf(row) || undefined}>
              {columns.map((column) => (
                <td key={column.head} role="cell" className={classOf(column)}>
                  {column.key && to !== undefined ? (
                    <Go to={to(row)} className="row-link">
                      {column.cell(row)}
                    </Go>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Look {
  readonly right?: boolean;
  readonly wide?: boolean;
  readonly small?: string;
}

function classOf({ right, wide, small }: Look): string | undefined {
  const names = [...(right ? ["right"] : []), ...(wide ? ["wide-only"] : []), ...(small ? [`small-${small}`] : [])];
  return names.length === 0 ? undefined : names.join(" ");
}

function Head<T>({ columns }: { readonly columns: readonly Column<T>[] }) {
  return (
    <>
      <colgroup>
        {columns.map(({ head, width, wide = false }) => (
          <col
            key={head}
            className={wide ? "wide-only" : undefined}
            style={width === undefined ? undefined : { width }}
          />
        ))}
      </colgroup>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.head} role="columnheader" className={classOf({ ...column, small: "" })} scope="col">
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
    </>
  );
}

/** The place of rows that are on their way; it is seen after 300 ms only. */
export function Bones<T>({ columns, rows = 6 }: { readonly columns: readonly Column<T>[]; readonly rows?: number }) {
  return (
    <div className="table-place">
      <table className="table waiting" aria-hidden="true">
        <Head columns={columns} />
        <tbody>
          {Array.from({ length: rows }, (_, row) => `bones-${row}`).map((row) => (
            <tr key={row} className="row">
              {columns.map((column) => (
                <td key={column.head} className={classOf(column)}>
                  <span className="bone" />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
