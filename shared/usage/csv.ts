import type { Answer } from "../http/exchange.ts";
import type { UsageBody } from "../schema/reports/usage.ts";

const columns = [
  ...["day", "actor_id", "route_group", "requests", "writes", "read_units", "write_units", "function_ms", "cost_usd"],
  ...["events", "deliveries"],
] as const;

/**
 * Usage as a table (RFC 4180): a line for each row of requests, then one for each row of events; a line is empty in the
 * columns of the others, so that every column can be added up.
 */
export function usageTable({ data, events }: UsageBody): Answer {
  const rows: readonly Readonly<Record<string, string | number>>[] = [...data, ...events];
  const lines = [columns.join(","), ...rows.map((row) => columns.map((name) => field(row[name] ?? "")).join(","))];
  return {
    status: 200,
    headers: { "Content-Type": "text/csv; charset=utf-8" },
    body: lines.map((line) => `${line}\r\n`).join(""),
  };
}

/** A text that a spreadsheet would read as a formula begins with an apostrophe; quotes and commas are quoted. */
function field(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
