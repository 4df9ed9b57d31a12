import { headerValues } from "../http/body.ts";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { UsageBody } from "../schema/reports/usage.ts";

const columns = [
  ...["day", "actor_id", "route_group", "requests", "writes", "read_units", "write_units", "function_ms", "cost_usd"],
  ...["events", "deliveries", "messages_sent", "messages_received", "connection_minutes"],
] as const;

/**
 * Usage as a table (RFC 4180): a line for each row of requests, then one for each row of events and of the stream; a
 * line is empty in the columns of the others, so that every column can be added up.
 */
export function usageTable({ data, events, stream }: UsageBody): Answer {
  const rows: readonly Readonly<Record<string, string | number>>[] = [...data, ...events, ...stream];
  const lines = [columns.join(","), ...rows.map((row) => columns.map((name) => field(row[name] ?? "")).join(","))];
  return {
    status: 200,
    headers: { "Content-Type": "text/csv; charset=utf-8" },
    body: lines.map((line) => `${line}\r\n`).join(""),
  };
}

/**
 * A text that a spreadsheet would read as a formula, in full width too, or as the end of a cell begins with an
 * apostrophe; quotes and commas are quoted.
 */
function field(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^\s*[=+\-@;＝＋－＠]|^[\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
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
