import { csvText } from "../../csv.ts";
import type { ShippedRoute } from "../../routes/route.ts";
import { type MemberOrder, replyOrder } from "../../schema/member-order.ts";
import { headerValues } from "../body.ts";
import type { Answer, Exchange } from "../exchange.ts";
import type { TableReply } from "../operations.ts";

/** The rows of an answer as a table, with the members of its schema as columns. */
export function rowsAsTable(row: ShippedRoute): TableReply<{ readonly data: readonly object[] }> {
  const columns = columnsOf(replyOrder(row.reply));
  return {
    isAsked: asksForTable,
    show: ({ data }) => tableAnswer(columns, data as readonly Readonly<Record<string, unknown>>[]),
  };
}

function columnsOf(order: MemberOrder): readonly string[] {
  const data = order !== null && "members" in order ? order.members["data"] : undefined;
  const each = data && "each" in data ? data.each : undefined;
  return each && "members" in each ? Object.keys(each.members) : [];
}

/** An answer that is a table. */
export function tableAnswer(...table: Parameters<typeof csvText>): Answer {
  return { status: 200, headers: { "Content-Type": "text/csv; charset=utf-8" }, body: csvText(...table) };
}

/**
 * Whether the answer is wanted as a table (RFC 4180): the query says so by `format`, or says nothing and `Accept` gives
 * `text/csv` more weight than JSON (RFC 9110 12.5.1). A caller that accepts neither, or both alike, gets JSON.
 */
export function asksForTable({ query, event }: Pick<Exchange, "query" | "event">): boolean {
  if (query["format"] !== undefined) return query["format"] === "csv";
  const ranges = headerValues(event, "Accept").join(",").toLowerCase().split(",");
  return weightOf(ranges, "text/csv") > weightOf(ranges, "application/json");
}

/** Weight of a media type, 0 to 1: that of the most specific range that it is in; 0 when it is in none. */
function weightOf(ranges: readonly string[], type: string): number {
  const found = [type, type.replace(/\/.*/, "/*"), "*/*"]
    .map((range) => ranges.find((each) => each.split(";")[0]?.trim() === range))
    .find((range) => range !== undefined);
  if (found === undefined) return 0;
  const [, weight = "1"] = /;\s*q\s*=\s*([^;]*)/.exec(found) ?? [];
  return Math.min(1, Number(weight) || 0);
}
