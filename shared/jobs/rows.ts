import { csvLine } from "../csv.ts";
import { inOrder, type MemberOrder } from "../schema/member-order.ts";

/** Members of an object that are no value of a row. */
const unshown: ReadonlySet<string> = new Set(["_links", "client"]);

/** How the rows of a type are written in one form. */
export interface RowFormat {
  readonly extension: "csv" | "ndjson";
  readonly content_type: string;
  /** Text before the rows of a file. */
  readonly head: string;
  readonly line: (row: object) => string;
}

/** The members of a row by their order, with those that names add. */
export function rowOrder(order: MemberOrder, more: readonly string[] = []): MemberOrder {
  if (order === null || !("members" in order)) return order;
  const own = Object.entries(order.members).filter(([name]) => !unshown.has(name));
  return { members: Object.fromEntries([...own, ...more.map((name) => [name, null] as const)]) };
}

/**
 * Rows as CSV: the columns follow from the schema alone, a member of an object is `a.b`, and lists and maps are JSON. A
 * file begins with a byte order mark, by which spreadsheets know UTF-8.
 */
export function csvFormat(order: MemberOrder): RowFormat {
  const columns = columnsOf(order, []);
  return {
    extension: "csv",
    content_type: "text/csv; charset=utf-8",
    head: `\ufeff${csvLine(columns.map((path) => path.join(".")))}`,
    line: (row) => csvLine(columns.map((path) => textOf(path.reduce(memberOf, inOrder(order, row, sameLink))))),
  };
}

/** Rows as JSON, one in a line. */
export function ndjsonFormat(order: MemberOrder): RowFormat {
  const line = (row: object) => `${JSON.stringify(inOrder(order, row, sameLink))}\n`;
  return { extension: "ndjson", content_type: "application/x-ndjson", head: "", line };
}

function columnsOf(order: MemberOrder, path: readonly string[]): readonly (readonly string[])[] {
  if (order === null || !("members" in order)) return [path];
  return Object.entries(order.members).flatMap(([name, inner]) => columnsOf(inner, [...path, name]));
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}

function textOf(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

function sameLink(path: string): string {
  return path;
}
